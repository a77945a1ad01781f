/** The steps of a derivation as nodes of a tree: each clause with its values, and below a call the rule that it follows from. */

import type { Long } from "@adalog/client";
import { openEntity } from "../entity/open.js";
import { html, type Markup } from "../parts/html.js";
import type { TreeNode } from "../parts/tree.js";
import { attribute } from "../server/database.js";
import type { Question } from "../server/answers.js";
import { TX_BASE } from "../time/transactions.js";
import { stepBelow } from "./deeper.js";
import type { DatomReason, Step } from "./reason.js";

/** `question`: asked again for steps that the answer had no space for; without it, they are not offered. */
export function nodesOf(question: Question | undefined, steps: readonly Step[]): TreeNode[] {
  return steps.map((step) => nodeOf(question, step));
}

/** A rule with the values that it holds for, and what it follows from. */
export function applicationOf(question: Question | undefined, rule: string, { with: values, steps = [] }: Pick<Step, "with" | "steps">): TreeNode {
  return { content: ruleOf(rule, values), below: () => nodesOf(question, steps), isOpen: true };
}

function nodeOf(question: Question | undefined, step: Step): TreeNode {
  const below = belowOf(question, step);
  const isCut = step.more && below === undefined;
  return { content: html`${contentOf(step)}${isCut && html`<p class="note">There is no space for more.</p>`}`, below };
}

function belowOf(question: Question | undefined, step: Step): TreeNode["below"] {
  const { steps, fact, rule } = step;
  if (steps !== undefined) {
    return () => (rule === undefined || rule === null ? nodesOf(question, steps) : [applicationOf(question, rule, step)]);
  }
  if (question === undefined || !step.more || !fact?.startsWith("(")) return undefined;
  return async () => {
    const found = await stepBelow(question, fact);
    const below = belowOf(question, { ...step, ...found });
    return below === undefined ? [] : below();
  };
}

function contentOf(step: Step): Markup {
  const { clause, fact, datom, absent, branch } = step;
  return html`
    <span class="kind">${kindOf(step)}</span>
    ${datom ? html`<${DatomText} datom=${datom} />` : html`<code>${fact ?? clause ?? "what policies ask for"}</code>`}
    ${absent && html`<span class="note"> holds: nothing matches</span>`}
    ${branch !== undefined && html`<span class="note"> branch ${branch} holds</span>`}
    ${fact && clause && fact !== clause && html`<code class="clause">${clause}</code>`}
  `;
}

function kindOf({ datom, rule, more, absent, branch, steps, clause }: Step): string {
  if (datom) return "datom";
  if (rule !== undefined || (more && clause?.startsWith("("))) return "rule";
  if (branch !== undefined) return "or";
  if (absent) return "not";
  return steps ? "and" : "check";
}

function ruleOf(rule: string, values: Step["with"] = {}): Markup {
  return html`
    <span class="kind">by</span> <code>${rule}</code>
    <div class="with">${Object.entries(values).map(([name, value]) => html`<code key=${name}>${name} = ${value}</code> `)}</div>
  `;
}

function DatomText({ datom: { e, a, v, t } }: { datom: DatomReason }) {
  const isRef = attribute(a)?.valueType === "ref" && /^\d+$/.test(v);
  return html`<code
    >[<${Entity} id=${e} text=${String(e)} /> ${a} ${isRef ? html`<${Entity} id=${v} text=${v} />` : v}]</code
  > ${t !== null && t !== undefined && html`<${Entity} id=${TX_BASE + Number(t)} text=${`t ${t}`} />`}`;
}

function Entity({ id, text }: { id: Long; text: string }) {
  return html`<button type="button" class="ref" onClick=${() => openEntity(id)}>${text}</button>`;
}
