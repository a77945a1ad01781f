/** Transactions: what one would do, and the commit. */

import type { Json, Long, Warning } from "@adalog/client";
import type { As } from "./answers.js";
import { ask } from "./client.js";

export interface ChangedDatom {
  readonly e: Long;
  readonly a: string;
  /** EDN text. */
  readonly v: string;
  readonly added: boolean;
}

export interface Report {
  readonly t: Long;
  readonly basisBefore: Long;
  readonly txInstant: string;
  readonly tempids: Readonly<Record<string, Long>>;
  readonly datoms: readonly ChangedDatom[];
  readonly warnings: readonly Warning[];
}

/** Transaction data as one gives it. */
export interface Transaction {
  readonly tx: string;
  /** Values for variables in `tx`. */
  readonly args?: Readonly<Record<string, Json>> | undefined;
  readonly as?: As | undefined;
}

const REPORT = "{ t basisBefore txInstant tempids datoms { e a v added } warnings { code message line column } }";
const TRIED = `query ($tx: EDN!, $args: JSON, $as: AsInput) { dryRun(tx: $tx, args: $args, as: $as, encoding: EDN) ${REPORT} }`;
const COMMITTED =
  "mutation ($tx: EDN!, $args: JSON, $as: AsInput, $expectedBasisT: Long, $idempotencyKey: String) { transact(tx: $tx, args: $args, " +
  `as: $as, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: EDN) ${REPORT} }`;

/** The report that the transaction would have now. Rejects with what refuses it. */
export async function dryRun(transaction: Transaction, signal?: AbortSignal): Promise<Report> {
  return (await ask<{ dryRun: Report }>(TRIED, variablesOf(transaction), signal)).dryRun;
}

export async function commit(transaction: Transaction, expectedBasisT: Long, idempotencyKey: string): Promise<Report> {
  const variables = { ...variablesOf(transaction), expectedBasisT, idempotencyKey };
  return (await ask<{ transact: Report }>(COMMITTED, variables)).transact;
}

function variablesOf({ tx, args, as }: Transaction): Record<string, unknown> {
  return { tx, ...(args === undefined ? {} : { args }), ...(as === undefined ? {} : { as }) };
}
