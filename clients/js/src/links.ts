/** Which kind of connection a client's options ask for. */

import { eventStreamLinks } from "./event-streams.js";
import { withFallback } from "./fallback.js";
import type { Address } from "./http.js";
import type { LinkFactory } from "./multiplexer.js";
import { webSocketLinks, type WebSocketImplementation } from "./web-socket.js";

export const SILENCE_MS = 60_000;

export interface LinkOptions {
  /**
   * What carries live queries: `websocket`, with event streams where no WebSocket can be opened; or `event-stream`. By default
   * `websocket`, unless `fetch` or a header other than `authorization` is given, which a WebSocket of a browser cannot have.
   */
  readonly transport?: "websocket" | "event-stream" | undefined;
  /** The class of WebSockets, where there is no global one; `ws` in Node.js 20. */
  readonly webSocketImpl?: WebSocketImplementation | undefined;
  /** After so long without a byte a connection counts as lost, and a request that long after its `timeoutMs`; 60 s by default. */
  readonly silenceMs?: number | undefined;
  /** Called with what an operator should know, for example that no WebSocket can be opened. By default `console.warn`. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

export function linksOf(options: LinkOptions & { readonly fetch?: unknown }, address: Address): LinkFactory {
  const { silenceMs = SILENCE_MS } = options;
  const Implementation = options.webSocketImpl ?? (globalThis.WebSocket as WebSocketImplementation | undefined);
  const events = eventStreamLinks(address, silenceMs);
  const wanted = options.transport ?? (options.fetch === undefined ? "websocket" : "event-stream");
  if (wanted === "event-stream" || Implementation === undefined) return events;
  const sockets = webSocketLinks(absolute(address.url), Implementation, silenceMs);
  const first: LinkFactory = (headers, listener, operation) => {
    const opened = () => {
      address.answered?.();
      listener.opened();
    };
    return sockets(headers, { ...listener, opened }, operation);
  };
  const both = withFallback(first, events, warningsOf(options));
  if (options.transport !== undefined) return both;
  // A proxy may want the others.
  return (headers, ...rest) => (Object.keys(headers).some((name) => name !== "authorization") ? events : both)(headers, ...rest);
}

export function warningsOf({ onWarning = (message) => console.warn(`adalog: ${message}`) }: LinkOptions): (message: string) => void {
  return onWarning;
}

/** A page's address may be relative. */
export function absolute(url: string): string {
  return new URL(url, globalThis.location?.href).href;
}
