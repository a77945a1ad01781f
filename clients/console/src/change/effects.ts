/** Queries that would answer otherwise after a transaction: each is run with it and without it, and the rows are compared. */

import type { Column } from "@adalog/client";
import { entries } from "../ask/history/entries.js";
import { question } from "../ask/state.js";
import { isArbitrary, type Question, type Row } from "../server/answers.js";
import { ask } from "../server/client.js";
import type { Transaction } from "../server/transactions.js";

export interface Effect {
  readonly question: Question;
  readonly columns: readonly Column[];
  readonly came: readonly Row[];
  readonly went: readonly Row[];
}

export interface Effects {
  readonly differing: readonly Effect[];
  /** How many queries were run. */
  readonly compared: number;
  /** How many could not be: refused, too slow, or wrong without the change as well. */
  readonly failed: number;
  /** How many have a `:limit` without an order, which gives any of the rows: these are not compared. */
  readonly unordered: number;
}

const MOST_QUERIES = 20;
const TIMEOUT_MS = 5_000;
const ARGUMENTS = `query: $query, argsEdn: $argsEdn, as: $as, timeoutMs: ${TIMEOUT_MS}`;
const DOCUMENT =
  "query ($query: EDN!, $argsEdn: [EDN!], $as: AsInput, $with: EDN!, $withArgs: JSON) { " +
  `before: q(${ARGUMENTS}) { rows } after: q(${ARGUMENTS}, with: $with, withArgs: $withArgs) { columns { name type } rows } }`;

/** The queries that are compared: of the newest state only, as a change alters no past. */
export function questions(): readonly Question[] {
  const all: Question[] = [question.peek(), ...entries.peek().map(({ query, argsEdn, basis }) => ({ query, argsEdn, basis }))];
  const newest = all.filter(({ basis, query }) => basis === undefined && query.trim() !== "");
  return [...new Map(newest.map((each) => [JSON.stringify([each.query, each.argsEdn]), each])).values()].slice(0, MOST_QUERIES);
}

export async function effectsOf(transaction: Transaction, signal: AbortSignal): Promise<Effects> {
  const differing: Effect[] = [];
  const asked = questions();
  let failed = 0;
  let unordered = 0;
  for (const each of asked) {
    try {
      const effect = await effectOf(each, transaction, signal);
      if (effect === undefined) unordered += 1;
      else if (effect.came.length + effect.went.length > 0) differing.push(effect);
    } catch (error) {
      if (signal.aborted) throw error;
      failed += 1;
    }
  }
  return { differing, compared: asked.length - failed - unordered, failed, unordered };
}

async function effectOf(given: Question, { tx, args, as }: Transaction, signal: AbortSignal): Promise<Effect | undefined> {
  const variables = {
    query: given.query,
    with: tx,
    ...(given.argsEdn.length > 0 ? { argsEdn: given.argsEdn } : {}),
    ...(args ? { withArgs: args } : {}),
    ...(as ?? given.as ? { as: as ?? given.as } : {}),
  };
  const { before, after } = await ask<{ before: { rows: Row[] }; after: { rows: Row[]; columns: Column[] } }>(DOCUMENT, variables, signal);
  if (isArbitrary(given, before.rows) || isArbitrary(given, after.rows)) return undefined;
  return { question: given, columns: after.columns, came: without(after.rows, before.rows), went: without(before.rows, after.rows) };
}

function without(rows: readonly Row[], others: readonly Row[]): Row[] {
  const known = new Set(others.map((row) => JSON.stringify(row)));
  return rows.filter((row) => !known.has(JSON.stringify(row)));
}
