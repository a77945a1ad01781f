/** The order of rows by columns: numbers, instants and texts each in their own. */

import type { Json } from "@adalog/client";
import type { Row } from "../server/answers.js";

export interface SortKey {
  readonly column: number;
  readonly isDescending: boolean;
}

/** The keys after a click on a column: ascending, descending, then none; `isAdded` keeps the other columns. */
export function clicked(keys: readonly SortKey[], column: number, isAdded: boolean): readonly SortKey[] {
  const present = keys.find((each) => each.column === column);
  const next = present?.isDescending ? [] : [{ column, isDescending: present !== undefined }];
  if (!isAdded) return next;
  return present ? keys.flatMap((each) => (each === present ? next : [each])) : [...keys, ...next];
}

/** The rows in the order of the keys; rows that are equal there keep their order. */
export function sorted(rows: readonly Row[], keys: readonly SortKey[], types: readonly string[]): readonly Row[] {
  if (keys.length === 0) return rows;
  const columns = keys.map(({ column, isDescending }) => ({
    values: rows.map((row) => comparable(row[column], types[column])),
    sign: isDescending ? -1 : 1,
  }));
  const order = Uint32Array.from(rows, (_, i) => i);
  order.sort((one, other) => {
    for (const { values, sign } of columns) {
      const found = compared(values[one] ?? null, values[other] ?? null);
      if (found !== 0) return sign * found;
    }
    return one - other;
  });
  return Array.from(order, (i) => rows[i] as Row);
}

type Comparable = number | bigint | string | null;

const NUMBERS = new Set(["long", "bigint", "bigdec", "double", "float"]);

export function isNumeric(type: string | undefined): boolean {
  return type !== undefined && NUMBERS.has(type);
}

/** What a value is compared by. Decimals are compared as doubles. */
export function comparable(value: Json | undefined, type: string | undefined): Comparable {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "object") return JSON.stringify(value);
  if (isNumeric(type) || type === "ref") return /^-?\d+$/.test(value) ? BigInt(value) : Number(value);
  return value;
}

// Nil comes last, and numbers before texts.
function compared(one: Comparable, other: Comparable): number {
  if (one === other) return 0;
  if (one === null || other === null) return one === null ? 1 : -1;
  if ((typeof one === "string") !== (typeof other === "string")) return typeof one === "string" ? 1 : -1;
  return one < other ? -1 : one > other ? 1 : 0;
}
