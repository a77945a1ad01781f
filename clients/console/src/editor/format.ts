/** A query, laid out: each section on a line, clauses below each other, aligned; comments stay. */

import type { SyntaxNode } from "@lezer/common";
import { parser } from "@nextjournal/lezer-clojure";
import { mistakesOf } from "./syntax.js";

const WIDTH = 100;
// Whose forms stand below each other.
const STACKED = new Set([":where", ":rules", ":having"]);

/** The text laid out; undefined where its brackets or quotes do not match. */
export function formatted(text: string): string | undefined {
  const tree = parser.parse(text);
  if (mistakesOf(tree, text).length > 0) return undefined;
  const parts: string[] = [];
  for (const each of itemsOf(tree.topNode)) parts.push(written(each, text, 0, true));
  return parts.join("\n");
}

/** Forms, comments and discards in their order. */
function itemsOf(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (child.name === "Operator") found.push(...itemsOf(child));
    else if (/^[A-Z]/.test(child.name)) found.push(child);
  }
  return found;
}

function source(node: SyntaxNode, text: string): string {
  return text.slice(node.from, node.to);
}

function hasComment(node: SyntaxNode): boolean {
  return itemsOf(node).some((each) => each.name === "LineComment" || hasComment(each));
}

/** On one line, spaces made single. */
function flat(node: SyntaxNode, text: string): string {
  const items = itemsOf(node);
  const bracket = BRACKETS[node.name];
  if (!bracket) return source(node, text);
  return bracket[0] + items.map((each) => flat(each, text)).join(" ") + bracket[1];
}

const BRACKETS: Readonly<Record<string, readonly [string, string]>> = { Vector: ["[", "]"], List: ["(", ")"], Map: ["{", "}"] };

function written(node: SyntaxNode, text: string, column: number, isQuery = false): string {
  const bracket = BRACKETS[node.name];
  if (!bracket) return source(node, text);
  const items = itemsOf(node);
  const isSectioned = isQuery && items.some((each) => each.name === "Keyword" && /^:(find|where)$/.test(source(each, text)));
  if (isSectioned) return bracket[0] + sections(items, text, column + 1, node.name === "Map") + bracket[1];
  const line = flat(node, text);
  if (!hasComment(node) && column + line.length <= WIDTH) return line;
  // A list's name stays beside its first argument.
  const [name, ...rest] = items;
  const isCall = node.name === "List" && name?.name === "Symbol" && rest.length > 0;
  const inner = column + 1 + (isCall ? source(name, text).length + 1 : 0);
  const lead = isCall ? `${source(name, text)} ` : "";
  return bracket[0] + lead + stacked(isCall ? rest : items, text, inner) + closing(items, column, bracket[1]);
}

function stacked(items: readonly SyntaxNode[], text: string, column: number): string {
  return items.map((each) => written(each, text, column)).join(`\n${" ".repeat(column)}`);
}

// Not within a comment.
function closing(items: readonly SyntaxNode[], column: number, bracket: string): string {
  return items.at(-1)?.name === "LineComment" ? `\n${" ".repeat(column)}${bracket}` : bracket;
}

function sections(items: readonly SyntaxNode[], text: string, column: number, isMap: boolean): string {
  const groups: { name: string; items: SyntaxNode[] }[] = [];
  for (const each of items) {
    const last = groups.at(-1);
    if (each.name === "Keyword" && (!isMap || last === undefined || last.items.some((item) => item.name !== "LineComment"))) groups.push({ name: source(each, text), items: [] });
    else if (last) last.items.push(each);
    else groups.push({ name: "", items: [each] });
  }
  const lines = groups.map(({ name, items: inside }) => {
    const lead = name && inside.length > 0 ? `${name} ` : name;
    const at = column + lead.length;
    const below = STACKED.has(name) || inside.some((each) => each.name === "LineComment");
    const one = inside.map((each) => flat(each, text)).join(" ");
    const content = !below && at + one.length <= WIDTH && !inside.some(hasComment) ? one : stacked(inside, text, at);
    return lead + content + (inside.at(-1)?.name === "LineComment" && groups.at(-1)?.items === inside ? `\n${" ".repeat(column)}` : "");
  });
  return lines.join(`\n${" ".repeat(column)}`);
}
