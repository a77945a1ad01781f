/** How long to wait before the next attempt: exponential, with jitter, so that clients do not come back all at once. */
import { onWake } from "./wake.js";
/** Milliseconds to wait before attempt `attempt`, the first being 0: a random share of what is allowed by then. */
export function delay(backoff, attempt, retryAfter = 0) {
    const most = Math.min(backoff.maxMs, backoff.minMs * 2 ** Math.min(attempt, 30));
    return Math.max(Math.random() * most, retryAfter);
}
/** Calls back after a time; `early`: at once when the network or the tab comes back. Returns what ends the wait. */
export function later(ms, early, act) {
    const stop = () => {
        clearTimeout(timer);
        stopListening?.();
    };
    const now = () => {
        stop();
        act();
    };
    const timer = setTimeout(now, ms);
    const stopListening = early ? onWake(now) : undefined;
    return stop;
}
/** Resolves after that time. Rejects with the signal's reason when that is aborted before. */
export async function sleep(ms, early, signal) {
    signal?.throwIfAborted();
    let stop = () => { };
    try {
        await new Promise((resolve, reject) => {
            const aborted = () => reject(signal?.reason);
            const stopWaiting = later(ms, early, resolve);
            signal?.addEventListener("abort", aborted);
            stop = () => {
                stopWaiting();
                signal?.removeEventListener("abort", aborted);
            };
        });
    }
    finally {
        stop();
    }
}
