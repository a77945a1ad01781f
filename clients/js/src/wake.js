/** When to check connections at once: timers of background tabs are slow, and those of a sleeping computer stand still. */
/** Calls back when the network comes back, and when the tab comes to the front. Returns what ends that. */
export function onWake(listener) {
    const visible = () => {
        if (globalThis.document.visibilityState === "visible")
            listener();
    };
    globalThis.addEventListener?.("online", listener);
    globalThis.document?.addEventListener("visibilitychange", visible);
    return () => {
        globalThis.removeEventListener?.("online", listener);
        globalThis.document?.removeEventListener("visibilitychange", visible);
    };
}
