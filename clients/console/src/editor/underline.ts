/** A form of the text that another part of the page points at, as the clause that a missing row does not pass. */

import { syntaxTree } from "@codemirror/language";
import { StateEffect, StateField, type EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet } from "@codemirror/view";
import { underlined, type Underlined } from "./underlined.js";

const point = StateEffect.define<Underlined | undefined>();

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, transaction) {
    const pointed = transaction.effects.find((each) => each.is(point));
    if (pointed) return decorationOf(transaction.state, pointed.value);
    return transaction.docChanged ? Decoration.none : before;
  },
  provide: (own) => EditorView.decorations.from(own),
});

export const underline: Extension = [
  field,
  EditorView.baseTheme({ ".cm-pointed": { textDecoration: "underline wavy var(--warn)", backgroundColor: "var(--bad-ground)" } }),
  ViewPlugin.define((view) => {
    // Not within an update of the view, which may not change it.
    const end = underlined.subscribe((now) => queueMicrotask(() => view.dispatch({ effects: point.of(now) })));
    return { destroy: end };
  }),
];

function decorationOf(state: EditorState, pointed: Underlined | undefined): DecorationSet {
  if (pointed === undefined || pointed.text !== state.doc.toString() || pointed.line > state.doc.lines) return Decoration.none;
  const { from, text } = state.doc.line(pointed.line);
  // Columns count characters; the editor counts UTF-16 units.
  const start = from + [...text].slice(0, pointed.column - 1).join("").length;
  let node = syntaxTree(state).resolveInner(start, 1);
  while (node.parent && node.parent.from === start && !node.parent.type.isTop) node = node.parent;
  const end = Math.min(Math.max(node.to, start + 1), state.doc.length);
  if (start >= end) return Decoration.none;
  return Decoration.set([Decoration.mark({ class: "cm-pointed", attributes: { title: pointed.message } }).range(start, end)]);
}
