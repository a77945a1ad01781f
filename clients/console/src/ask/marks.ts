/** Rows of the answer that came or went: as a stream changes it, or compared with another moment. */

import { batch, signal } from "@preact/signals";
import type { Answer, Row } from "../server/answers.js";
import type { Mark } from "../table/table.js";
import { answer, failure } from "./state.js";

export type Marks = ReadonlyMap<Row, Mark>;

const marked = signal<{ readonly answer: Answer; readonly marks: Marks } | undefined>(undefined);

/** Shows an answer that no run has brought, some of its rows marked. */
export function showMarked(brought: Answer, marks: Marks): void {
  const shown = { ...brought, columns: typed(brought) };
  batch(() => {
    answer.value = shown;
    failure.value = undefined;
    marked.value = { answer: shown, marks };
  });
}

/** A stream does not say which columns show entities, nor the types before there was an attribute: the answer before it did. */
function typed({ columns, question }: Answer): Answer["columns"] {
  const before = answer.peek();
  if (before === undefined || before.question.query !== question.query) return columns;
  return columns.map((each, i) => {
    const known = before.columns[i];
    return known?.name === each.name && (known.type === "ref" || each.type === "any") ? known : each;
  });
}

/** The marks of the answer that is shown. */
export function marksOf(shown: Answer): Marks | undefined {
  return marked.value?.answer === shown ? marked.value.marks : undefined;
}
