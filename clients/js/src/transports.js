/** Which transport a client's options ask for. */
import { credentialsOf } from "./credentials.js";
import { absolute, linksOf, warningsOf } from "./links.js";
import { Multiplexer } from "./multiplexer.js";
import { canShare, sharedLinks } from "./shared-links.js";
import { webSocket } from "./transport.js";
export function transportOf(options, endpoint, backoff) {
    if (options.webSocket !== undefined)
        return webSocket(options.webSocket);
    return new Multiplexer(sharedOrOwn(options, endpoint, backoff), credentialsOf(endpoint), backoff).transport;
}
function sharedOrOwn(options, endpoint, backoff) {
    const { sharedWorker = true, transport, silenceMs, fetch, webSocketImpl } = options;
    const own = linksOf(options, endpoint);
    // Functions of a page cannot be called by a worker.
    if (sharedWorker === false || fetch !== undefined || webSocketImpl !== undefined || !canShare())
        return own;
    const settings = { url: absolute(endpoint.url), transport, silenceMs, backoff };
    return sharedLinks(settings, sharedWorker === true ? undefined : sharedWorker, own, warningsOf(options));
}
