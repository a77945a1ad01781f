/** The interface of transports, which carry subscriptions; and a client of graphql-ws as a transport. */

import { AdalogError, fromWire, network } from "./errors.js";
import { after, type Answer, type Long, type Operation, type WireError } from "./wire.js";

/** The events of one subscription: it is sent, brings answers, and ends once, with an error or because the server completed it. */
export interface Receiver {
  open(): void;
  /** The connection is lost, and the transport makes a new one by itself. `error`: the reason, if it failed. */
  interrupted(error?: AdalogError): void;
  next(answers: readonly Answer<unknown>[]): void;
  end(error?: AdalogError): void;
}

/**
 * Starts a subscription and returns what stops it; nothing is received after that. `operation` is asked whenever it is
 * sent, which a WebSocket client does again after it has reconnected.
 */
export type Transport = (operation: () => ResumableOperation, receiver: Receiver) => () => void;

/** An operation that can be resumed after an answer. */
export interface ResumableOperation extends Operation {
  /**
   * After an answer, the variable `variable` gets the member `member` of the root field `field`, or the number after it, and the
   * variable `instead` is removed.
   */
  readonly resume: {
    readonly field: string;
    readonly member: string;
    readonly variable: string;
    readonly isNumberBefore?: boolean;
    readonly instead?: string;
  };
}

/** The operation that follows an answer. */
export function resumed(operation: ResumableOperation, { data }: Answer<unknown>): ResumableOperation {
  const { field, member, variable, isNumberBefore, instead = "" } = operation.resume;
  const value = (data as Record<string, Record<string, unknown> | null> | null | undefined)?.[field]?.[member];
  if (value === undefined || value === null) return operation;
  const { [instead]: _, ...variables } = operation.variables;
  return { ...operation, variables: { ...variables, [variable]: isNumberBefore ? after(value as Long) : value } };
}

/** As much of a `graphql-ws` client as is used here: hand in what its `createClient` returns. */
export interface WebSocketClient {
  subscribe(
    payload: Pick<Operation, "query" | "extensions"> & { readonly variables?: Record<string, unknown> | null | undefined },
    sink: { next(answer: Answer<never>): void; error(error: unknown): void; complete(): void },
  ): () => void;
  on?(event: "closed", listener: (event: unknown) => void): () => void;
}

export function webSocket(client: WebSocketClient): Transport {
  return (operation, receiver) => {
    let ended = false;
    const once = (act: () => void) => {
      if (!ended) act();
    };
    const unlisten = client.on?.("closed", () => once(() => receiver.interrupted()));
    const end = (error?: AdalogError) =>
      once(() => {
        ended = true;
        unlisten?.();
        receiver.end(error);
      });
    // The client serializes a subscription each time it sends it: after a reconnection it gets the present resume token.
    const variables = {
      toJSON() {
        const current = operation().variables;
        once(() => receiver.open());
        return current;
      },
    };
    const { query, extensions = {} } = operation();
    const stop = client.subscribe(
      { query, variables, extensions },
      {
        next: (answer) => once(() => receiver.next([answer])),
        error: (error) => end(fromWebSocket(error)),
        complete: () => end(),
      },
    );
    return () => {
      ended = true;
      unlisten?.();
      stop();
    };
  };
}

/** What a `graphql-ws` client ends a subscription with: GraphQL errors, a CloseEvent, or an Error. */
function fromWebSocket(error: unknown): AdalogError {
  if (Array.isArray(error)) return fromWire(error as readonly WireError[]);
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  if (typeof code !== "number") return network(error);
  const reason = error !== null && typeof error === "object" && "reason" in error ? String(error.reason) : "";
  return fromClose(code, reason);
}

/** The reason of a close code as an error: retryable, unless another connection would be closed, too. */
export function fromClose(code: number, reason: string): AdalogError {
  const message = `the WebSocket was closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
  const final = FINAL_CLOSE_CODES[code];
  if (final !== undefined) return new AdalogError(final, message);
  // What `connectionParams` gives next may be another token.
  return code === UNAUTHORIZED ? new AdalogError("UNAUTHENTICATED", message, { retryable: true }) : network(message);
}

/** The token has expired. */
export const UNAUTHORIZED = 4401;
/** The first token was refused. */
export const FORBIDDEN = 4403;

/** https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md */
const FINAL_CLOSE_CODES: { readonly [code: number]: string } = {
  4400: "PROTOCOL",
  [FORBIDDEN]: "FORBIDDEN",
  4406: "PROTOCOL",
  4409: "PROTOCOL",
  4429: "PROTOCOL",
};
