/** Chooses which moment the answer is of: the newest, an earlier one, two that are compared, or as it streams. */

import { effect, untracked } from "@preact/signals";
import { mode, type Mode } from "../ask/shown.js";
import { answer, basis, nameShown, run } from "../ask/state.js";

/** What was asked before may name a moment. */
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
  const isAsked = next === "newest" ? hasMoment || !wasOfOneMoment : next === "asOf" && !wasOfOneMoment;
  untracked(() => {
    if (isAsked && answer.value) void run();
    else nameShown();
  });
}
