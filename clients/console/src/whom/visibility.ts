/** Why an identity sees an entity, or does not: what each policy grants or refuses. */

import type { Json } from "@adalog/client";
import { useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { ask } from "../server/client.js";
import { identities } from "./identities.js";

interface Reasons {
  readonly entity: number;
  readonly everything?: string;
  readonly visible?: readonly string[];
  readonly hidden?: readonly string[];
  readonly policies?: readonly PolicyReason[];
}

interface PolicyReason {
  readonly policy: string;
  readonly effect: string;
  readonly attributes: readonly string[];
  readonly holds: boolean;
  readonly facts?: Json;
  readonly derivation?: Json;
  readonly fails?: Json;
  readonly why?: string;
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
    ${policies.map(
      ({ policy, effect, attributes, holds, ...details }) => html`<details class="policy" key=${policy}>
        <summary><strong>${policy}</strong> <span class=${holds ? "good" : "bad"}>${verdict(effect, holds)}</span> <span class="note">${attributes.join(", ")}</span></summary>
        <${Details} value=${details} />
      </details>`,
    )}
  `;
}

function verdict(effect: string, holds: boolean): string {
  if (effect === "require") return holds ? "is met" : "is not met";
  return holds ? "grants" : "does not grant";
}

/** A reason as nested lists: names of the server beside their values. */
function Details({ value }: { value: Json | undefined }): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return html`<code>${String(value)}</code>`;
  const entries = Array.isArray(value) ? value.map((each, i) => [String(i + 1), each] as const) : Object.entries(value).filter(([, each]) => each !== null);
  return html`<ul class="reasons">
    ${entries.map(([name, each]) => html`<li key=${name}><span class="note">${name}</span> <${Details} value=${each} /></li>`)}
  </ul>`;
}
