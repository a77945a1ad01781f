/** What is wrong with a query that is being written, as the server sees it; no data is read. */

import { AdalogError, type Basis, type Warning } from "@adalog/client";
import { formsOf } from "../editor/query.js";
import { ask } from "./client.js";
import type { Problem } from "../editor/problems.js";
import type { As } from "./answers.js";

const DOCUMENT =
  "query ($query: EDN!, $argsEdn: [EDN], $basis: BasisInput, $as: AsInput) " +
  "{ check(query: $query, argsEdn: $argsEdn, basis: $basis, as: $as) { code message line column } }";

/** What problems depend on besides the text: rules and sources; other arguments do not matter. */
export interface CheckContext {
  /** EDN texts, one for each input. */
  readonly argsEdn: readonly string[];
  readonly basis: Basis | undefined;
  readonly as: As | undefined;
}

// What is wrong with the request or the server, and not with the text.
const OTHERS = new Set(["NETWORK", "PROTOCOL", "UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED", "BACKEND_UNAVAILABLE", "TIMEOUT", "CANCELLED", "ARG_INVALID"]);

/** The problems of a query; undefined where they cannot be known now. */
export async function problemsOf(query: string, { argsEdn, basis, as }: CheckContext, signal: AbortSignal): Promise<readonly Problem[] | undefined> {
  const given = formsOf(query).inputs.map(({ text }, i) => (/^[$%]/.test(text) ? argsEdn[i]?.trim() || null : null));
  const variables = { query, argsEdn: given, ...(basis ? { basis } : {}), ...(as ? { as } : {}) };
  try {
    const { check } = await ask<{ check: readonly Warning[] }>(DOCUMENT, variables, signal);
    return check.map(({ code, message, line, column }) => ({ severity: "warning", code, message, line: line ?? undefined, column: column ?? undefined }));
  } catch (error) {
    if (!(error instanceof AdalogError) || OTHERS.has(error.code)) return undefined;
    const { code, message, line, column, origin } = error;
    if (origin === undefined) return [{ severity: "error", code, message, line, column }];
    return [{ severity: "error", code, message: `in the rules, line ${line}, column ${column}: ${message}`, line: undefined, column: undefined }];
  }
}
