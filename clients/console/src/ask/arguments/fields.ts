/** The fields of the form of arguments: one for each input of `:in`, of the shape that it has. */

import { formsIn, itemsIn, NOTHING, problemOf } from "./edn.js";
import type { TypeOf } from "./expected.js";

export interface Place {
  readonly name: string;
  readonly type: string | undefined;
}

export interface Field {
  readonly kind: "scalar" | "list" | "tuple" | "relation" | "rules" | "source";
  /** As the input is written. */
  readonly text: string;
  readonly places: readonly Place[];
}

export function fieldOf(text: string, typeOf: TypeOf): Field {
  const place = (name: string): Place => ({ name, type: typeOf(name) });
  if (text === "%") return { kind: "rules", text, places: [] };
  if (text.startsWith("$")) return { kind: "source", text, places: [] };
  const items = itemsIn(text);
  if (items === undefined) return { kind: "scalar", text, places: [place(text)] };
  if (items.length === 2 && items[1] === "...") return { kind: "list", text, places: [place(items[0] ?? "")] };
  const inner = items.length === 1 ? itemsIn(items[0] ?? "") : undefined;
  if (inner) return { kind: "relation", text, places: inner.map(place) };
  return { kind: "tuple", text, places: items.map(place) };
}

/** What is wrong with an argument, before it is sent; undefined where nothing is known to be. */
export function fieldProblem({ kind, places }: Field, edn: string): string | undefined {
  if (edn.trim() === "") return kind === "rules" ? "rules are missing, as [[(name ?x) …]]" : "a value is missing";
  const [only] = places;
  switch (kind) {
    case "scalar":
      return problemOf(edn, only?.type);
    case "list":
      return rowsProblem(itemsIn(edn)?.map((each) => [each]), places);
    case "tuple":
      return rowsProblem(asRow(itemsIn(edn)), places);
    case "relation":
      return rowsProblem(itemsIn(edn)?.map((each) => itemsIn(each) ?? []), places);
    default:
      return formsIn(edn)?.length === 1 ? undefined : "one form is expected, with brackets and quotes that match";
  }
}

function asRow(items: readonly string[] | undefined): readonly (readonly string[])[] | undefined {
  return items && [items];
}

// What is no vector is for the server to judge: a set, or a list that a program made.
function rowsProblem(rows: readonly (readonly string[])[] | undefined, places: readonly Place[]): string | undefined {
  for (const [number, row] of rows?.entries() ?? []) {
    for (const [i, { name, type }] of places.entries()) {
      const problem = problemOf(row[i] ?? NOTHING, type);
      if (problem) return `${name} in row ${number + 1}: ${problem}`;
    }
  }
  return undefined;
}
