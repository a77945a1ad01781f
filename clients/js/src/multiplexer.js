/** One connection for all subscriptions of a client; it is replaced when it is lost, and gets a new token before the old one expires. */
import { delay, later } from "./backoff.js";
import { isSame, renewalDelay } from "./credentials.js";
import { AdalogError, network } from "./errors.js";
import { resumed } from "./transport.js";
/** After a connection that lasted this long, the back-off starts from its first wait again. */
const GOOD_MS = 10_000;
/** If the token function returns the same token again, the next call is at least this much later. */
const LEAST_RENEWAL_MS = 1000;
export class Multiplexer {
    #factory;
    #credentials;
    #backoff;
    #subscriptions = new Map();
    #count = 0;
    #link;
    #headers = {};
    #openedAt = Number.POSITIVE_INFINITY;
    #attempt = 0;
    /** How often the token was refused since the server last accepted a connection. */
    #refusals = 0;
    /** The number of the connection or attempt; events of earlier ones are ignored. */
    #turn = 0;
    #isConnecting = false;
    #stopWaiting;
    #renewal;
    constructor(factory, credentials, backoff) {
        this.#factory = factory;
        this.#credentials = credentials;
        this.#backoff = backoff;
    }
    transport = (operation, receiver) => {
        this.#count += 1;
        const id = String(this.#count);
        this.#subscriptions.set(id, { operation: operation(), receiver });
        if (this.#link !== undefined)
            this.#link.add(id);
        else if (!this.#isConnecting && this.#stopWaiting === undefined)
            this.#connect();
        return () => {
            if (!this.#subscriptions.delete(id))
                return;
            this.#link?.remove(id);
            this.#closeIfUnused();
        };
    };
    /** Closes the connection if no subscription is left; one that starts in the same task still uses it. */
    #closeIfUnused() {
        queueMicrotask(() => {
            if (this.#subscriptions.size === 0)
                this.#disconnect();
        });
    }
    #disconnect() {
        this.#turn += 1;
        this.#isConnecting = false;
        this.#stopWaiting?.();
        this.#stopWaiting = undefined;
        clearTimeout(this.#renewal);
        const link = this.#link;
        this.#link = undefined;
        link?.close();
    }
    #connect() {
        const turn = (this.#turn += 1);
        this.#isConnecting = true;
        this.#credentials.headers().then((headers) => turn === this.#turn && this.#open(headers), (error) => turn === this.#turn && this.#lost(error instanceof AdalogError ? error : network(error)));
    }
    #open(headers) {
        const turn = (this.#turn += 1);
        this.#isConnecting = false;
        this.#headers = headers;
        this.#openedAt = Number.POSITIVE_INFINITY;
        const current = (act) => {
            return (...given) => {
                if (turn === this.#turn)
                    act(...given);
            };
        };
        const listener = {
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
        const link = this.#factory(headers, listener, (id) => this.#subscriptions.get(id).operation);
        this.#link = link;
        for (const id of this.#subscriptions.keys())
            link.add(id);
        this.#renewAfter(renewalDelay(headers));
    }
    #next(id, answers) {
        const subscription = this.#subscriptions.get(id);
        if (subscription === undefined)
            return;
        subscription.operation = answers.reduce(resumed, subscription.operation);
        subscription.receiver.next(answers);
    }
    #end(id, error) {
        const subscription = this.#subscriptions.get(id);
        this.#subscriptions.delete(id);
        this.#closeIfUnused();
        subscription?.receiver.end(error);
    }
    #endAll(error) {
        this.#disconnect();
        this.#attempt = this.#refusals = 0;
        for (const id of [...this.#subscriptions.keys()])
            this.#end(id, error);
    }
    #interrupted(error) {
        for (const { receiver } of [...this.#subscriptions.values()])
            receiver.interrupted(error);
    }
    #lost(error) {
        this.#disconnect();
        if (!error.retryable) {
            this.#endAll(error);
            return;
        }
        if (Date.now() - this.#openedAt > GOOD_MS)
            this.#attempt = 0;
        this.#connectAfter(delay(this.#backoff, this.#attempt, error.retryAfter), error.retryAfter === undefined);
        this.#attempt += 1;
        this.#interrupted(error);
    }
    /** Connects with another token, if there is one: at once after the first refusal, then with back-off. */
    async #refused(error) {
        const refused = this.#headers;
        this.#disconnect();
        const turn = this.#turn;
        this.#isConnecting = true;
        this.#interrupted(undefined);
        this.#refusals += 1;
        try {
            const fresh = await this.#credentials.after(refused, error);
            if (turn !== this.#turn)
                return;
            if (this.#refusals === 1)
                this.#open(fresh);
            else
                this.#lost(new AdalogError(error.code, error.message, { retryable: true, cause: error }));
        }
        catch (failure) {
            if (turn === this.#turn)
                this.#lost(failure instanceof AdalogError ? failure : network(failure));
        }
    }
    /** `early`: at once when the network or the tab comes back. */
    #connectAfter(ms, early) {
        this.#stopWaiting = later(ms, early, () => {
            this.#stopWaiting = undefined;
            this.#connect();
        });
    }
    #renewAfter(ms) {
        clearTimeout(this.#renewal);
        // The longest time that a timer can wait; the token is then checked again.
        if (ms !== undefined)
            this.#renewal = setTimeout(() => void this.#renew(), Math.min(ms, 2 ** 31 - 1));
    }
    async #renew() {
        const turn = this.#turn;
        let headers = this.#headers;
        try {
            headers = await this.#credentials.headers(this.#headers);
        }
        catch {
            // The present token is valid for a while, and the function is called again before it expires.
        }
        if (turn !== this.#turn)
            return;
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
