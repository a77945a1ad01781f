/** Which transport a client's options ask for. */

import type { Backoff } from "./backoff.js";
import { credentialsOf } from "./credentials.js";
import { eventStreamLinks } from "./event-streams.js";
import { withFallback } from "./fallback.js";
import type { Endpoint } from "./http.js";
import { Multiplexer, type LinkFactory } from "./multiplexer.js";
import { webSocket, type Transport, type WebSocketClient } from "./transport.js";
import { webSocketLinks, type WebSocketImplementation } from "./web-socket.js";

export interface TransportOptions {
  /**
   * What carries live queries: `websocket`, with event streams where no WebSocket can be opened; or `event-stream`. By default
   * `websocket`, unless `fetch` or a header other than `authorization` is given, which a WebSocket of a browser cannot have.
   */
  readonly transport?: "websocket" | "event-stream";
  /** The class of WebSockets, where there is no global one; `ws` in Node.js 20. */
  readonly webSocketImpl?: WebSocketImplementation;
  /** A client of `graphql-ws`, which then makes the connection of live queries. */
  readonly webSocket?: WebSocketClient;
  /** After so long without a byte a connection of live queries counts as lost; 60 s by default. */
  readonly silenceMs?: number;
  /** Is told what an operator should know: that no WebSocket can be opened, for one. By default `console.warn`. */
  readonly onWarning?: (message: string) => void;
}

export function transportOf(options: TransportOptions & { readonly fetch?: unknown }, endpoint: Endpoint, backoff: Backoff): Transport {
  if (options.webSocket !== undefined) return webSocket(options.webSocket);
  return new Multiplexer(linksOf(options, endpoint), credentialsOf(endpoint), backoff).transport;
}

function linksOf(options: TransportOptions & { readonly fetch?: unknown }, endpoint: Endpoint): LinkFactory {
  const { silenceMs = 60_000, onWarning = (message: string) => console.warn(`adalog: ${message}`) } = options;
  const Implementation = options.webSocketImpl ?? (globalThis.WebSocket as WebSocketImplementation | undefined);
  const events = eventStreamLinks(endpoint, silenceMs);
  const wanted = options.transport ?? (options.fetch === undefined ? "websocket" : "event-stream");
  if (wanted === "event-stream" || Implementation === undefined) return events;
  const both = withFallback(webSocketLinks(absolute(endpoint.url), Implementation, silenceMs), events, onWarning);
  if (options.transport !== undefined) return both;
  // A proxy may want the others.
  return (headers, ...rest) => (Object.keys(headers).some((name) => name !== "authorization") ? events : both)(headers, ...rest);
}

/** A page's address may be relative. */
function absolute(url: string): string {
  return new URL(url, globalThis.location?.href).href;
}
