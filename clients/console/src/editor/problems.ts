/**
 * Problems of a text, underlined while it is typed. Mistakes of syntax come from the syntax tree at once; for the rest a
 * checker is asked, once for each text, and what it is still asked for an earlier text is given up.
 */

import { ensureSyntaxTree } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import type { EditorState, Extension } from "@codemirror/state";
import { EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { formAt } from "./places.js";
import { mistakesOf } from "./syntax.js";

/** What is wrong with a text, at a line and a column from 1; in the whole text without them. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly code: string;
  readonly line: number | undefined;
  readonly column: number | undefined;
}

/** Problems depend on the text and `context`, such as rules and the identity; undefined where they cannot be known now. */
export interface Checker {
  readonly check: (text: string, signal: AbortSignal) => Promise<readonly Problem[] | undefined>;
  /** Calls back when the context has changed; returns what ends that. */
  readonly subscribe: (changed: () => void) => () => void;
}

// Between the last change and the request: for changes in one go. Even a fast typist's keys are 60 ms apart, each is asked about.
const PAUSE_MS = 5;
// For the syntax tree of a text of any length; the rest of it is checked by the server alone.
const PARSE_MS = 20;

export function problems(checker: Checker): Extension {
  return [
    lintGutter(),
    ViewPlugin.define((view) => {
      const asking = new Asking(view, checker);
      return {
        update(update: ViewUpdate) {
          if (update.docChanged) asking.textChanged();
        },
        destroy: () => asking.end(),
      };
    }),
  ];
}

class Asking {
  private running: AbortController | undefined;
  private timer: number | undefined;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly view: EditorView,
    private readonly checker: Checker,
  ) {
    this.unsubscribe = checker.subscribe(() => this.later(0));
    this.later(0);
  }

  textChanged(): void {
    this.later(PAUSE_MS);
  }

  end(): void {
    this.unsubscribe();
    clearTimeout(this.timer);
    this.running?.abort();
  }

  private later(ms: number): void {
    this.running?.abort();
    clearTimeout(this.timer);
    // Not within an update of the view, which may not change it.
    queueMicrotask(() => this.showMistakes());
    this.timer = window.setTimeout(() => void this.ask(), ms);
  }

  /** Shows mistakes of syntax; what the checker said last stays until it answers again. */
  private showMistakes(): boolean {
    const { state } = this.view;
    const found = mistakes(state);
    if (found.length > 0) this.show(state, found);
    return found.length > 0;
  }

  private async ask(): Promise<void> {
    const { state } = this.view;
    if (mistakes(state).length > 0) return;
    const text = state.doc.toString();
    if (text.trim() === "") {
      this.show(state, []);
      return;
    }
    const mine = (this.running = new AbortController());
    try {
      const found = await this.checker.check(text, mine.signal);
      if (found && !mine.signal.aborted) this.show(state, found.map((each) => diagnosticOf(state, each)));
    } catch {
      // The same request is made when the query is run, and its error is shown there.
    }
  }

  private show(state: EditorState, found: readonly Diagnostic[]): void {
    if (state.doc.eq(this.view.state.doc)) this.view.dispatch(setDiagnostics(this.view.state, found));
  }
}

function mistakes(state: EditorState): Diagnostic[] {
  const tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS);
  if (tree === null) return [];
  return mistakesOf(tree, state.doc.toString()).map((each) => ({ ...each, severity: "error", source: "EDN_SYNTAX" }));
}

function diagnosticOf(state: EditorState, { severity, message, code, line, column }: Problem): Diagnostic {
  return { ...formAt(state, line ?? 1, column ?? 1), severity, message, source: code };
}
