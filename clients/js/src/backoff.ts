/** How long to wait before the next attempt: exponential, with jitter, so that clients do not come back all at once. */

import { onWake } from "./wake.js";

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

/**
 * Resolves after a time, and with `early` at once when the network or the tab comes back. Rejects with the signal's reason
 * when that is aborted before.
 */
export async function sleep(ms: number, early: boolean, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  let stop = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      const aborted = () => reject(signal?.reason);
      const timer = setTimeout(resolve, ms);
      const stopListening = early ? onWake(resolve) : undefined;
      signal?.addEventListener("abort", aborted);
      stop = () => {
        clearTimeout(timer);
        stopListening?.();
        signal?.removeEventListener("abort", aborted);
      };
    });
  } finally {
    stop();
  }
}
