/** Connections of a page that are shared with other tabs: a SharedWorker holds the one connection to the server. */
import { AdalogError, network } from "./errors.js";
import { errorOf, identityOf } from "./shared-messages.js";
import { onWake } from "./wake.js";
/** Until the worker has answered. A browser need not report a script that cannot be loaded. */
const START_MS = 5000;
/** Web Locks show that a tab or the worker has crashed; they exist in secure contexts only. */
export function canShare() {
    return typeof SharedWorker === "function" && globalThis.navigator?.locks !== undefined;
}
/** `script`: of the worker, if it does not lie beside this one. `own`: makes the connections of a page for which no worker starts. */
export function sharedLinks(settings, script, own, warn) {
    let isUnavailable = false;
    return (headers, listener, operation) => {
        if (isUnavailable)
            return own(headers, listener, operation);
        const ids = new Set();
        const identity = identityOf(headers);
        const leaving = new AbortController();
        const { signal } = leaving;
        let worker;
        let hasJoined = false;
        let isWelcome = false;
        /** Whether the server has accepted the worker's connection. */
        let isOpen = false;
        /** The page's own connection, where no worker has started. */
        let ownLink;
        const say = (message) => {
            if (hasJoined && !signal.aborted)
                worker?.port.postMessage(message);
        };
        const add = (id) => say({ type: "add", id, operation: operation(id) });
        const leave = () => {
            clearTimeout(starting);
            stopListening();
            removeEventListener("pagehide", hide);
            leaving.abort();
            worker?.port.close();
        };
        const lost = (error) => {
            if (signal.aborted)
                return;
            leave();
            listener.lost(error);
        };
        const unavailable = (why) => {
            if (signal.aborted || isWelcome)
                return;
            leave();
            isUnavailable = true;
            warn(`tabs do not share a connection, since the worker that holds it does not start: ${why}`);
            ownLink = own(headers, listener, operation);
            for (const id of ids)
                ownLink.add(id);
        };
        // A page is kept for its return (back/forward cache) only if it has no connections.
        const hide = () => {
            leave();
            addEventListener("pageshow", () => listener.lost(network("the page was in the background")), { once: true });
        };
        const received = (message) => {
            if (signal.aborted)
                return;
            switch (message.type) {
                case "welcome":
                    clearTimeout(starting);
                    isWelcome = true;
                    ids.forEach(add);
                    // Granted when the worker has ended.
                    navigator.locks.request(message.lock, { signal }, () => lost(network("the worker that tabs share has ended"))).catch(() => { });
                    return;
                case "sent":
                    if (!isOpen)
                        listener.opened();
                    isOpen = true;
                    listener.sent(message.id);
                    return;
                case "interrupted":
                    isOpen = false;
                    listener.interrupted(message.id, errorOf(message.error));
                    return;
                case "next":
                    listener.next(message.id, message.answers);
                    return;
                case "end":
                    listener.end(message.id, errorOf(message.error));
                    return;
                case "refused":
                    leave();
                    listener.refused(errorOf(message.error));
                    return;
                case "warning":
                    warn(message.message);
                    return;
            }
        };
        const starting = setTimeout(() => unavailable(`no answer within ${START_MS / 1000} s`), START_MS);
        const stopListening = onWake(() => say({ type: "wake" }));
        addEventListener("pagehide", hide);
        try {
            worker = start(script);
            worker.onerror = () => unavailable("its script cannot be loaded");
            worker.port.onmessage = ({ data }) => received(data);
            const lock = `adalog page ${crypto.randomUUID()}`;
            void navigator.locks.request(lock, () => {
                hasJoined = true;
                say({ type: "join", settings, identity, headers, lock });
                return new Promise((release) => (signal.aborted ? release() : signal.addEventListener("abort", () => release())));
            });
        }
        catch (error) {
            unavailable(String(error));
        }
        return {
            add(id) {
                ids.add(id);
                if (ownLink !== undefined)
                    ownLink.add(id);
                else if (isWelcome)
                    add(id);
            },
            remove(id) {
                ids.delete(id);
                if (ownLink !== undefined)
                    ownLink.remove(id);
                else
                    say({ type: "remove", id });
            },
            renew(fresh) {
                headers = fresh;
                if (ownLink !== undefined)
                    ownLink.renew(fresh);
                else if (identityOf(fresh) === identity)
                    say({ type: "renew", headers });
                else
                    queueMicrotask(() => lost(new AdalogError("UNAUTHENTICATED", "the new token is of another user", { retryable: true })));
            },
            close() {
                leave();
                ownLink?.close();
            },
        };
    };
}
function start(script) {
    if (script !== undefined)
        return new SharedWorker(script, { type: "module", name: "adalog-1" });
    // Bundlers recognize this expression as it stands. The number is that of the messages: an older worker is not joined.
    return new SharedWorker(new URL("./shared-worker.js", import.meta.url), { type: "module", name: "adalog-1" });
}
