/** What surrounds the cursor in a query: its section, the form within it, and the variables in scope. */

import type { SyntaxNode, Tree } from "@lezer/common";
import { forms } from "./query.js";

export interface Surroundings {
  /** `:find`, `:where`, …; undefined outside of a section. */
  readonly section: string | undefined;
  /** Whether forms at the cursor are those of the query itself, as the names of sections are. */
  readonly isTop: boolean;
  /** The forms around the cursor, from the inside. */
  readonly around: readonly SyntaxNode[];
  /** How many forms the innermost one has before the cursor. */
  readonly index: number;
  /** Whether a function's or a clause's name stands at the cursor. */
  readonly isOperator: boolean;
}

const COLLECTIONS = new Set(["Vector", "List", "Map", "Set"]);

/** `from`: where the word at the cursor begins. */
export function surroundings(tree: Tree, text: string, from: number): Surroundings {
  const around: SyntaxNode[] = [];
  for (let node: SyntaxNode | null = tree.resolveInner(from, -1); node; node = node.parent) {
    if (COLLECTIONS.has(node.name) && node.from < from && (from < node.to || !isClosed(node, text))) around.push(node);
  }
  const inner = around[0];
  const before = inner ? forms(inner).filter((each) => each.to <= from) : [];
  const query = around.at(-1);
  const isTop = around.length <= 1;
  return {
    section: query && sectionAt(query, text, from),
    isTop,
    around,
    index: before.length,
    isOperator: inner?.name === "List" && before.length === 0,
  };
}

function isClosed(node: SyntaxNode, text: string): boolean {
  return /[\])}]/.test(text[node.to - 1] ?? "") && node.lastChild?.type.isError !== true;
}

function sectionAt(query: SyntaxNode, text: string, from: number): string | undefined {
  const names = forms(query).filter((each) => each.name === "Keyword" && each.to <= from);
  const last = names.at(-1);
  return last && text.slice(last.from, last.to);
}

/** The variables that may stand at a place: those of the rule around it, or those of the query outside its rules. */
export function variablesAt(tree: Tree, text: string, { around, section }: Surroundings, word: number): string[] {
  const query = around.at(-1);
  const rule = section === ":rules" ? around.at(-3) : undefined;
  const found = new Set<string>();
  const rules = rule === undefined && query ? rulesOf(query, text) : undefined;
  const root = rule ?? tree.topNode;
  root.cursor().iterate((each) => {
    if (rules && each.from >= rules.from && each.to <= rules.to && each.name !== "Program") return rules.from > each.from;
    if (each.name !== "Symbol" || each.from === word) return true;
    const name = text.slice(each.from, each.to);
    if (/^\?./.test(name)) found.add(name);
    return true;
  });
  return [...found];
}

function rulesOf(query: SyntaxNode, text: string): SyntaxNode | undefined {
  const all = forms(query);
  const at = all.findIndex((each) => text.slice(each.from, each.to) === ":rules");
  return at < 0 ? undefined : all[at + 1];
}

/** The rules that a query or a set of rules defines: the heads of the lists that begin a rule, with their usage. */
export function rulesIn(tree: Tree, text: string, within: SyntaxNode = tree.topNode): Map<string, string> {
  const found = new Map<string, string>();
  for (const rule of forms(within)) {
    if (rule.name !== "Vector") continue;
    const [head] = forms(rule);
    if (head?.name === "List") {
      const [name] = forms(head);
      if (name) found.set(text.slice(name.from, name.to), text.slice(head.from, head.to));
    } else {
      for (const [name, usage] of rulesIn(tree, text, rule)) found.set(name, usage);
    }
  }
  return found;
}

/** The rules under `:rules` of a query. */
export function ownRules(tree: Tree, text: string): Map<string, string> {
  const [query] = forms(tree.topNode);
  const rules = query && rulesOf(query, text);
  return rules ? rulesIn(tree, text, rules) : new Map();
}
