/** Mistakes of EDN that its syntax tree shows: what the server need not be asked for. */

import type { SyntaxNode, Tree } from "@lezer/common";

export interface Mistake {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

// More would be consequences of the first ones.
const MOST = 5;

/** The mistakes of a text, in its order. */
export function mistakesOf(tree: Tree, text: string): Mistake[] {
  const found = new Map<number, Mistake>();
  tree.iterate({
    enter(each) {
      if (each.type.isError && found.size < MOST) {
        const mistake = mistakeAt(each.node, text);
        if (mistake && !found.has(mistake.from)) found.set(mistake.from, mistake);
      }
    },
  });
  return [...found.values()].sort((a, b) => a.from - b.from);
}

// Brackets and quotes only: in other things the grammar, which is Clojure's, differs from EDN.
function mistakeAt({ from, to, parent }: SyntaxNode, text: string): Mistake | undefined {
  const written = text.slice(from, to);
  const opened = parent && OPENED[text[parent.from] ?? ""];
  if (written === "" && parent && opened) {
    return { from: parent.from, to: parent.from + 1, message: `this ${text[parent.from]} is not closed: ${opened} is missing` };
  }
  if (opened && /^[)\]}]$/.test(written)) {
    return { from, to, message: `this ${written} does not close the ${text[parent.from]} before it: ${opened} is expected` };
  }
  if (/^[)\]}]$/.test(written)) return { from, to, message: `this ${written} closes nothing` };
  return undefined;
}

const OPENED: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "#": "}", '"': 'a "' };
