/** Rows of the answer that came or went: as a stream changes it, or compared with another moment. */

import { batch, signal } from "@preact/signals";
import type { Answer, Row } from "../server/answers.js";
import type { Mark } from "../table/table.js";
import { answer, failure } from "./state.js";

export type Marks = ReadonlyMap<Row, Mark>;

const marked = signal<{ readonly answer: Answer; readonly marks: Marks } | undefined>(undefined);

/** Shows an answer that no run has brought, some of its rows marked. */
export function showMarked(shown: Answer, marks: Marks): void {
  batch(() => {
    answer.value = shown;
    failure.value = undefined;
    marked.value = { answer: shown, marks };
  });
}

/** The marks of the answer that is shown. */
export function marksOf(shown: Answer): Marks | undefined {
  return marked.value?.answer === shown ? marked.value.marks : undefined;
}
