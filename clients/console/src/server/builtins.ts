/** The functions and aggregates of the query language, with the docs of the reference; asked for once. */

import { ask } from "./client.js";

export interface Builtin {
  readonly name: string;
  readonly kind: "FUNCTION" | "AGGREGATE";
  readonly section: string;
  /** An example of a call, and what it gives; null where it is refused. */
  readonly usage: string;
  readonly value: string | null;
  /** With code between backticks. */
  readonly doc: string;
}

let asked: Promise<readonly Builtin[]> | undefined;

export function builtins(): Promise<readonly Builtin[]> {
  asked ??= ask<{ builtins: readonly Builtin[] }>("{ builtins { name kind section usage value doc } }").then(
    (data) => data.builtins,
    () => {
      // Asked for again with the next completion.
      asked = undefined;
      return [];
    },
  );
  return asked;
}
