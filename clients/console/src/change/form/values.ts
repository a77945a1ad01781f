/** How a value of each type is typed in a form, and the EDN text that it becomes. */

import { parser } from "@nextjournal/lezer-clojure";
import { forms } from "../../editor/query.js";

const TAGS: Readonly<Record<string, string>> = { instant: "inst", uuid: "uuid", uri: "uri", duration: "duration", bytes: "bytes" };

/** What the field of a type shows while it is empty. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  long: "42",
  double: "1.5",
  float: "1.5",
  bigdec: "9.90",
  bigint: "12345678901234567890",
  keyword: ":status/open",
  symbol: "name",
  instant: "2026-05-01T12:00:00Z",
  uuid: "00000000-0000-0000-0000-000000000000",
  uri: "https://example.org/",
  duration: "P1DT2H",
  bytes: "base64",
  ref: "entity",
  tuple: "[1 2]",
};

/** What is typed for a value that is there: its EDN text without quotes and tags. */
export function typedOf(edn: string, type: string | null): string {
  const quoted = type === "string" ? edn : /^#\S+\s*(".*")$/s.exec(edn)?.[1];
  if (quoted !== undefined && (type === "string" || (type !== null && type in TAGS))) {
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return edn;
    }
  }
  if (type === "bigdec" || type === "bigint") return edn.replace(/[MN]$/, "");
  return edn;
}

/** The EDN text of what is typed. Throws an Error that says what would be right. */
export function ednOf(typed: string, type: string | null): string {
  if (type === "string") return JSON.stringify(typed);
  const text = typed.trim();
  if (type !== null && type in TAGS) return `#${TAGS[type]} ${JSON.stringify(text)}`;
  if (type === "bigdec" && /^[-+]?[\d.]+$/.test(text)) return `${text}M`;
  if (type === "bigint" && /^[-+]?\d+$/.test(text)) return `${text}N`;
  if ((type === "double" || type === "float") && /^[-+]?\d+$/.test(text)) return `${text}.0`;
  const tree = parser.parse(text);
  let isBroken = false;
  tree.iterate({ enter: (node) => void (isBroken ||= node.type.isError) });
  if (isBroken || forms(tree.topNode).length !== 1) throw new Error(`This is not one ${type ?? "EDN value"}${type !== null && type in EXAMPLES ? `, as ${EXAMPLES[type]}` : ""}.`);
  return text;
}
