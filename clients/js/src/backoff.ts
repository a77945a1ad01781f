/** How long to wait before the next attempt: exponential, with jitter, so that clients do not come back all at once. */

export interface Backoff {
  /** The first wait is at most this long, each further one twice as long. */
  readonly minMs: number;
  readonly maxMs: number;
}

/** Milliseconds to wait before attempt `attempt`, the first being 0: a random share of what is allowed by then. */
export function delay(backoff: Backoff, attempt: number, retryAfter = 0): number {
  const most = Math.min(backoff.maxMs, backoff.minMs * 2 ** Math.min(attempt, 30));
  return Math.max(Math.random() * most, retryAfter);
}

/** Resolves after a time; rejects with the signal's reason when that is aborted before. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
