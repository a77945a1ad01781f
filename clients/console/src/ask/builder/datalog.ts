/** The Datalog query of what is chosen in the builder. */

import type { Attribute } from "../../server/database.js";
import { anchorOf, attributesOf, type Choice, completeOf, type Condition, nameOf } from "./model.js";

const COMPARISONS: Readonly<Record<string, string>> = { "<": "<", "≤": "<=", ">": ">", "≥": ">=" };
const TESTS: Readonly<Record<string, string>> = { contains: "includes?", "starts with": "starts-with?", "ends with": "ends-with?" };

export function datalogOf(choice: Choice, attributes: readonly Attribute[]): string {
  const own = attributesOf(choice.type, attributes);
  const entity = variableOf(choice.type);
  const names = new Map(choice.columns.map((ident) => [ident, variableOf(nameOf(ident))]));
  for (const [ident, name] of names) if (name === entity) names.set(ident, `${name}-value`);
  const anchor = anchorOf(own);
  const clauses: string[] = [];
  if (anchor) clauses.push(`[${entity} ${anchor.ident} ${names.get(anchor.ident) ?? "_"}]`);
  else clauses.push(`(or ${own.map(({ ident }) => `[${entity} ${ident} _]`).join(" ")})`);
  clauses.push(...conditionsOf(choice, attributes, entity));
  const optional = [...names].filter(([ident]) => ident !== anchor?.ident);
  clauses.push(...optional.map(([ident, name]) => `(optional [${entity} ${ident} ${name}])`));
  const shown = names.size > 0 ? [...names.values()] : [entity];
  let ordered = names.get(choice.order);
  if (choice.order && ordered === undefined) {
    ordered = "?order";
    clauses.push(`(optional [${entity} ${choice.order} ?order])`);
  }
  const lines = [`[:find ${shown.join(" ")}`, ` :where ${clauses.join("\n        ")}`];
  if (ordered) lines.push(` :order-by [${choice.isDescending ? `[${ordered} :desc]` : ordered}]`);
  lines.push(` :limit ${choice.limit}]`);
  return lines.join("\n");
}

function conditionsOf(choice: Choice, attributes: readonly Attribute[], entity: string): string[] {
  const written = completeOf(choice, attributes).map((each, i) => clausesOf(each, entity, `?value-${i + 1}`));
  if (choice.match === "all" || written.length < 2) return written.flat();
  const branches = written.map((each) => (each.length > 1 ? `(and ${each.join(" ")})` : (each[0] ?? "")));
  return [`(or-join [${entity}] ${branches.join("\n          ")})`];
}

function clausesOf({ attribute, operator, value }: Condition, entity: string, variable: string): string[] {
  const pattern = `[${entity} ${attribute} ${variable}]`;
  if (operator === "is") return [`[${entity} ${attribute} ${value}]`];
  if (operator === "is not") return [`(not [${entity} ${attribute} ${value}])`];
  if (operator === "has a value") return [`[${entity} ${attribute} _]`];
  if (operator === "has none") return [`(not [${entity} ${attribute} _])`];
  return [pattern, `[(${COMPARISONS[operator] ?? TESTS[operator]} ${variable} ${value})]`];
}

function variableOf(name: string): string {
  return `?${name.replace(/[^\w.*+!-]/g, "-")}`;
}
