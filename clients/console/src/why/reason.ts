/** Why a row is in an answer, or not: what the field `why` says. */

import type { Json, Long } from "@adalog/client";
import { type Answer, documentOf, type Question, type Row, variablesOf } from "../server/answers.js";
import { ask } from "../server/client.js";

export interface DatomReason {
  readonly e: Long;
  readonly a: string;
  /** As EDN. */
  readonly v: string;
  readonly t: Long;
}

/** A clause that holds, and what it follows from. */
export interface Step {
  readonly clause: string | null;
  readonly line?: number;
  readonly column?: number;
  /** The clause with its values. */
  readonly fact?: string | null;
  readonly datom?: DatomReason;
  readonly absent?: boolean;
  /** The rule that a call follows from. */
  readonly rule?: string | null;
  readonly branch?: number;
  /** The values of variables, as EDN. */
  readonly with?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  /** Whether there are steps that the answer had no space for. */
  readonly more?: boolean;
}

/** A clause that no row passes together with those before it. */
export interface Failed {
  readonly clause?: string | null;
  readonly line?: number;
  readonly column?: number;
  readonly with?: Readonly<Record<string, string>>;
  /** For each rule of a call why it does not hold. */
  readonly fails?: readonly FailedRule[];
  readonly why?: string;
}

export interface FailedRule extends Failed {
  readonly rule: string | null;
  readonly more?: boolean;
}

export type Reason =
  | { readonly holds: true; readonly rows: number; readonly with: Readonly<Record<string, string>>; readonly steps: readonly Step[] }
  | ({ readonly holds: false } & Failed);

const DOCUMENT = documentOf("why", "", { row: "[JSON]!" });

export async function reasonOf(question: Question, row: readonly (Json | null)[], signal?: AbortSignal): Promise<Reason> {
  return (await ask<{ why: Reason }>(DOCUMENT, { ...variablesOf(question), row }, signal)).why;
}

/** The question that an answer is of, at the moment that it is of. What was only tried has no moment of its own. */
export function questionOf({ question, basisT }: Answer): Question {
  const { basis, with: tried } = question;
  return tried || basis?.asOf !== undefined ? question : { ...question, basis: { ...basis, t: basisT } };
}

export type { Row };
