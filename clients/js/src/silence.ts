/** Notices a connection that brings nothing for too long. */

import { network } from "./errors.js";

export interface Silence {
  /** Aborted with the reason of the other signal, or with NETWORK after the silence. */
  readonly signal: AbortSignal;
  /** Milliseconds since something was heard. */
  lasts(): number;
  heard(): void;
  /** Ends the connection as silent now. */
  lost(): void;
  /** Ends it, and the watching. */
  stop(): void;
}

export function silence(mostMs: number, stopped: AbortSignal | undefined): Silence {
  const connection = new AbortController();
  let last = Date.now();
  const lasts = () => Date.now() - last;
  const lost = () => connection.abort(network(`silence for ${lasts() / 1000} s`));
  const abort = () => connection.abort(stopped?.reason);
  let timer = setTimeout(lost, mostMs);
  stopped?.addEventListener("abort", abort, { once: true });
  if (stopped?.aborted) abort();
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
