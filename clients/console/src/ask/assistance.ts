/** What helps while a query is written: completion, and its problems as the server sees them. Loaded with the editor. */

import { effect } from "@preact/signals";
import type { Extension } from "@codemirror/state";
import { completion } from "../editor/completion.js";
import { problems } from "../editor/problems.js";
import { builtins } from "../server/builtins.js";
import { problemsOf } from "../server/check.js";
import { attributes } from "../server/database.js";
import { args, as, basis, inputs } from "./state.js";

/** The rules that are given for `%`. */
function rules(): string[] {
  return inputs.value.flatMap(({ text }, i) => (text === "%" ? [args.value[i] ?? ""] : []));
}

/** The arguments that problems depend on, as one text. */
function context(): string {
  return JSON.stringify([inputs.value.map(({ text }, i) => (/^[$%]/.test(text) ? args.value[i] : null)), basis.value, as.value]);
}

export const assistance: Extension = [
  completion({ attributes: () => attributes.value, builtins, rules }),
  problems({
    check: (text, signal) => problemsOf(text, { argsEdn: args.peek(), basis: basis.peek(), as: as.peek() }, signal),
    subscribe(changed) {
      let before = context();
      return effect(() => {
        const now = context();
        if (now === before) return;
        before = now;
        changed();
      });
    },
  }),
];
