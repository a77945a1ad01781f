/** The variables of a transaction's text, and the values that are given for them. */

import type { Json } from "@adalog/client";
import { parser } from "@nextjournal/lezer-clojure";

/** The names of the variables `?name`, without the question mark, in the order in which they come. */
export function variablesOf(text: string): string[] {
  const found = new Set<string>();
  parser.parse(text).iterate({
    enter(node) {
      if (node.name !== "Symbol") return;
      const written = text.slice(node.from, node.to);
      if (/^\?./.test(written)) found.add(written.slice(1));
    },
  });
  return [...found];
}

/** A value as it is typed: JSON where it is JSON, else the text itself. */
export function valueOf(typed: string): Json {
  try {
    return JSON.parse(typed) as Json;
  } catch {
    return typed;
  }
}
