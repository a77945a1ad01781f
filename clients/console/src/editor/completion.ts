/** What may stand at the cursor of a query: attributes, variables, rules, built-ins and the words of the language. */

import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { parser } from "@nextjournal/lezer-clojure";
import type { Builtin } from "../server/builtins.js";
import type { Attribute } from "../server/database.js";
import { infoOf, placeOfInfo } from "./information.js";
import { ownRules, rulesIn, surroundings, type Surroundings, variablesAt } from "./scope.js";
import { CLAUSES, DIRECTIONS, FIND_CALLS, FIND_FORMS, INPUT_FORMS, PULL_OPTIONS, SECTIONS, type Word } from "./words.js";

/** Where names come from that do not stand in the text. */
export interface Names {
  readonly attributes: () => readonly Attribute[];
  readonly builtins: () => Promise<readonly Builtin[]>;
  /** Texts of sets of rules that are given for `%`. */
  readonly rules: () => readonly string[];
}

const WORD = /[^\s\[\](){}",;]*$/;
const AGGREGATING = new Set([":find", ":having", ":order-by"]);

export function completion(names: Names): Extension {
  return autocompletion({
    override: [(context) => completionsAt(context, names)],
    icons: false,
    maxRenderedOptions: 200,
    // Otherwise Enter just after the list has come breaks the line.
    interactionDelay: 0,
    positionInfo: placeOfInfo,
  });
}

async function completionsAt(context: CompletionContext, names: Names): Promise<CompletionResult | null> {
  const { state, pos, explicit } = context;
  const line = state.doc.lineAt(pos);
  const word = WORD.exec(line.text.slice(0, pos - line.from))?.[0] ?? "";
  const from = pos - word.length;
  const tree = syntaxTree(state);
  const text = state.doc.toString();
  if (/^(String|LineComment|Discard)/.test(tree.resolveInner(pos, -1).name)) return null;
  const place = surroundings(tree, text, from);
  if (word === "" && !explicit && !place.isOperator) return null;
  const options = [];
  if (word.startsWith(":")) options.push(...keywords(place, names));
  else if (word.startsWith("?")) options.push(...variables(tree, text, place, from));
  else if (place.isOperator) options.push(...(await operators(tree, text, place, names)));
  else if (explicit || word !== "") options.push(...anything(tree, text, place, names, from, word));
  return options.length === 0 ? null : { from, options, validFor: /^[^\s\[\](){}",;]*$/ };
}

function keywords(place: Surroundings, names: Names): Completion[] {
  if (place.isTop) return SECTIONS.map((each) => wordOption(each, 2));
  const more: Completion[] = [];
  if (place.section === ":order-by") more.push(...DIRECTIONS.map((each) => wordOption(each, 2)));
  if (place.section === ":find") more.push(...PULL_OPTIONS.map((each) => wordOption(each, -1)));
  return [...more, ...attributeOptions(place, names)];
}

/** In a pull an attribute may be read backwards. */
function attributeOptions({ section }: Surroundings, names: Names): Completion[] {
  const isPull = section === ":find";
  return names.attributes().flatMap((each) => {
    const backwards = each.ident.replace(/\/(?!.*\/)/, "/_");
    const reverse = isPull && each.valueType === "ref" ? [attributeOption(each, backwards)] : [];
    return [attributeOption(each, each.ident), ...reverse];
  });
}

function attributeOption(attribute: Attribute, label: string): Completion {
  const { valueType, cardinality, unique, doc, datomCount } = attribute;
  const isMany = cardinality.endsWith("many");
  const facts = [isMany ? "many values" : "one value", unique && `unique (${unique})`, `${Number(datomCount).toLocaleString()} datoms`];
  return {
    label,
    type: "property",
    detail: `${valueType ?? "any type"}${isMany ? " *" : ""}`,
    info: () => infoOf({ title: label, facts: [valueType ?? "of any type", ...facts], doc: doc ?? "" }),
    // The language's own attributes come after those of the data.
    boost: /^:(db|graphql|policy|console)[./]/.test(label) ? -50 : Number(datomCount) > 0 ? 10 : 0,
  };
}

function variables(tree: Parameters<typeof variablesAt>[0], text: string, place: Surroundings, from: number): Completion[] {
  return variablesAt(tree, text, place, from).map((label) => ({ label, type: "variable", detail: "variable", boost: 20 }));
}

async function operators(tree: Parameters<typeof ownRules>[0], text: string, place: Surroundings, names: Names): Promise<Completion[]> {
  const isFind = AGGREGATING.has(place.section ?? "");
  // Within `[(…)]` no clause may stand.
  const isCall = place.around[1]?.name === "List" || (place.around[1]?.name === "Vector" && place.around.length > 2 && place.section !== ":rules");
  const found: Completion[] = [];
  const all = await names.builtins();
  if (isFind) {
    found.push(...all.filter(({ kind }) => kind === "AGGREGATE").map((each) => builtinOption(each, 20)), ...FIND_CALLS.map((each) => wordOption(each, 20)));
  } else if (!isCall) {
    for (const [name, usage] of rulesAt(tree, text, names)) {
      found.push({ label: name, type: "function", detail: "rule", info: () => infoOf({ title: usage, facts: ["rule"], doc: "" }), boost: 30 });
    }
    found.push(...CLAUSES.map((each) => wordOption(each, 20)));
  }
  const shown = new Set(found.map(({ label }) => label));
  found.push(...all.filter(({ kind, name }) => kind === "FUNCTION" && !shown.has(name)).map((each) => builtinOption(each, 0)));
  return found;
}

function rulesAt(tree: Parameters<typeof ownRules>[0], text: string, names: Names): Map<string, string> {
  const given = names.rules().flatMap((each) => [...rulesIn(parser.parse(each), each)]);
  return new Map([...given, ...ownRules(tree, text)]);
}

function anything(tree: Parameters<typeof ownRules>[0], text: string, place: Surroundings, names: Names, from: number, word: string): Completion[] {
  if (place.isTop) {
    const forms = place.section === ":find" ? FIND_FORMS : place.section === ":in" ? INPUT_FORMS : [];
    return word === "" ? [...variables(tree, text, place, from), ...forms.map((each) => wordOption(each, 5)), ...SECTIONS.map((each) => wordOption(each, 0))] : [];
  }
  if (word !== "") return [];
  const isPattern = place.around[0]?.name === "Vector" && place.section === ":where" && place.index === 1;
  return isPattern ? attributeOptions(place, names) : [...variables(tree, text, place, from), ...(place.section === ":find" ? attributeOptions(place, names) : [])];
}

function wordOption({ label, detail, info }: Word, boost: number): Completion {
  return { label, detail, type: "keyword", boost, info: () => infoOf({ title: label, facts: [], doc: info }) };
}

function builtinOption({ name, kind, section, usage, value, doc }: Builtin, boost: number): Completion {
  const gives = value === null ? "" : ` → ${value}`;
  return {
    label: name,
    type: "function",
    detail: kind === "AGGREGATE" ? "aggregate" : section.toLowerCase(),
    boost,
    info: () => infoOf({ title: `${usage}${gives}`, facts: [kind === "AGGREGATE" ? "aggregate" : section], doc }),
  };
}
