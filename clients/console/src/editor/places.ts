/** Where in the editor's text the server's lines and columns are. */

import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

/** The form that begins at a line and a column, both from 1, and no more of it than is on its first line. */
export function formAt(state: EditorState, line: number, column: number): { readonly from: number; readonly to: number } {
  const { from: start, to: end, text } = state.doc.line(Math.min(line, state.doc.lines));
  // Columns count characters; the editor counts UTF-16 units.
  const from = Math.min(start + [...text].slice(0, column - 1).join("").length, end);
  let node = syntaxTree(state).resolveInner(from, 1);
  if (/^[^\w]/.test(node.name) && node.parent?.from === from) node = node.parent;
  const form = node.from === from && node.name !== "Program" ? node.to : from + 1;
  return { from, to: Math.min(form, Math.max(end, from + 1), state.doc.length) };
}
