/** Arguments of queries as JSON: what JSON has no type for is tagged, as `{"#kw": "issue/open"}`. */

import { base64, Edn } from "./edn.js";
import type { Json } from "./wire.js";

/**
 * What can be an argument, also within lists, sets and maps. Strings and numbers are read as the type that their place in
 * the query wants; what `keyword`, `symbol`, `uuid`, `decimal` and `duration` return, dates, bigints and bytes keep their own. Text of
 * `edn` is a whole argument.
 */
export type Argument =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Edn
  | Uint8Array
  | readonly Argument[]
  | ReadonlySet<Argument>
  | ReadonlyMap<Argument, Argument>
  | { readonly [key: string]: Argument | undefined };

/** Beyond so many levels a value is taken for one that contains itself; the server allows no more. */
const DEEPEST = 64;

/** The arguments as they are sent. Throws TypeError, and says where, for what cannot be an argument. What is JSON already stays. */
export function jsonArguments(args: readonly Argument[]): Json[] {
  if (!Array.isArray(args)) throw new TypeError("args is a list, in the order of the query's :in: [value, …]; options come after it");
  return args.map((value, i) => {
    if (value === null) throw new TypeError(`args[${i}] is null, which is no value: leave its clause out, or pass edn\`nil\``);
    return whole(value, `args[${i}]`);
  });
}

/** The values of a transaction's variables, by their names, likewise. */
export function namedArguments(args: Readonly<Record<string, Argument>>): Record<string, Json> {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new TypeError("args is an object of values by the names of variables: { title: value } for ?title");
  }
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      const place = `args.${name}`;
      if (value === null) throw new TypeError(`${place} is null, which is no value: leave its attribute out`);
      return [name, whole(value, place)];
    }),
  );
}

function whole(value: Argument, place: string): Json {
  return value instanceof Edn && value.tagged === undefined ? { "#edn": value.text } : tagged(value, place, 0);
}

function tagged(value: unknown, place: string, depth: number): Json {
  if (depth > DEEPEST) throw new TypeError(`${place} is nested more than ${DEEPEST} deep, or contains itself`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : { "#double": String(value) };
    case "bigint":
      return { [BigInt.asIntN(64, value) === value ? "#long" : "#bigint"]: String(value) };
    case "object":
      return value === null ? null : taggedObject(value, place, depth + 1);
    default:
      throw new TypeError(`${place} is ${shown(value)}, which cannot be an argument`);
  }
}

function taggedObject(value: object, place: string, depth: number): Json {
  const items = (each: Iterable<unknown>) => Array.from(each, (item, i) => tagged(item, `${place}[${i}]`, depth));
  if (value instanceof Edn) {
    if (value.tagged !== undefined) return value.tagged;
    throw new TypeError(`${place} is EDN text within a list or map: it can only be a whole argument`);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError(`${place} is an invalid Date`);
    return { "#inst": value.toISOString() };
  }
  if (Array.isArray(value)) return items(value);
  if (value instanceof Set) return { "#set": items(value) };
  if (value instanceof Map) return { "#map": items(value) };
  if (value instanceof Uint8Array) return { "#bytes": base64(value) };
  if ("toJSON" in value && typeof value.toJSON === "function") return tagged(value.toJSON(), place, depth);
  const parent: unknown = Object.getPrototypeOf(value);
  if (parent !== null && Object.getPrototypeOf(parent) !== null) {
    throw new TypeError(`${place} is ${shown(value)}, which cannot be an argument`);
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, tagged(item, `${place}.${key}`, depth)]));
}

function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) return `a ${value.constructor.name}`;
  return typeof value === "function" ? "a function" : String(value);
}
