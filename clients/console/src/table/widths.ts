/** How wide columns are at first: as wide as what they show, within bounds. */

import type { Column } from "@adalog/client";
import { textOf } from "../parts/value.js";
import type { Row } from "../server/answers.js";

export const LEAST_PX = 48;
const MOST_PX = 420;
const CHARACTER_PX = 7.4;
const PADDING_PX = 34;
const SAMPLE = 200;

export function widthsOf(columns: readonly Column[], rows: readonly Row[]): readonly number[] {
  return columns.map((_, i) => widthOf(columns, rows, i, MOST_PX));
}

/** The width that shows a column's first values whole. */
export function widthOf(columns: readonly Column[], rows: readonly Row[], place: number, mostPx = 4 * MOST_PX): number {
  const name = columns[place]?.name.length ?? 0;
  const longest = rows.slice(0, SAMPLE).reduce((most, row) => Math.max(most, textOf(row[place]).length), Math.min(name, 32));
  return Math.round(Math.min(Math.max(longest * CHARACTER_PX + PADDING_PX, LEAST_PX + 24), mostPx));
}
