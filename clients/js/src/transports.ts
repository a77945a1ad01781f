/** Which transport a client's options ask for. */

import type { Backoff } from "./backoff.js";
import { credentialsOf } from "./credentials.js";
import type { Endpoint } from "./http.js";
import { absolute, linksOf, warningsOf, type LinkOptions } from "./links.js";
import { Multiplexer, type LinkFactory } from "./multiplexer.js";
import { canShare, sharedLinks } from "./shared-links.js";
import { webSocket, type Transport, type WebSocketClient } from "./transport.js";

export interface TransportOptions extends LinkOptions {
  /** A client of `graphql-ws`, which then makes the connection of live queries. */
  readonly webSocket?: WebSocketClient;
  /**
   * Whether the tabs of a browser share one connection, which a `SharedWorker` holds; by default where the browser can do that.
   * A URL is that of the worker's script, `shared-worker.js` of this package, if it does not lie beside this one.
   */
  readonly sharedWorker?: boolean | URL;
}

type Options = TransportOptions & { readonly fetch?: unknown };

export function transportOf(options: Options, endpoint: Endpoint, backoff: Backoff): Transport {
  if (options.webSocket !== undefined) return webSocket(options.webSocket);
  return new Multiplexer(sharedOrOwn(options, endpoint, backoff), credentialsOf(endpoint), backoff).transport;
}

function sharedOrOwn(options: Options, endpoint: Endpoint, backoff: Backoff): LinkFactory {
  const { sharedWorker = true, transport, silenceMs, fetch, webSocketImpl } = options;
  const own = linksOf(options, endpoint);
  // Functions of a page cannot be called by a worker.
  if (sharedWorker === false || fetch !== undefined || webSocketImpl !== undefined || !canShare()) return own;
  const settings = { url: absolute(endpoint.url), transport, silenceMs, backoff };
  return sharedLinks(settings, sharedWorker === true ? undefined : sharedWorker, own, warningsOf(options));
}
