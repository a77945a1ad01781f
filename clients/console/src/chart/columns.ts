/** Which columns of an answer a chart can show. */

import type { Json } from "@adalog/client";
import type { Answer } from "../server/answers.js";
import { isNumeric } from "../table/sort.js";
import { textOf } from "../parts/value.js";

const CATEGORIES = new Set(["string", "keyword", "boolean", "symbol", "uuid"]);

export interface Axes {
  /** Places of columns. */
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly series: readonly number[];
}

export function axesOf({ columns }: Answer): Axes {
  const places = columns.map((_, i) => i);
  const has = (test: (type: string) => boolean) => places.filter((i) => test(columns[i]?.type ?? ""));
  const series = has((type) => CATEGORIES.has(type));
  return { x: [...has((type) => type === "instant"), ...series, ...has(isNumeric)], y: has(isNumeric), series };
}

/** Whether two columns invite a chart: numbers by times, by categories or by other numbers. */
export function invitesChart(answer: Answer): boolean {
  const { x, y } = axesOf(answer);
  return answer.rows.length > 1 && y.length > 0 && x.some((place) => y.some((other) => other !== place));
}

export function numberOf(value: Json | undefined, type: string | undefined): number | null {
  if (value === null || value === undefined || typeof value === "object") return null;
  const found = type === "instant" ? Date.parse(String(value)) / 1000 : Number(value);
  return Number.isFinite(found) ? found : null;
}

export interface ChartData {
  /** The values of x, then those of each series; nothing where a series has no point. */
  readonly aligned: readonly (readonly (number | null)[])[];
  readonly names: readonly string[];
  /** Of bars, the texts along x. */
  readonly categories?: readonly string[];
  /** What is not shown, or shown together. */
  readonly notes: readonly string[];
}

const MOST_SERIES = 10;
const MOST_BARS = 60;

/** The points of the columns at these places. */
export function chartData({ columns, rows }: Answer, x: number, y: number, series: number | undefined): ChartData {
  const notes: string[] = [];
  const isBars = !isNumeric(columns[x]?.type) && columns[x]?.type !== "instant";
  const counts = new Map<string, number>();
  if (series !== undefined) for (const row of rows) counts.set(textOf(row[series]), (counts.get(textOf(row[series])) ?? 0) + 1);
  const largest = [...counts].sort((one, other) => other[1] - one[1]).slice(0, MOST_SERIES);
  const names = series === undefined ? [columns[y]?.name ?? ""] : largest.map(([name]) => name);
  if (counts.size > MOST_SERIES) notes.push(`the ${MOST_SERIES} series with the most points, of ${counts.size}`);
  const places = new Map(names.map((name, i) => [name, i]));

  // By what stands at x: the value of each series.
  const points = new Map<number | string, (number | null)[]>();
  let repeated = 0;
  for (const row of rows) {
    const at = isBars ? textOf(row[x]) : numberOf(row[x], columns[x]?.type);
    const value = numberOf(row[y], columns[y]?.type);
    const place = series === undefined ? 0 : places.get(textOf(row[series]));
    if (at === null || value === null || place === undefined) continue;
    let values = points.get(at);
    if (values === undefined) points.set(at, (values = names.map(() => null)));
    const before = values[place];
    if (before !== null && before !== undefined) repeated += 1;
    // Bars of one category are summed; of several points at one place the last is shown.
    values[place] = isBars ? (before ?? 0) + value : value;
  }
  if (repeated > 0) notes.push(isBars ? "values of one category are summed" : `${repeated.toLocaleString()} points stand at the place of another one: choose a series`);
  let entries = [...points];
  if (isBars) {
    if (entries.length > MOST_BARS) notes.push(`the first ${MOST_BARS} of ${entries.length.toLocaleString()} categories`);
    entries = entries.slice(0, MOST_BARS);
  } else {
    entries.sort((one, other) => Number(one[0]) - Number(other[0]));
  }
  const xs = entries.map(([at], i) => (isBars ? i : Number(at)));
  const aligned = [xs, ...names.map((_, i) => entries.map(([, values]) => values[i] ?? null))];
  return { aligned, names, notes, ...(isBars ? { categories: entries.map(([at]) => String(at)) } : {}) };
}
