/** Plans as the field `explain` gives them. */

import type { Question } from "../server/answers.js";
import { documentOf, variablesOf } from "../server/answers.js";
import { ask } from "../server/client.js";

export interface Level {
  readonly variable: string;
  /** Clauses of which the one with the fewest values proposes, and the others intersect. */
  readonly propose: readonly string[];
  readonly filter: readonly string[];
  /** Prefixes that are expected. */
  readonly estimate: number;
  readonly actual?: { readonly prefixes: number; readonly candidates: number; readonly rows: number; readonly ms: number } | null;
}

export interface Stratum {
  readonly stratum: number;
  readonly recursive: boolean;
  readonly relations: readonly { readonly name: string }[];
  readonly rules: readonly { readonly when: string; readonly clause: string; readonly order: readonly string[] }[];
  readonly actual?: { readonly rows: Readonly<Record<string, number>>; readonly rounds: readonly number[]; readonly how: string; readonly ms: number } | null;
}

export interface Plan {
  readonly engine: string;
  readonly reason: string;
  readonly order: readonly string[];
  readonly cost: number;
  readonly estimatedRows: number;
  readonly rules: readonly Stratum[];
  readonly levels: readonly Level[];
  readonly live: { readonly how: string; readonly reason: string | null };
  readonly guarded?: readonly string[];
  readonly rows?: number;
  readonly elapsedMs?: number;
}

export interface Explanation {
  readonly text: string;
  readonly plan: Plan;
}

const DOCUMENT = documentOf("explain", "{ text plan }", { analyze: "Boolean!" });

/** analyze: the query runs, and the plan has actual counts and times. */
export async function explanationOf(question: Question, analyze: boolean, signal?: AbortSignal): Promise<Explanation> {
  return (await ask<{ explain: Explanation }>(DOCUMENT, { ...variablesOf(question), analyze }, signal)).explain;
}
