/** Tokens that expire, for clients of `graphql-ws` and `graphql-sse`: subscriptions go on under the next one. */

import { bearerOf, renewalDelay, type Token } from "./credentials.js";
import type { Headers } from "./http.js";

/** What gives the current token; `stale`: the one that expires soon. */
export type TokenSource = Exclude<Token, string>;

const UNAUTHORIZED = 4401;
const FORBIDDEN = 4403;

/**
 * Options of `createClient` of `graphql-ws`. A connection goes on under a JSON Web Token that is sent in a `ping` before the last one
 * expires. Where that was not possible, as while the computer slept, the client connects again.
 */
export function socketTokens(token: TokenSource) {
  let current: Headers = {};
  const next = async () => (current = authorized(await token(bearerOf(current))));
  return {
    connectionParams: async () => (current = authorized(await token())),
    on: {
      connected(opened: unknown) {
        const socket = opened as WebSocket;
        const { onclose } = socket;
        // After 4401 the client gives up; after 4403 it connects with other parameters.
        socket.onclose = (event) => onclose?.call(socket, event.code === UNAUTHORIZED ? closed(FORBIDDEN, event.reason) : event);
        let timer: ReturnType<typeof setTimeout>;
        const plan = () => {
          const delay = renewalDelay(current);
          if (delay !== undefined) timer = setTimeout(() => void renew(), delay);
        };
        const renew = async () => {
          const payload = await next().catch(() => undefined);
          if (payload === undefined || socket.readyState !== socket.OPEN) return;
          socket.send(JSON.stringify({ type: "ping", payload }));
          plan();
        };
        socket.addEventListener("close", () => clearTimeout(timer));
        plan();
      },
    },
  };
}

/** As much of a CloseEvent as the client reads; Node.js 20 has none. */
function closed(code: number, reason: string): CloseEvent {
  return { code, reason, wasClean: true } as CloseEvent;
}

/** As much of a client of `graphql-sse` or `graphql-ws` as is used here. */
export interface Subscriber {
  subscribe(payload: SubscribedDocument, sink: Sink): () => void;
}

export interface SubscribedDocument {
  readonly query: string;
  readonly variables?: Record<string, unknown> | undefined;
}

export interface Sink {
  // Both clients and urql have types of their own for results.
  next(result: any): void;
  error(error: unknown): void;
  complete(): void;
}

/**
 * A client of `graphql-sse` that subscribes again when a stream ends because its token has expired. Its `headers` give another token then.
 */
export function resubscribing(client: { subscribe(payload: any, sink: Sink): () => void }): Subscriber {
  return {
    subscribe(payload, sink) {
      let close: () => void;
      const open = () => {
        let hasExpired = false;
        close = client.subscribe(payload, {
          next(result: Refusable) {
            hasExpired = result.data == null && result.errors?.[0]?.extensions?.["code"] === "UNAUTHENTICATED";
            if (!hasExpired) sink.next(result);
          },
          error: (error) => sink.error(error),
          complete: () => (hasExpired ? open() : sink.complete()),
        });
      };
      open();
      return () => close();
    },
  };
}

interface Refusable {
  readonly data?: unknown;
  readonly errors?: readonly { readonly extensions?: Readonly<Record<string, unknown>> }[];
}

function authorized(token: string | undefined): Headers {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
