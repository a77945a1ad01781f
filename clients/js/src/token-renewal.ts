/** Tokens that expire, for clients of `graphql-ws` and `graphql-sse`: subscriptions go on under the next one. */

import { bearerOf, renewalDelay } from "./credentials.js";
import type { Headers } from "./http.js";

/** What gives the current token; `stale`: the one that expires soon. */
export type TokenSource = (stale?: string) => string | undefined | Promise<string | undefined>;

/**
 * Options of `createClient` of `graphql-ws`. A connection goes on under a token that is sent in a `ping` before the last one expires,
 * as far as tokens are JSON Web Tokens.
 */
export function socketTokens(token: TokenSource) {
  let current: Headers = {};
  const next = async () => (current = authorized(await token(bearerOf(current))));
  return {
    connectionParams: async () => (current = authorized(await token())),
    on: {
      connected(opened: unknown) {
        const socket = opened as WebSocket;
        let timer: ReturnType<typeof setTimeout>;
        const plan = () => {
          const delay = renewalDelay(current);
          if (delay !== undefined) timer = setTimeout(() => void renew(), delay);
        };
        const renew = async () => {
          // Without another token the server closes the connection, and says why.
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
