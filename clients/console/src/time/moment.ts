/** Which moment the answer is of: the newest, an earlier one, two that are compared, or as it streams. */

import { effect, signal, untracked } from "@preact/signals";
import { answer, basis, run } from "../ask/state.js";

export type Mode = "newest" | "asOf" | "changes" | "live";

export const mode = signal<Mode>("newest");

/** A link may name a moment. */
effect(() => {
  if (basis.value !== undefined && mode.peek() !== "changes") mode.value = "asOf";
});

export function choose(next: Mode): void {
  const before = mode.value;
  if (next === before) return;
  mode.value = next;
  const wasOfOneMoment = before === "newest" || before === "asOf";
  const hasMoment = basis.peek() !== undefined;
  if (next === "newest" || next === "live") basis.value = undefined;
  if (next === "newest" ? hasMoment || !wasOfOneMoment : next === "asOf" && !wasOfOneMoment) untracked(() => answer.value && void run());
}
