/** One attribute at the side: what is declared of it, how many entities have it, some values, and what one may do with it. */

import type { Json } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Value } from "../parts/value.js";
import { ask } from "../server/client.js";
import { attribute } from "../server/database.js";
import { hashOf } from "../shell/route.js";

interface Details {
  readonly declared: Readonly<Record<string, Json>>;
  readonly entities: number;
  readonly samples: readonly (readonly [Json])[];
}

const MOST_SAMPLES = 8;
const DOCUMENT =
  'query ($ident: EDN!, $count: EDN!, $samples: EDN!) { pull(pattern: "[*]", eid: $ident) ' +
  "count: q(query: $count) { value } samples: q(query: $samples, timeoutMs: 5000) { rows } }";

async function detailsOf(ident: string): Promise<Details> {
  const { pull, count, samples } = await ask<{ pull: Record<string, Json> | null; count: { value: number | null }; samples: { rows: [Json][] } }>(DOCUMENT, {
    ident,
    count: `[:find (count ?e) . :where [?e ${ident}]]`,
    samples: `[:find ?v :where [_ ${ident} ?v] :limit ${MOST_SAMPLES}]`,
  });
  return { declared: pull ?? {}, entities: count.value ?? 0, samples: samples.rows };
}

export function AttributeDetails({ ident }: { ident: string }) {
  const [details, setDetails] = useState<Details>();
  const [failure, setFailure] = useState<unknown>();
  const known = attribute(ident);
  useEffect(() => void detailsOf(ident).then(setDetails, setFailure), [ident]);
  if (known === undefined) return html`<p class="note">There is no attribute ${ident}.</p>`;
  const values = `[:find ?e ?v\n :where [?e ${ident} ?v]\n :limit 1000]`;
  return html`
    <div class="stack">
      ${known.doc && html`<p>${known.doc}</p>`}
      <dl class="facts">
        <dt>Type</dt><dd>${known.valueType ?? "not yet: the first value decides"}</dd>
        <dt>Cardinality</dt><dd>${known.cardinality}</dd>
        ${known.unique && html`<dt>Unique</dt><dd>${known.unique}</dd>`}
        ${known.isComponent && html`<dt>Component</dt><dd>what it refers to is a part of the whole</dd>`}
        <dt>Datoms</dt><dd class="number">${Number(known.datomCount).toLocaleString()}</dd>
        <dt>Entities</dt><dd class="number">${details ? details.entities.toLocaleString() : "…"}</dd>
        ${further(details?.declared ?? {}).map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${typeof value === "object" ? JSON.stringify(value) : String(value)}</dd>`)}
      </dl>
      <${Failure} error=${failure} />
      <section aria-label="Sample values" aria-busy=${details === undefined && failure === undefined}>
        <h3>Sample values</h3>
        ${details &&
        (details.samples.length === 0
          ? html`<p class="note">There is no value that you may see.</p>`
          : html`<ul class="values">${details.samples.map(([value], i) => html`<li key=${i}><${Value} value=${value} type=${known.valueType ?? undefined} /></li>`)}</ul>`)}
      </section>
      <p class="row">
        <a href=${hashOf("ask", { query: values })}>Show values</a>
        <a href=${hashOf("schema", { view: "declare", attribute: ident })}>Alter</a>
      </p>
    </div>
  `;
}

/** What else is declared: flags, tuples, and names for GraphQL. */
function further(declared: Readonly<Record<string, Json>>): [string, Json][] {
  const said = new Set([":db/id", ":db/ident", ":db/valueType", ":db/cardinality", ":db/unique", ":db/isComponent", ":db/doc"]);
  return Object.entries(declared).filter(([name]) => !said.has(name));
}
