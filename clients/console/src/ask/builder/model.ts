/** What is chosen in the builder: a type, conditions, columns, an order and a limit. */

import type { Attribute } from "../../server/database.js";

export interface Condition {
  readonly attribute: string;
  readonly operator: string;
  /** EDN; empty where the operator takes no value. */
  readonly value: string;
}

export interface Choice {
  /** A namespace of attributes. */
  readonly type: string;
  readonly match: "all" | "any";
  readonly conditions: readonly Condition[];
  readonly columns: readonly string[];
  readonly order: string;
  readonly isDescending: boolean;
  readonly limit: number;
}

export interface Operator {
  readonly name: string;
  readonly takesValue: boolean;
}

const value = (name: string): Operator => ({ name, takesValue: true });
const EQUALITY = [value("is"), value("is not")];
const EXISTENCE: readonly Operator[] = [
  { name: "has a value", takesValue: false },
  { name: "has none", takesValue: false },
];
const ORDER = ["<", "≤", ">", "≥"].map(value);
const TEXT = ["contains", "starts with", "ends with"].map(value);
const ORDERED = new Set(["long", "bigint", "double", "float", "bigdec", "instant"]);

export function operatorsOf(attribute: Attribute | undefined): readonly Operator[] {
  const type = attribute?.valueType ?? "";
  return [...EQUALITY, ...(type === "string" ? TEXT : []), ...(ORDERED.has(type) ? ORDER : []), ...EXISTENCE];
}

const OWN = /^:(db|graphql|policy|console|fressian)([./]|$)/;

/** The namespaces of the data's attributes, in their order. */
export function typesOf(attributes: readonly Attribute[]): string[] {
  const names = attributes.filter(({ ident }) => !OWN.test(ident) && ident.includes("/")).map(({ ident }) => namespaceOf(ident));
  return [...new Set(names)].sort();
}

export function attributesOf(type: string, attributes: readonly Attribute[]): Attribute[] {
  return attributes.filter(({ ident }) => namespaceOf(ident) === type);
}

export function namespaceOf(ident: string): string {
  return ident.slice(1, ident.indexOf("/"));
}

export function nameOf(ident: string): string {
  return ident.slice(ident.indexOf("/") + 1);
}

/** What stands there when a type is chosen: its anchor and a few more columns. */
export function begin(type: string, attributes: readonly Attribute[]): Choice {
  const own = attributesOf(type, attributes);
  const anchor = anchorOf(own);
  const columns = [...(anchor ? [anchor] : []), ...own.filter((each) => each !== anchor)].slice(0, 3);
  return { type, match: "all", conditions: [], columns: columns.map(({ ident }) => ident), order: "", isDescending: false, limit: 100 };
}

/** The attribute that every entity of the type has. */
export function anchorOf(own: readonly Attribute[]): Attribute | undefined {
  return own.find(({ unique }) => unique?.endsWith("identity"));
}

/** Conditions that are complete: the others are still being written. */
export function completeOf({ conditions }: Choice, attributes: readonly Attribute[]): readonly Condition[] {
  return conditions.filter(({ attribute, operator, value: given }) => {
    const known = operatorsOf(attributes.find(({ ident }) => ident === attribute)).find(({ name }) => name === operator);
    return known !== undefined && (!known.takesValue || (given.trim() !== "" && given !== "_"));
  });
}
