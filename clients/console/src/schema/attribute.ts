/** One attribute at the side: what is declared of it, how many entities have it, some values, and what one may do with it. */

import type { Json } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Value } from "../parts/value.js";
import { ask } from "../server/client.js";
import { attribute } from "../server/database.js";
import { hashOf } from "../shell/route.js";
import { isBuiltIn } from "./names.js";

type Declared = Readonly<Record<string, Json>>;

interface Details {
  readonly declared: Declared;
  /** What `:db/retention` says of attributes that do not say it themselves. */
  readonly retention: Declared;
  readonly entities: number;
  readonly samples: readonly (readonly [Json])[];
}

const MOST_SAMPLES = 8;
const DOCUMENT =
  'query ($ident: EDN!, $count: EDN!, $samples: EDN!) { pull(pattern: "[*]", eid: $ident) retention: pull(pattern: "[*]", eid: ":db/retention") ' +
  "count: q(query: $count) { value } samples: q(query: $samples, timeoutMs: 5000) { rows } }";

async function detailsOf(ident: string): Promise<Details> {
  const { pull, retention, count, samples } = await ask<{
    pull: Declared | null;
    retention: Declared | null;
    count: { value: number | null };
    samples: { rows: [Json][] };
  }>(DOCUMENT, {
    ident,
    count: `[:find (count ?e) . :where [?e ${ident}]]`,
    samples: `[:find ?v :where [_ ${ident} ?v] :limit ${MOST_SAMPLES}]`,
  });
  return { declared: pull ?? {}, retention: retention ?? {}, entities: count.value ?? 0, samples: samples.rows };
}

export function AttributeDetails({ ident }: { ident: string }) {
  const [details, setDetails] = useState<Details>();
  const [failure, setFailure] = useState<unknown>();
  const known = attribute(ident);
  useEffect(() => void detailsOf(ident).then(setDetails, setFailure), [ident]);
  if (known === undefined) return html`<p class="note">There is no attribute ${ident}.</p>`;
  const past = details && pastOf(details.declared, details.retention, ident);
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
        ${past !== undefined && html`<dt>Past</dt><dd>${past}</dd>`}
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

const LIMITS = [":db/retainDays", ":db/retainTransactions", ":db/retainAll"];

/** How long the past of an attribute is kept, and what says so; undefined if nothing limits it. */
function pastOf(declared: Declared, retention: Declared, ident: string): string | undefined {
  if (declared[":db/noHistory"] === true) return "none is shown (:db/noHistory)";
  const own = LIMITS.some((name) => name in declared);
  const [days, transactions, all] = LIMITS.map((name) => (own ? declared : isBuiltIn(ident) ? {} : retention)[name]);
  const by = own ? "" : " (:db/retention)";
  if (typeof days === "number") return `${count(days, "day")}${by}`;
  if (typeof transactions === "number") return `${count(transactions, "transaction")}${by}`;
  return all === true ? `all of it${by}` : undefined;
}

function count(number: number, of: string): string {
  return `kept for ${number.toLocaleString()} ${number === 1 ? of : `${of}s`}`;
}

/** What else is declared: flags, tuples, and names for GraphQL. */
function further(declared: Declared): [string, Json][] {
  const said = new Set([":db/id", ":db/ident", ":db/valueType", ":db/cardinality", ":db/unique", ":db/isComponent", ":db/doc", ":db/noHistory", ...LIMITS]);
  return Object.entries(declared).filter(([name]) => !said.has(name));
}
