/** One connection for all subscriptions of a client; it is replaced when it is lost, and gets a new token before the old one expires. */

import { delay, later, type Backoff } from "./backoff.js";
import { isSame, renewalDelay, type ConnectionCredentials } from "./credentials.js";
import { AdalogError, network } from "./errors.js";
import type { Headers } from "./http.js";
import { resumed, type Receiver, type ResumableOperation, type Transport } from "./transport.js";
import type { Answer } from "./wire.js";

/** One connection. It carries the subscriptions that are added, and ends once, with `refused` or `lost`. */
export interface Link {
  add(id: string): void;
  remove(id: string): void;
  /** Replaces the token of the open connection. */
  renew(headers: Headers): void;
  close(): void;
}

/** The events of a connection. */
export interface LinkListener {
  /** The server has accepted the connection. */
  opened(): void;
  /** A subscription was sent. */
  sent(id: string): void;
  /** A subscription waits: the connection makes another one to the server by itself. `error`: why, if it failed. */
  interrupted(id: string, error?: AdalogError): void;
  next(id: string, answers: readonly Answer<unknown>[]): void;
  /** One subscription has ended, in an error or in order. */
  end(id: string, error?: AdalogError): void;
  /** The server does not accept the token, or not any more. */
  refused(error: AdalogError): void;
  lost(error: AdalogError): void;
}

/** Makes a connection. `operation`: returns the operation of a subscription, with its present resume token. */
export type LinkFactory = (headers: Headers, listener: LinkListener, operation: (id: string) => ResumableOperation) => Link;

interface Subscription {
  operation: ResumableOperation;
  readonly receiver: Receiver;
}

/** After a connection that lasted this long, the back-off starts from its first wait again. */
const GOOD_MS = 10_000;
/** If the token function returns the same token again, the next call is at least this much later. */
const LEAST_RENEWAL_MS = 1000;

export class Multiplexer {
  readonly #factory: LinkFactory;
  readonly #credentials: ConnectionCredentials;
  readonly #backoff: Backoff;
  readonly #subscriptions = new Map<string, Subscription>();
  #count = 0;
  #link: Link | undefined;
  #headers: Headers = {};
  #openedAt = Number.POSITIVE_INFINITY;
  #attempt = 0;
  /** How often the token was refused since the server last accepted a connection. */
  #refusals = 0;
  /** The number of the connection or attempt; events of earlier ones are ignored. */
  #turn = 0;
  #isConnecting = false;
  #stopWaiting: (() => void) | undefined;
  #renewal: ReturnType<typeof setTimeout> | undefined;

  constructor(factory: LinkFactory, credentials: ConnectionCredentials, backoff: Backoff) {
    this.#factory = factory;
    this.#credentials = credentials;
    this.#backoff = backoff;
  }

