/** Texts of EDN and what people type into a field: one is made from the other, by the type that is expected. */

import { parser } from "@nextjournal/lezer-clojure";
import { forms } from "../../editor/query.js";
import { mistakesOf } from "../../editor/syntax.js";

/** In a list or a table, what stands where nothing was typed yet. */
export const NOTHING = "_";

/** The texts of the forms of an EDN text; undefined where it is not well-formed. */
export function formsIn(text: string): readonly string[] | undefined {
  const tree = parser.parse(text);
  if (mistakesOf(tree, text).length > 0) return undefined;
  return forms(tree.topNode).map(({ from, to }) => text.slice(from, to));
}

/** The texts of the items of a vector; undefined where the text is none. */
export function itemsIn(text: string): readonly string[] | undefined {
  const tree = parser.parse(text);
  const [only, ...more] = forms(tree.topNode);
  if (only?.name !== "Vector" || more.length > 0 || mistakesOf(tree, text).length > 0) return undefined;
  return forms(only).map(({ from, to }) => text.slice(from, to));
}

export function vectorOf(items: readonly string[]): string {
  return `[${items.map((each) => each.trim() || NOTHING).join(" ")}]`;
}

/** What an EDN text is called in a field for a type; undefined where such a field cannot show it. */
export function typedOf(text: string, type: string | undefined): string | undefined {
  const edn = text.trim();
  if (edn === "" || edn === NOTHING) return "";
  switch (type) {
    case "string":
      return stringIn(edn);
    case "instant": {
      const inside = /^#inst\s*("[^"]*")$/.exec(edn)?.[1];
      const time = inside === undefined ? NaN : Date.parse(zoned(stringIn(inside) ?? ""));
      return Number.isNaN(time) ? undefined : new Date(time).toISOString().slice(0, 19);
    }
    case "uuid":
      return stringIn(/^#uuid\s*("[^"]*")$/.exec(edn)?.[1] ?? "");
    case "keyword":
      return /^:[^\s()[\]{}",;]+$/.test(edn) ? edn : undefined;
    case "boolean":
      return /^(true|false)$/.test(edn) ? edn : undefined;
    case "long":
      return /^-?\d+$/.test(edn) ? edn : undefined;
    case "double":
      return /^-?\d+(\.\d*)?([eE][-+]?\d+)?$/.test(edn) ? edn : undefined;
    default:
      return edn;
  }
}

/** The EDN text of what was typed into a field for a type. */
export function ednOf(typed: string, type: string | undefined): string {
  const given = typed.trim();
  if (type === "string") return typed === "" ? "" : stringOf(typed);
  if (given === "") return "";
  switch (type) {
    case "instant":
      return `#inst ${stringOf(`${given.length === 16 ? `${given}:00` : given}Z`)}`;
    case "uuid":
      return `#uuid ${stringOf(given)}`;
    case "keyword":
      return given.startsWith(":") ? given : `:${given}`;
    default:
      return given;
  }
}

/** What is wrong with the EDN text of one value. */
export function problemOf(text: string, type: string | undefined): string | undefined {
  const edn = text.trim();
  if (edn === "" || edn === NOTHING) return "a value is missing";
  const all = formsIn(edn);
  if (all === undefined) return "brackets or quotes do not match";
  if (all.length !== 1) return "one value is expected, and a text stands between quotes";
  if (type === "ref" && itemsIn(edn)?.includes(NOTHING)) return "the value of the attribute is missing";
  if (type === "long" && !/^[-+]?\d+N?$/.test(edn)) return "a whole number is expected";
  if (type === "double" && !/^([-+]?[\d.]|##)/.test(edn)) return "a number is expected";
  if (type === "uuid" && !/^#uuid\s*"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"$/.test(edn)) return "a UUID is expected";
  return undefined;
}

export function stringOf(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r")}"`;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function stringIn(edn: string): string | undefined {
  if (!/^"(?:[^"\\]|\\[ntr"\\])*"$/.test(edn)) return undefined;
  return edn.slice(1, -1).replace(/\\(.)/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}

function zoned(time: string): string {
  return /T.*(Z|[-+]\d\d:?\d\d)$/.test(time) || !time.includes("T") ? time : `${time}Z`;
}
