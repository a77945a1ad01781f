/** Asks the question at one transaction after another, as a slider is dragged: only the latest is asked. */

import { signal, untracked } from "@preact/signals";
import { basis, isRunning, run } from "../ask/state.js";

// A request that is younger is let to its end, so that a drag shows moments on its way.
const YOUNG_MS = 150;

let pending: number | undefined;
let begun = 0;
let waiting: number | undefined;

/** The transaction that was asked for last: the slider stands there before its answer comes. */
export const target = signal<number | undefined>(undefined);

export function askAt(t: number): void {
  if (Number.isNaN(t) || t < 0) return;
  basis.value = { t };
  target.value = pending = t;
  const age = performance.now() - begun;
  if (isRunning.peek() && age < YOUNG_MS) {
    waiting ??= window.setTimeout(next, YOUNG_MS - age);
    return;
  }
  next();
}

function next(): void {
  window.clearTimeout(waiting);
  waiting = undefined;
  if (pending === undefined) return;
  pending = undefined;
  begun = performance.now();
  // A request that still runs is aborted.
  void untracked(() => run({ isStep: true })).then(next);
}
