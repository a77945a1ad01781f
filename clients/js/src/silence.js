/** Notices a connection that brings nothing for too long. */
import { network } from "./errors.js";
export function silence(mostMs, stopped) {
    const connection = new AbortController();
    let last = Date.now();
    const lasts = () => Date.now() - last;
    const lost = () => connection.abort(network(`silence for ${lasts() / 1000} s`));
    const abort = () => connection.abort(stopped?.reason);
    let timer = setTimeout(lost, mostMs);
    stopped?.addEventListener("abort", abort, { once: true });
    if (stopped?.aborted)
        abort();
    return {
        signal: connection.signal,
        lasts,
        lost,
        heard() {
            last = Date.now();
            clearTimeout(timer);
            timer = setTimeout(lost, mostMs);
        },
        stop() {
            clearTimeout(timer);
            stopped?.removeEventListener("abort", abort);
            connection.abort();
        },
    };
}
