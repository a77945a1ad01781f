/** Which rows a reader wants to see: for each column a text that a value contains, or a range of numbers or times. */

import { identOf } from "../entity/idents.js";
import type { As, Row } from "../server/answers.js";
import { comparable, isNumeric } from "./sort.js";
import { textOf } from "../parts/value.js";

/** What is written above each column, by its place. */
export type Filters = ReadonlyMap<number, string>;

/** Whether a range can be given. */
export function isOrdered(type: string | undefined): boolean {
  return isNumeric(type) || type === "ref" || type === "instant";
}

export function filtered(rows: readonly Row[], filters: Filters, types: readonly string[], as?: As): readonly Row[] {
  const tests = [...filters].filter(([, text]) => text.trim() !== "").map(([column, text]) => ({ column, test: testOf(text.trim(), types[column], as) }));
  return tests.length === 0 ? rows : rows.filter((row) => tests.every(({ column, test }) => test(row, column)));
}

type Test = (row: Row, column: number) => boolean;

const COMPARISON = /^(<=|>=|<|>|=)\s*(.+)$/;
const RANGE = /^(.*?)\s*\.\.\s*(.*)$/;

function testOf(text: string, type: string | undefined, as: As | undefined): Test {
  if (isOrdered(type)) {
    const [, sign, bound] = COMPARISON.exec(text) ?? [];
    if (sign !== undefined && bound !== undefined) return bounded(sign, bound, type);
    const [, low, high] = RANGE.exec(text) ?? [];
    if (low !== undefined && high !== undefined) {
      const tests = [...(low ? [bounded(">=", low, type)] : []), ...(high ? [bounded("<=", high, type)] : [])];
      return (row, column) => tests.every((test) => test(row, column));
    }
  }
  const wanted = text.toLowerCase();
  if (type === "ref") return (row, column) => (identOf(row[column], as) ?? textOf(row[column])).toLowerCase().includes(wanted);
  return (row, column) => textOf(row[column]).toLowerCase().includes(wanted);
}

function bounded(sign: string, bound: string, type: string | undefined): Test {
  const isInstant = type === "instant";
  const limit = isInstant ? bound.replace(" ", "T") : Number(bound.replaceAll(/[\s_,]/g, ""));
  return (row, column) => {
    const value = comparable(row[column], type);
    if (value === null) return false;
    // A time is compared as far as it is written: `<= 2024` takes all of that year.
    const shown = isInstant && typeof limit === "string" ? String(value).slice(0, limit.length) : Number(value);
    if (sign === "=") return shown === limit;
    if (sign === "<") return shown < limit;
    if (sign === "<=") return shown <= limit;
    return sign === ">" ? shown > limit : shown >= limit;
  };
}
