/** The declaration of an attribute as a form has it, and the transaction that makes or alters it. */

import type { Json } from "@adalog/client";
import { ask } from "../server/client.js";

export const TYPES = [
  "string", "long", "double", "boolean", "keyword", "instant", "uuid", "bigdec", "ref", "bigint", "float", "symbol", "uri", "bytes", "duration", "tuple",
] as const;

/** As the form has it: texts, empty where nothing is said. */
export interface Declaration {
  readonly ident: string;
  readonly valueType: string;
  readonly cardinality: string;
  readonly unique: string;
  readonly component: boolean;
  readonly index: boolean;
  readonly noHistory: boolean;
  /** For how many days, or transactions, the past is kept; of the two and `retainAll` an attribute says one. */
  readonly retainDays: string;
  readonly retainTransactions: string;
  readonly retainAll: boolean;
  readonly doc: string;
  /** EDN of `:db/tupleAttrs`, `:db/tupleTypes` or `:db/tupleType`. */
  readonly tupleAttrs: string;
  readonly tupleTypes: string;
}

export type Part = keyof Declaration;

export const NOTHING: Declaration = {
  ident: "", valueType: "string", cardinality: "one", unique: "", component: false, index: false, noHistory: false, retainDays: "",
  retainTransactions: "", retainAll: false, doc: "", tupleAttrs: "", tupleTypes: "",
};

const DOCUMENT = 'query ($ident: EDN!) { pull(pattern: "[* {:db/valueType [:db/ident] :db/cardinality [:db/ident] :db/unique [:db/ident]}]", eid: $ident) }';

/** What is declared of an attribute that is there. */
export async function declarationOf(ident: string): Promise<Declaration> {
  const { pull } = await ask<{ pull: Record<string, Json> | null }>(DOCUMENT, { ident });
  const named = (name: string) => {
    const value = (pull?.[name] as Record<string, Json> | undefined)?.[":db/ident"];
    return typeof value === "string" ? value.replace(/^.*\//, "") : "";
  };
  const list = (name: string) => {
    const value = pull?.[name];
    return Array.isArray(value) ? `[${value.map(String).join(" ")}]` : "";
  };
  const number = (name: string) => String(pull?.[name] ?? "");
  return {
    ident,
    valueType: named(":db/valueType"),
    cardinality: named(":db/cardinality") || "one",
    unique: named(":db/unique"),
    component: pull?.[":db/isComponent"] === true,
    index: pull?.[":db/index"] === true,
    noHistory: pull?.[":db/noHistory"] === true,
    retainDays: number(":db/retainDays"),
    retainTransactions: number(":db/retainTransactions"),
    retainAll: pull?.[":db/retainAll"] === true,
    doc: typeof pull?.[":db/doc"] === "string" ? pull[":db/doc"] : "",
    tupleAttrs: list(":db/tupleAttrs"),
    tupleTypes: list(":db/tupleTypes"),
  };
}

const KEYS: Readonly<Record<Exclude<Part, "ident">, (value: string | boolean) => readonly [string, string]>> = {
  valueType: (value) => [":db/valueType", `:db.type/${value}`],
  cardinality: (value) => [":db/cardinality", `:db.cardinality/${value}`],
  unique: (value) => [":db/unique", `:db.unique/${value}`],
  component: (value) => [":db/isComponent", String(value)],
  index: (value) => [":db/index", String(value)],
  noHistory: (value) => [":db/noHistory", String(value)],
  retainDays: (value) => [":db/retainDays", String(value)],
  retainTransactions: (value) => [":db/retainTransactions", String(value)],
  retainAll: (value) => [":db/retainAll", String(value)],
  doc: (value) => [":db/doc", JSON.stringify(value)],
  tupleAttrs: (value) => [":db/tupleAttrs", String(value)],
  tupleTypes: (value) => [":db/tupleTypes", String(value)],
};

/** The transaction, and the part of the form that each of its lines says. before: as it is declared now; undefined for a new one. */
export function transactionOf(now: Declaration, before: Declaration | undefined): { readonly text: string; readonly lines: readonly Part[] } {
  const parts = Object.keys(KEYS) as Exclude<Part, "ident">[];
  const old = before ?? { ...NOTHING, valueType: "", cardinality: "" };
  const changed = parts.filter((part) => now[part] !== old[part]);
  // What an attribute keeps is true or not said.
  const isSaid = (part: Exclude<Part, "ident">) => now[part] !== "" && (part !== "retainAll" || now[part] === true);
  const said = changed.filter(isSaid);
  // A new attribute is declared, whatever is said of it.
  const pairs = said.map((part) => KEYS[part](now[part]).join(" "));
  const gone = changed.filter((part) => !isSaid(part)).map((part) => ({ part, text: `[:db/retract ${now.ident} ${KEYS[part](old[part]).join(" ")}]` }));
  const declared = pairs.length > 0 || before === undefined ? [`{${[`:db/ident ${now.ident}`, ...pairs].join("\n  ")}}`] : [];
  return {
    text: `[${[...declared, ...gone.map(({ text }) => text)].join("\n ")}]`,
    lines: [...(declared.length > 0 ? (["ident", ...said] as Part[]) : []), ...gone.map(({ part }) => part)],
  };
}
