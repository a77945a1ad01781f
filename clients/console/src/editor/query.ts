/** The forms of a query, read from its syntax tree. A text that is being typed has errors; what is there is read all the same. */

import type { SyntaxNode } from "@lezer/common";
import { parser } from "@nextjournal/lezer-clojure";

/** An input of `:in`, other than a source or the rules. */
export interface Input {
  /** As it is written: `?name`, `[?name ...]`, `[[?a ?b]]`, `%`. */
  readonly text: string;
}

export interface QueryForms {
  /** The sections `:find`, `:where` and so on, as they are named, with the texts of their forms. */
  readonly sections: ReadonlyMap<string, readonly string[]>;
  /** Each input after the first source, in order. */
  readonly inputs: readonly Input[];
}

/** Reads a query: a vector with sections, or a map. */
export function formsOf(text: string): QueryForms {
  const top = forms(parser.parse(text).topNode)[0];
  const sections = new Map<string, string[]>();
  let section: string[] | undefined;
  const isMap = top?.name === "Map";
  for (const form of top ? forms(top) : []) {
    const written = text.slice(form.from, form.to);
    if (form.name === "Keyword" && (!isMap || section === undefined || section.length > 0)) {
      section = [];
      sections.set(written, section);
    } else if (isMap && form.name === "Vector") {
      section?.push(...forms(form).map(({ from, to }) => text.slice(from, to)));
    } else {
      section?.push(written);
    }
  }
  return { sections, inputs: inputsOf(sections.get(":in") ?? []) };
}

// Without a source in front, `$` is meant.
function inputsOf(given: readonly string[]): Input[] {
  return given.filter((each, i) => !(i === 0 && each.startsWith("$"))).map((text) => ({ text }));
}

/** The forms within a node, without brackets and comments. */
export function forms(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (child.name === "Operator") found.push(...forms(child));
    else if (/^[A-Z]/.test(child.name) && !["LineComment", "Discard"].includes(child.name)) found.push(child);
  }
  return found;
}
