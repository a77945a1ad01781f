/** Answers of queries. */

import type { Basis, Column, Json, Long, Warning } from "@adalog/client";
import { ask } from "./client.js";

export interface As {
  readonly claims: Record<string, unknown>;
  readonly roles: readonly string[];
}

export interface Question {
  readonly query: string;
  /** One EDN text for each input after `$`. */
  readonly argsEdn: readonly string[];
  readonly basis?: Basis | undefined;
  /** Transaction data that the query sees and that is not committed. */
  readonly with?: string | undefined;
  readonly as?: As | undefined;
}

export type Row = readonly Json[];

export interface Answer {
  readonly question: Question;
  /** The type of columns that show entities is `ref`. */
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly basisT: Long;
  readonly warnings: readonly Warning[];
  readonly stats: { readonly engine: string; readonly cache: string; readonly elapsedMs: number; readonly rows: number };
}

const VARIABLES = "$query: EDN!, $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $as: AsInput";
const ARGUMENTS = "query: $query, argsEdn: $argsEdn, basis: $basis, with: $with, as: $as";

const QUERY = documentOf("q", "{ columns { name type } entityColumns rows basisT warnings { code message line column } stats { engine cache elapsedMs rows } }");

/** The variables of a document with these arguments. */
export function variablesOf({ query, argsEdn, basis, with: speculative, as }: Question): Record<string, unknown> {
  return {
    query,
    ...(argsEdn.length > 0 ? { argsEdn } : {}),
    ...(basis === undefined ? {} : { basis }),
    ...(speculative ? { with: speculative } : {}),
    ...(as === undefined ? {} : { as }),
  };
}

export async function answerOf(question: Question, signal?: AbortSignal): Promise<Answer> {
  const { q } = await ask<{ q: Omit<Answer, "question"> & { readonly entityColumns: readonly number[] } }>(QUERY, variablesOf(question), signal);
  const { columns, entityColumns, ...rest } = q;
  return { question, columns: columns.map((each, i) => (entityColumns.includes(i) ? { ...each, type: "ref" } : each)), ...rest };
}

export const ARBITRARY = "With :limit and without :order-by an answer has any of the rows: some may differ without a change. Add :order-by.";

/**
 * Whether rows are some of more, chosen by no order: with `:limit` and without `:order-by`. Such rows may differ from
 * those of another moment without a change.
 */
export function isArbitrary({ query }: Pick<Question, "query">, rows: readonly Row[]): boolean {
  const words = query.split(/[\s,()[\]{}]+/);
  const limit = words.indexOf(":limit");
  return limit !== -1 && !words.includes(":order-by") && !(rows.length < Number(words[limit + 1]));
}

/** A document with one field that takes a question's arguments and `more`, as `explain` and `why` do. */
export function documentOf(field: string, selection = "", more: Record<string, string> = {}): string {
  const names = Object.keys(more);
  const declared = names.map((name) => `, $${name}: ${more[name]}`).join("");
  const passed = names.map((name) => `, ${name}: $${name}`).join("");
  return `query (${VARIABLES}${declared}) { ${field}(${ARGUMENTS}${passed}) ${selection} }`;
}
