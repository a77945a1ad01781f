/** What refuses a transaction, underlined in its editor at line and column. */

import { setDiagnostics } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { ViewPlugin } from "@codemirror/view";
import { effect } from "@preact/signals";
import { AdalogError } from "@adalog/client";
import { formAt } from "../editor/places.js";
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
        view.dispatch(setDiagnostics(state, at ? [{ ...formAt(state, at.line ?? 1, at.column ?? 1), severity: "error", message: at.message, source: at.code }] : []));
      });
    });
    return { destroy: end };
  });
}
