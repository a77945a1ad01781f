/** The typed GraphQL of what is chosen in the builder, where the type has typed fields that can say it. */

import type { Attribute } from "../../server/database.js";
import { ask } from "../../server/client.js";
import { itemsIn, typedOf } from "../arguments/edn.js";
import { anchorOf, attributesOf, type Choice, completeOf, type Condition, nameOf } from "./model.js";

/** A type as the server has it: its list field, and the kind of each field. */
export interface TypedType {
  readonly list: string;
  readonly fields: ReadonlyMap<string, { readonly isObject: boolean; readonly isEnum: boolean; readonly isList: boolean }>;
}

interface TypeReference {
  readonly kind: string;
  readonly name: string | null;
  readonly ofType?: TypeReference | null;
}

const REFERENCE = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";
const DOCUMENT = `query ($name: String!) { __type(name: $name) { fields { name type { ${REFERENCE} } } } query: __type(name: "Query") { fields { name type { ${REFERENCE} } } } }`;

type Fields = { readonly fields: readonly { readonly name: string; readonly type: TypeReference }[] } | null;

/** Undefined where the server has no such type. */
export async function typedType(namespace: string): Promise<TypedType | undefined> {
  const name = namespace.split(/[^A-Za-z0-9]+/).map((each) => each.slice(0, 1).toUpperCase() + each.slice(1)).join("");
  const found = await ask<{ __type: Fields; query: Fields }>(DOCUMENT, { name });
  const list = found.query?.fields.find(({ type }) => isList(type) && inner(type).name === name)?.name;
  if (found.__type === null || list === undefined) return undefined;
  const fields = found.__type.fields.map((each) => {
    const { kind } = inner(each.type);
    return [each.name, { isObject: ["OBJECT", "INTERFACE", "UNION"].includes(kind), isEnum: kind === "ENUM", isList: isList(each.type) }] as const;
  });
  return { list, fields: new Map(fields) };
}

function inner(type: TypeReference): TypeReference {
  return type.ofType ? inner(type.ofType) : type;
}

function isList(type: TypeReference): boolean {
  return type.kind === "LIST" || (type.ofType ? isList(type.ofType) : false);
}

const FILTERS: Readonly<Record<string, string>> = {
  is: "eq", "<": "lt", "≤": "lte", ">": "gt", "≥": "gte", contains: "contains", "starts with": "startsWith", "ends with": "endsWith",
}; // prettier-ignore

/** Undefined where typed fields cannot say what is chosen. */
export function graphqlOf(choice: Choice, attributes: readonly Attribute[], { list, fields }: TypedType): string | undefined {
  const fieldOf = (ident: string) => {
    const name = camel(nameOf(ident));
    return fields.has(name) ? name : undefined;
  };
  const shown = choice.columns.map((ident) => {
    const name = fieldOf(ident);
    return name === undefined ? undefined : fields.get(name)?.isObject ? `${name} { id }` : name;
  });
  const conditions = completeOf(choice, attributes).map((each) => filterOf(each, attributes, fieldOf(each.attribute), fields));
  const order = choice.order ? fieldOf(choice.order) : "";
  // Without an anchor the schema's own idea of the type's entities is the same, but for attributes that it hides.
  if (shown.includes(undefined) || conditions.includes(undefined) || order === undefined || anchorOf(attributesOf(choice.type, attributes)) === undefined) return undefined;
  const where = conditions.length === 0 ? "" : conditions.length === 1 ? conditions[0] : `{${choice.match === "all" ? "and" : "or"}: [${conditions.join(", ")}]}`;
  const given = [where && `where: ${where}`, order && `orderBy: [{${order}: ${choice.isDescending ? "DESC" : "ASC"}}]`, `first: ${choice.limit}`].filter(Boolean);
  return `{\n  ${list}(${given.join(", ")}) {\n    ${["id", ...shown].join("\n    ")}\n  }\n}`;
}

function filterOf({ attribute, operator, value }: Condition, attributes: readonly Attribute[], field: string | undefined, fields: TypedType["fields"]): string | undefined {
  const known = attributes.find(({ ident }) => ident === attribute);
  const kind = field === undefined ? undefined : fields.get(field);
  // Filters of lists and of enums have words of their own.
  if (kind === undefined || kind.isList || kind.isEnum) return undefined;
  if (operator === "has a value" || operator === "has none") {
    const isNull = operator === "has none";
    return kind.isObject ? `{${field}IsNull: ${isNull}}` : `{${field}: {isNull: ${isNull}}}`;
  }
  let filter: string | undefined;
  if (kind.isObject) {
    const [by, wanted = ""] = itemsIn(value) ?? [];
    const type = attributes.find(({ ident }) => ident === by)?.valueType;
    const inside = by ? literal(wanted, type) : undefined;
    filter = by && inside ? `{${camel(nameOf(by))}: {eq: ${inside}}}` : /^\d+$/.test(value) ? `{id: {eq: "${value}"}}` : undefined;
  } else {
    const given = literal(value, known?.valueType);
    filter = given && `{${FILTERS[operator] ?? "eq"}: ${given}}`;
  }
  if (!filter) return undefined;
  return operator === "is not" ? `{not: {${field}: ${filter}}}` : `{${field}: ${filter}}`;
}

function literal(edn: string, type: string | null | undefined): string | undefined {
  const typed = typedOf(edn, type ?? undefined);
  if (typed === undefined) return undefined;
  if (["long", "double", "float", "boolean"].includes(type ?? "")) return typed;
  if (type === "instant") return JSON.stringify(`${typed}Z`);
  return ["string", "uuid", "keyword"].includes(type ?? "") ? JSON.stringify(typed) : undefined;
}

function camel(name: string): string {
  return name.replace(/[^A-Za-z0-9]+(.)/g, (_, letter: string) => letter.toUpperCase());
}
