/** The same question with one variable more that is given, to see what the plan would be. */

import type { Json } from "@adalog/client";
import { formsOf } from "../editor/query.js";
import type { Answer, Question } from "../server/answers.js";

const VARIABLE = /(?<![\w.*+!?/-])\?[\w.*+!?/<>=-]+/g;

/** The variables of a query that are not given. */
export function freeVariables({ query }: Question): readonly string[] {
  const { sections } = formsOf(query);
  const given = new Set((sections.get(":in") ?? []).join(" ").match(VARIABLE));
  const all = [...(sections.get(":find") ?? []), ...(sections.get(":where") ?? [])].join(" ").match(VARIABLE) ?? [];
  return [...new Set(all)].filter((each) => !given.has(each));
}

/** The question with a variable as its last input. edn: the variable's value. */
export function bound(question: Question, variable: string, edn: string): Question {
  const sections = new Map(formsOf(question.query).sections);
  sections.set(":in", [...(sections.get(":in") ?? ["$"]), variable]);
  const text = [...sections].map(([name, forms]) => `${name} ${forms.join(" ")}`).join("\n ");
  return { ...question, query: `[${text}]`, argsEdn: [...question.argsEdn, edn] };
}

/** A value of a variable in the answer, as EDN; empty where the answer does not show one. */
export function sampleOf({ columns, rows }: Answer, variable: string): string {
  const place = columns.findIndex(({ name }) => name === variable);
  const value = rows[0]?.[place];
  return value === undefined || value === null ? "" : ednOf(value, columns[place]?.type);
}

function ednOf(value: Json, type: string | undefined): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return "";
  if (type === "keyword" || type === "symbol" || type === "ref" || type === "long" || type === "bigint") return value;
  if (type === "instant") return `#inst ${JSON.stringify(value)}`;
  if (type === "uuid") return `#uuid ${JSON.stringify(value)}`;
  return JSON.stringify(value);
}
