/** What refuses a transaction, underlined in its editor at line and column. */

import { setDiagnostics } from "@codemirror/lint";
import type { EditorState, Extension } from "@codemirror/state";
import { syntaxTree } from "@codemirror/language";
import { ViewPlugin } from "@codemirror/view";
import { effect } from "@preact/signals";
import { AdalogError } from "@adalog/client";
import type { Trial } from "./trial.js";

export function underlining(trial: Trial): Extension {
  return ViewPlugin.define((view) => {
    const end = effect(() => {
      const error = trial.failure.value;
      const at = error instanceof AdalogError && error.line !== undefined && trial.refused.value === trial.text.value ? error : undefined;
      // Not within an update of the view, which may not change it.
      queueMicrotask(() => {
        const { state } = view;
        if (at && state.doc.toString() !== trial.refused.peek()) return;
        view.dispatch(setDiagnostics(state, at ? [{ ...placeOf(state, at), severity: "error", message: at.message, source: at.code }] : []));
      });
    });
    return { destroy: end };
  });
}

/** The form that begins there, and no more of it than is on its line. */
function placeOf(state: EditorState, { line = 1, column = 1 }: AdalogError): { from: number; to: number } {
  const { from: start, to: end, text } = state.doc.line(Math.min(line, state.doc.lines));
  // Columns count characters; the editor counts UTF-16 units.
  const from = Math.min(start + [...text].slice(0, column - 1).join("").length, end);
  const node = syntaxTree(state).resolveInner(from, 1);
  const form = node.from === from && /^[^\w]/.test(node.name) && node.parent ? node.parent : node;
  return { from, to: Math.min(Math.max(form.from === from ? form.to : from + 1, from + 1), Math.max(end, from)) };
}
