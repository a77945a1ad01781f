/** Rows as text: comma- or tab-separated, a Markdown table, JSON. */

import type { Column, Json } from "@adalog/client";
import { textOf } from "../parts/value.js";
import type { Row } from "../server/answers.js";

/** For spreadsheets, on the clipboard: no value breaks a line. Without columns there is no head. */
export function tabSeparated(columns: readonly Column[], rows: readonly Row[]): string {
  const cell = (text: string) => text.replaceAll(/[\t\r\n]+/g, " ");
  const head = columns.length > 0 ? [columns.map(({ name }) => cell(name)).join("\t")] : [];
  return [...head, ...rows.map((row) => row.map((value) => cell(textOf(value))).join("\t"))].join("\n");
}

export interface CsvOptions {
  /** Puts an apostrophe before texts that a spreadsheet would run as a formula. */
  readonly isGuarded: boolean;
}

/** RFC 4180, with a head of the columns' names. */
export function commaSeparated(columns: readonly Column[], rows: readonly Row[], { isGuarded }: CsvOptions): string {
  const cell = (value: Json | undefined) => {
    const text = textOf(value);
    const safe = isGuarded && typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [columns.map(({ name }) => cell(name)), ...rows.map((row) => columns.map((_, i) => cell(row[i])))].map((cells) => `${cells.join(",")}\r\n`).join("");
}

export function markdown(columns: readonly Column[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const cell = (text: string) => text.replaceAll(/([\\|`*_<>[\]])/g, "\\$1").replaceAll(/[\r\n]+/g, " ");
  return [
    line(columns.map(({ name }) => cell(name))),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(columns.map((_, i) => cell(textOf(row[i]))))),
  ].join("\n");
}

/** An array of objects by the columns' names; columns of one name are told apart by their number. */
export function json(columns: readonly Column[], rows: readonly Row[]): string {
  const names = columns.map(({ name }, i) => (columns.findIndex((each) => each.name === name) < i ? `${name} ${i + 1}` : name));
  const lines = rows.map((row) => JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i] ?? null]))));
  return `[${lines.join(",\n ")}]\n`;
}
