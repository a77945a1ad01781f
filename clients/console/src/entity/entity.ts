/** An entity at the side: its attributes, the entities that refer to it, and from there onward. */

import type { Json } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { openAside } from "../parts/side.js";
import { Value } from "../parts/value.js";
import { ask } from "../server/client.js";
import { attribute } from "../server/database.js";

export function openEntity(id: number | string): void {
  openAside(`Entity ${id}`, Entity, { id });
}

const DOCUMENT = "query ($eid: EDN!) { pull(pattern: \"[*]\", eid: $eid) }";

function Entity({ id }: { id: number | string }) {
  const [pulled, setPulled] = useState<Record<string, Json> | null>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    ask<{ pull: Record<string, Json> | null }>(DOCUMENT, { eid: String(id) }).then((data) => setPulled(data.pull), setError);
  }, [id]);
  if (error) return html`<${Failure} error=${error} />`;
  if (pulled === undefined) return html`<p class="note" role="status">Loading…</p>`;
  if (pulled === null) return html`<p class="note">This entity has no attributes.</p>`;
  return html`<dl class="facts">
    ${Object.entries(pulled).map(([name, value]) => html`<dt key=${name}>${name}</dt><dd><${Values} name=${name} value=${value} /></dd>`)}
  </dl>`;
}

function Values({ name, value }: { name: string; value: Json }) {
  const type = attribute(name)?.valueType ?? undefined;
  const all = Array.isArray(value) && type !== "tuple" ? value : [value];
  return html`<ul class="values">
    ${all.map((each, i) => html`<li key=${i}><${Value} value=${target(each)} type=${isRef(each) ? "ref" : type} /></li>`)}
  </ul>`;
}

function isRef(value: Json): value is { "db/id": number } {
  return typeof value === "object" && value !== null && "db/id" in value;
}

function target(value: Json): Json {
  return isRef(value) ? value["db/id"] : value;
}
