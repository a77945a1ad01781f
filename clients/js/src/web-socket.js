/** A connection over a WebSocket, in the subprotocol graphql-transport-ws. */
import { AdalogError, fromWire, network } from "./errors.js";
import { FORBIDDEN, fromClose, UNAUTHORIZED } from "./transport.js";
import { onWake } from "./wake.js";
/** Until the server has accepted the connection. A proxy may take the handshake and answer nothing. */
const OPENING_MS = 10_000;
const NORMAL = 1000;
/** `silenceMs`: a connection that was silent for so long counts as lost; it is pinged before. */
export function webSocketLinks(url, Implementation, silenceMs) {
    return (headers, listener, operation) => {
        let socket;
        try {
            socket = new Implementation(url.replace(/^http/, "ws"), "graphql-transport-ws");
        }
        catch (error) {
            // A page's policy may forbid it.
            queueMicrotask(() => listener.lost(network(error)));
            return { add() { }, remove() { }, renew() { }, close() { } };
        }
        const waiting = new Set();
        let isAccepted = false;
        let heard = Date.now();
        /** Whether nothing came since the last ping. */
        let pinged = false;
        const say = (message) => socket.send(JSON.stringify(message));
        const subscribe = (id) => {
            const { query, variables, extensions } = operation(id);
            say({ id, type: "subscribe", payload: { query, variables, extensions } });
            listener.sent(id);
        };
        const ended = () => {
            clearTimeout(opening);
            clearInterval(watching);
            stopListening();
            socket.onopen = socket.onmessage = socket.onclose = null;
            // A socket that is closed before it is open reports an error.
            socket.onerror = () => { };
        };
        const lost = (error) => {
            ended();
            socket.close(NORMAL);
            listener.lost(error);
        };
        const silent = () => lost(network(`silence for ${(Date.now() - heard) / 1000} s`));
        const opening = setTimeout(() => lost(network(`the WebSocket was not accepted within ${OPENING_MS / 1000} s`)), OPENING_MS);
        const watching = setInterval(() => {
            if (!isAccepted)
                return;
            if (pinged)
                silent();
            else if (Date.now() - heard >= silenceMs / 3) {
                pinged = true;
                say({ type: "ping" });
            }
        }, silenceMs / 3);
        // After a sleep the connection is most likely gone, and nothing says so.
        const stopListening = onWake(() => isAccepted && Date.now() - heard > silenceMs / 2 && silent());
        const received = ({ type, id = "", payload }) => {
            switch (type) {
                case "connection_ack":
                    clearTimeout(opening);
                    isAccepted = true;
                    listener.opened();
                    for (const each of waiting)
                        subscribe(each);
                    waiting.clear();
                    return;
                case "next":
                    listener.next(id, [payload]);
                    return;
                case "error": {
                    const error = fromWire(payload);
                    if (error.code === "UNAUTHENTICATED")
                        refused(error);
                    else
                        listener.end(id, error);
                    return;
                }
                case "complete":
                    listener.end(id);
                    return;
                case "ping":
                    say({ type: "pong" });
                    return;
                case "pong": {
                    const { errors } = (payload ?? {});
                    // The new token is of another principal, for one: it needs a connection of its own.
                    if (errors !== undefined)
                        lost(retryable(fromWire(errors)));
                    return;
                }
            }
        };
        const refused = (error) => {
            ended();
            socket.close(NORMAL);
            listener.refused(error);
        };
        socket.onopen = () => say({ type: "connection_init", payload: authorization(headers) });
        socket.onmessage = ({ data }) => {
            heard = Date.now();
            pinged = false;
            let message;
            try {
                message = JSON.parse(String(data));
            }
            catch {
                lost(new AdalogError("PROTOCOL", "a message of the WebSocket is no JSON"));
                return;
            }
            received(message);
        };
        socket.onerror = () => { };
        socket.onclose = ({ code, reason }) => {
            ended();
            const error = fromClose(code, reason);
            if (code === UNAUTHORIZED || code === FORBIDDEN)
                listener.refused(error);
            else
                listener.lost(error);
        };
        return {
            add(id) {
                if (isAccepted)
                    subscribe(id);
                else
                    waiting.add(id);
            },
            remove(id) {
                if (isAccepted)
                    say({ id, type: "complete" });
                else
                    waiting.delete(id);
            },
            renew(fresh) {
                // Before that, the first token is on its way, and good for a while.
                if (isAccepted)
                    say({ type: "ping", payload: authorization(fresh) });
            },
            close() {
                ended();
                socket.close(NORMAL);
            },
        };
    };
}
function authorization(headers) {
    const { authorization } = headers;
    return authorization === undefined ? {} : { authorization };
}
function retryable({ code, message }) {
    return new AdalogError(code, message, { retryable: true });
}
