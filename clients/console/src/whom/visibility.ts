/** Why an identity sees an entity, or does not: what each policy grants or refuses. */

import { useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Tree, type TreeNode } from "../parts/tree.js";
import { ask } from "../server/client.js";
import { failureOf } from "../why/missing.js";
import type { FailedRule, Step } from "../why/reason.js";
import { applicationOf } from "../why/steps.js";
import { identities } from "./identities.js";

interface Reasons {
  readonly entity: number;
  readonly everything?: string;
  readonly visible?: readonly string[];
  readonly hidden?: readonly string[];
  readonly policies?: readonly PolicyReason[];
}

/** Of a policy, or of what it says of one fact. */
interface Reason {
  readonly holds: boolean;
  /** The rule that allows it. */
  readonly derivation?: Pick<Step, "with" | "steps"> & { readonly rule: string };
  readonly fails?: readonly FailedRule[];
  readonly why?: string;
}

interface PolicyReason extends Reason {
  readonly policy: string;
  readonly effect: string;
  readonly attributes: readonly string[];
  /** Where the rules of the policy are about facts, and not about whole entities. */
  readonly facts?: readonly FactReason[];
}

interface FactReason extends Reason {
  readonly attribute: string;
  /** As EDN. */
  readonly value: string;
}

const DOCUMENT = "query ($entity: EDN!, $as: AsInput!) { whyVisible(entity: $entity, as: $as) }";

export function Visibility() {
  const [found, setFound] = useState<Reasons>();
  const [error, setError] = useState<unknown>();
  const look = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const identity = identities.value.find(({ name }) => name === form.get("identity"));
    if (identity === undefined) return;
    const { claims, roles } = identity;
    try {
      setFound((await ask<{ whyVisible: Reasons }>(DOCUMENT, { entity: form.get("entity"), as: { claims, roles } })).whyVisible);
      setError(undefined);
    } catch (failure) {
      setError(failure);
    }
  };
  return html`
    <section aria-label="Visibility of an entity">
      <h2>What one sees of an entity, and why</h2>
      <form class="row" onSubmit=${look}>
        <label>Entity <input name="entity" required class="code" placeholder=${'[:user/email "ada@example.org"]'} /></label>
        <label>Identity <select name="identity" required>${identities.value.map(({ name }) => html`<option key=${name}>${name}</option>`)}</select></label>
        <button type="submit" disabled=${identities.value.length === 0}>Look</button>
      </form>
      ${identities.value.length === 0 && html`<p class="note">Add an identity first.</p>`}
      <${Failure} error=${error} />
      ${found && html`<div role="status"><${Found} reasons=${found} /></div>`}
    </section>
  `;
}

function Found({ reasons: { everything, visible = [], hidden = [], policies = [] } }: { reasons: Reasons }) {
  if (everything !== undefined) return html`<p>Everything is visible: ${everything}.</p>`;
  return html`
    <dl class="facts">
      <dt>Visible</dt>
      <dd>${visible.join(", ") || "nothing"}</dd>
      <dt>Hidden</dt>
      <dd>${hidden.join(", ") || "nothing"}</dd>
    </dl>
    ${policies.map((each) => html`<${Policy} key=${each.policy} reason=${each} />`)}
  `;
}

function Policy({ reason }: { reason: PolicyReason }) {
  const { policy, effect, attributes, holds, facts, why } = reason;
  const roots = facts ? facts.map((each) => factOf(each, effect)) : nodesOf(reason);
  return html`<details class="policy">
    <summary><strong>${policy}</strong> <${Verdict} effect=${effect} holds=${holds} /> <span class="note">${attributes.join(", ")}</span></summary>
    ${why && html`<p class="note">${why[0]?.toUpperCase()}${why.slice(1)}.</p>`}
    ${roots.length > 0 && html`<${Tree} label=${`Why ${policy} ${verdict(effect, holds)}`} roots=${roots} />`}
  </details>`;
}

/** What a derivation follows from, or the rules that do not hold. The server has no question that more could be asked of. */
function nodesOf({ derivation, fails = [] }: Reason): readonly TreeNode[] {
  return derivation ? [applicationOf(undefined, derivation.rule, derivation)] : fails.map(failureOf);
}

function factOf(reason: FactReason, effect: string): TreeNode {
  const { attribute, value, holds, why } = reason;
  const below = nodesOf(reason);
  const content = html`<span class="kind">fact</span> <code>${attribute} ${value}</code> <${Verdict} effect=${effect} holds=${holds} />${why && html`<p class="note">${why}</p>`}`;
  return { content, below: below.length > 0 ? () => below : undefined };
}

function Verdict({ effect, holds }: { effect: string; holds: boolean }) {
  return html`<span class=${holds ? "good" : "bad"}>${verdict(effect, holds)}</span>`;
}

function verdict(effect: string, holds: boolean): string {
  if (effect === "require") return holds ? "is met" : "is not met";
  return holds ? "grants" : "does not grant";
}
