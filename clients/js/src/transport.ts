/** The two ways of a subscription: server-sent events over `fetch`, and a WebSocket client of graphql-ws. */

import { AdalogError, fromWire, network } from "./errors.js";
import { eventStream } from "./event-stream.js";
import { answerOf, post, type Endpoint } from "./http.js";
import { onWake } from "./wake.js";
import type { Answer, Operation, WireError } from "./wire.js";

/** What happens to one subscription: it is sent, brings answers, and ends once, in an error or for the server's own reasons. */
export interface Receiver {
  open(): void;
  /** The connection is gone, and the transport makes a new one by itself. */
  interrupted(): void;
  next(answers: readonly Answer<unknown>[]): void;
  end(error?: AdalogError): void;
}

/**
 * Starts a subscription and returns what stops it; nothing is received after that. `operation` is asked whenever it is
 * sent, which a WebSocket client does again after it has connected anew.
 */
export type Transport = (operation: () => Operation, receiver: Receiver) => () => void;

/** Server-sent events in graphql-sse's distinct connections mode. A connection that is silent for too long counts as lost. */
export function serverSentEvents(endpoint: Endpoint, silenceMs: number): Transport {
  return (operation, receiver) => {
    const stop = new AbortController();
    receiveEvents(endpoint, operation(), silenceMs, receiver, stop.signal).then(
      () => stop.signal.aborted || receiver.end(),
      (error: unknown) => stop.signal.aborted || receiver.end(error instanceof AdalogError ? error : network(error)),
    );
    return () => stop.abort();
  };
}

async function receiveEvents(
  endpoint: Endpoint,
  operation: Operation,
  silenceMs: number,
  receiver: Receiver,
  stopped: AbortSignal,
): Promise<void> {
  const connection = new AbortController();
  const stop = () => connection.abort(stopped.reason);
  stopped.addEventListener("abort", stop, { once: true });
  const silence = () => connection.abort(network(`silence for ${(Date.now() - heard) / 1000} s`));
  let heard = Date.now();
  let timer = setTimeout(silence, silenceMs);
  // After a sleep the connection is most likely gone, and the timer has yet to notice.
  const stopListening = onWake(() => {
    if (Date.now() - heard > silenceMs / 2) silence();
  });
  try {
    const response = await post(endpoint, operation, "text/event-stream", connection.signal);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      await answerOf(response, connection.signal);
      throw new AdalogError("PROTOCOL", "the server answered a subscription with one answer, not with events");
    }
    if (response.body === null) return;
    receiver.open();
    const reader = response.body.getReader();
    const text = new TextDecoder();
    const parse = eventStream();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(timer);
      heard = Date.now();
      if (done || stopped.aborted) return;
      timer = setTimeout(silence, silenceMs);
      const events = parse(text.decode(value, { stream: true }));
      const answers = events.filter(({ name }) => name === "next").map(({ data }) => JSON.parse(data) as Answer<unknown>);
      if (answers.length > 0) receiver.next(answers);
      if (events.some(({ name }) => name === "complete")) return;
    }
  } catch (error) {
    // A stream that was aborted fails in words of its own.
    if (connection.signal.aborted) throw connection.signal.reason;
    throw error instanceof SyntaxError ? new AdalogError("PROTOCOL", `an event is no JSON: ${error.message}`) : error;
  } finally {
    clearTimeout(timer);
    stopListening();
    stopped.removeEventListener("abort", stop);
    connection.abort();
  }
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
    // The client writes a subscription as JSON whenever it sends it: what it sends after it connected anew goes on
    // where the last one ended.
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
  const message = `the WebSocket was closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
  const final = FINAL_CLOSE_CODES[code];
  return final === undefined ? network(message) : new AdalogError(final, message);
}

/** https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md */
const FINAL_CLOSE_CODES: { readonly [code: number]: string } = {
  4400: "PROTOCOL",
  4401: "UNAUTHENTICATED",
  4403: "FORBIDDEN",
  4406: "PROTOCOL",
  4409: "PROTOCOL",
  4429: "PROTOCOL",
};