  readonly transport: Transport = (operation, receiver) => {
    this.#count += 1;
    const id = String(this.#count);
    this.#subscriptions.set(id, { operation: operation(), receiver });
    if (this.#link !== undefined) this.#link.add(id);
    else if (!this.#isConnecting && this.#stopWaiting === undefined) this.#connect();
    return () => {
      if (!this.#subscriptions.delete(id)) return;
      this.#link?.remove(id);
      this.#closeIfUnused();
    };
  };

  /** Closes the connection if no subscription is left; one that starts in the same task still uses it. */
  #closeIfUnused(): void {
    queueMicrotask(() => {
      if (this.#subscriptions.size === 0) this.#disconnect();
    });
  }

  #disconnect(): void {
    this.#turn += 1;
    this.#isConnecting = false;
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    clearTimeout(this.#renewal);
    const link = this.#link;
    this.#link = undefined;
    link?.close();
  }

  #connect(): void {
    const turn = (this.#turn += 1);
    this.#isConnecting = true;
    this.#credentials.headers().then(
      (headers) => turn === this.#turn && this.#open(headers),
      (error: unknown) => turn === this.#turn && this.#lost(error instanceof AdalogError ? error : network(error)),
    );
  }

  #open(headers: Headers): void {
    const turn = (this.#turn += 1);
    this.#isConnecting = false;
    this.#headers = headers;
    this.#openedAt = Number.POSITIVE_INFINITY;
    const current = <Arguments extends unknown[]>(act: (...given: Arguments) => void) => {
      return (...given: Arguments) => {
        if (turn === this.#turn) act(...given);
      };
    };
    const listener: LinkListener = {
      opened: current(() => {
        this.#openedAt = Date.now();
        this.#refusals = 0;
      }),
      sent: current((id) => this.#subscriptions.get(id)?.receiver.open()),
      interrupted: current((id, error) => this.#subscriptions.get(id)?.receiver.interrupted(error)),
      next: current((id, answers) => this.#next(id, answers)),
      end: current((id, error) => this.#end(id, error)),
      refused: current((error) => void this.#refused(error)),
      lost: current((error) => this.#lost(error)),
    };
    const link = this.#factory(headers, listener, (id) => this.#subscriptions.get(id)!.operation);
    this.#link = link;
    for (const id of this.#subscriptions.keys()) link.add(id);
    this.#renewAfter(renewalDelay(headers));
  }

  #next(id: string, answers: readonly Answer<unknown>[]): void {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    subscription.operation = answers.reduce(resumed, subscription.operation);
    subscription.receiver.next(answers);
  }

  #end(id: string, error?: AdalogError): void {
    const subscription = this.#subscriptions.get(id);
    this.#subscriptions.delete(id);
    this.#closeIfUnused();
    subscription?.receiver.end(error);
  }

  #endAll(error: AdalogError): void {
    this.#disconnect();
    this.#attempt = this.#refusals = 0;
    for (const id of [...this.#subscriptions.keys()]) this.#end(id, error);
  }

  #interrupted(error: AdalogError | undefined): void {
    for (const { receiver } of [...this.#subscriptions.values()]) receiver.interrupted(error);
  }

  #lost(error: AdalogError): void {
    this.#disconnect();
    if (!error.retryable) {
      this.#endAll(error);
      return;
    }
    if (Date.now() - this.#openedAt > GOOD_MS) this.#attempt = 0;
    this.#connectAfter(delay(this.#backoff, this.#attempt, error.retryAfter), error.retryAfter === undefined);
    this.#attempt += 1;
    this.#interrupted(error);
  }

  /** Connects with another token, if there is one: at once after the first refusal, then with back-off. */
  async #refused(error: AdalogError): Promise<void> {
    const refused = this.#headers;
    this.#disconnect();
    const turn = this.#turn;
    this.#isConnecting = true;
    this.#interrupted(undefined);
    this.#refusals += 1;
    try {
      const fresh = await this.#credentials.after(refused, error);
      if (turn !== this.#turn) return;
      if (this.#refusals === 1) this.#open(fresh);
      else this.#lost(new AdalogError(error.code, error.message, { retryable: true, cause: error }));
    } catch (failure) {
      if (turn === this.#turn) this.#lost(failure instanceof AdalogError ? failure : network(failure));
    }
  }

  /** `early`: at once when the network or the tab comes back. */
  #connectAfter(ms: number, early: boolean): void {
    this.#stopWaiting = later(ms, early, () => {
      this.#stopWaiting = undefined;
      this.#connect();
    });
  }

  #renewAfter(ms: number | undefined): void {
    clearTimeout(this.#renewal);
    // The longest time that a timer can wait; the token is then checked again.
    if (ms !== undefined) this.#renewal = setTimeout(() => void this.#renew(), Math.min(ms, 2 ** 31 - 1));
  }

  async #renew(): Promise<void> {
    const turn = this.#turn;
    let headers = this.#headers;
    try {
      headers = await this.#credentials.headers(this.#headers);
    } catch {
      // The present token is valid for a while, and the function is called again before it expires.
    }
    if (turn !== this.#turn) return;
    const wait = renewalDelay(headers);
    if (isSame(headers, this.#headers)) {
      this.#renewAfter(wait && Math.max(wait, LEAST_RENEWAL_MS));
      return;
    }
    this.#headers = headers;
    this.#link?.renew(headers);
    this.#renewAfter(wait);
  }
}
