/** Which kind of connection a client's options ask for. */
import { eventStreamLinks } from "./event-streams.js";
import { withFallback } from "./fallback.js";
import { webSocketLinks } from "./web-socket.js";
export const SILENCE_MS = 60_000;
export function linksOf(options, address) {
    const { silenceMs = SILENCE_MS } = options;
    const Implementation = options.webSocketImpl ?? globalThis.WebSocket;
    const events = eventStreamLinks(address, silenceMs);
    const wanted = options.transport ?? (options.fetch === undefined ? "websocket" : "event-stream");
    if (wanted === "event-stream" || Implementation === undefined)
        return events;
    const sockets = webSocketLinks(absolute(address.url), Implementation, silenceMs);
    const first = (headers, listener, operation) => {
        const opened = () => {
            address.answered?.();
            listener.opened();
        };
        return sockets(headers, { ...listener, opened }, operation);
    };
    const both = withFallback(first, events, warningsOf(options));
    if (options.transport !== undefined)
        return both;
    // A proxy may want the others.
    return (headers, ...rest) => (Object.keys(headers).some((name) => name !== "authorization") ? events : both)(headers, ...rest);
}
export function warningsOf({ onWarning = (message) => console.warn(`adalog: ${message}`) }) {
    return onWarning;
}
/** A page's address may be relative. */
export function absolute(url) {
    return new URL(url, globalThis.location?.href).href;
}
