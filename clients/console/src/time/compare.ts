/** What differs between the answers of two moments. */

import { answerOf, isArbitrary, type Answer, type Question, type Row } from "../server/answers.js";
import type { Mark } from "../table/table.js";

export interface Comparison {
  /** Of the later moment, with the rows that have gone before the others. */
  readonly answer: Answer;
  readonly marks: ReadonlyMap<Row, Mark>;
  readonly added: number;
  readonly retracted: number;
  /** Whether the rows of a moment are any of more: rows may differ without a change. */
  readonly isArbitrary: boolean;
}

export async function compare(question: Question, from: number, to: number, signal?: AbortSignal): Promise<Comparison> {
  const at = (t: number) => answerOf({ ...question, basis: { t } }, signal);
  const [before, after] = await Promise.all([at(from), at(to)]);
  const left = new Map<string, Row[]>();
  for (const row of before.rows) {
    const text = JSON.stringify(row);
    const same = left.get(text);
    if (same) same.push(row);
    else left.set(text, [row]);
  }
  const marks = new Map<Row, Mark>();
  for (const row of after.rows) {
    if (left.get(JSON.stringify(row))?.pop() === undefined) marks.set(row, "added");
  }
  const added = marks.size;
  const gone = [...left.values()].flat();
  for (const row of gone) marks.set(row, "retracted");
  const isAny = isArbitrary(question, before.rows) || isArbitrary(question, after.rows);
  return { answer: { ...after, rows: [...gone, ...after.rows] }, marks, added, retracted: gone.length, isArbitrary: isAny };
}

/** The rows that differ alone. */
export function onlyChanges({ answer, marks }: Comparison): Answer {
  return { ...answer, rows: answer.rows.filter((row) => marks.has(row)) };
}
