/** The types that the variables of `:in` have where they are used: those of the attributes whose values they are. */

import { parser } from "@nextjournal/lezer-clojure";
import type { SyntaxNode } from "@lezer/common";
import { forms } from "../../editor/query.js";

/** A type, or `ref` for an entity. */
export type TypeOf = (variable: string) => string | undefined;

const COMPARISONS = new Set(["=", "==", "not=", "!=", "<", "<=", ">", ">=", "between"]);
// Their fields take a number of any of these types.
const NUMBERS: Readonly<Record<string, string>> = { bigint: "long", float: "double", bigdec: "double" };

/** `typeOfAttribute`: from the schema. The first use decides. */
export function expectedTypes(query: string, typeOfAttribute: (ident: string) => string | null | undefined): TypeOf {
  const types = new Map<string, string>();
  const compared: string[][] = [];
  const learn = (name: string | undefined, type: string | null | undefined) => {
    if (name?.startsWith("?") && type && !types.has(name)) types.set(name, NUMBERS[type] ?? type);
  };
  const walk = (node: SyntaxNode): void => {
    const inside = forms(node);
    const texts = inside.map(({ from, to }) => query.slice(from, to));
    if (node.name === "Vector") {
      const places = texts[0]?.startsWith("$") ? texts.slice(1) : texts;
      const [entity, attribute, value] = places;
      if (attribute?.startsWith(":") && !entity?.startsWith(":")) {
        learn(entity, "ref");
        learn(value, typeOfAttribute(attribute));
      }
    } else if (node.name === "List" && COMPARISONS.has(texts[0] ?? "")) {
      compared.push(texts.slice(1).filter((each) => each.startsWith("?")));
    }
    inside.forEach(walk);
  };
  walk(parser.parse(query).topNode);
  for (const names of compared) {
    const known = names.map((each) => types.get(each)).find(Boolean);
    for (const each of names) learn(each, known);
  }
  return (variable) => types.get(variable);
}
