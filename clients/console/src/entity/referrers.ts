/** The entities that refer to one, by attribute. Pages of the index VAET. */

import type { Long } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { momentVariables, type Moment } from "../parts/moment.js";
import { Value } from "../parts/value.js";
import { ask } from "../server/client.js";
import { labelsOf, type Labels } from "./labels.js";

interface Datom {
  readonly e: Long;
  readonly a: string;
}

interface Page {
  readonly datoms: readonly Datom[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const PAGE = 50;
const DOCUMENT =
  "query ($components: [EDN!]!, $first: Int!, $after: String, $basis: BasisInput, $with: EDN, $as: AsInput) " +
  "{ datoms(index: VAET, components: $components, first: $first, after: $after, basis: $basis, with: $with, as: $as) " +
  "{ datoms { e a } pageInfo { hasNextPage endCursor } } }";

export function Referrers({ id, moment }: { id: Long; moment: Moment }) {
  const [datoms, setDatoms] = useState<readonly Datom[]>([]);
  const [labels, setLabels] = useState<Labels>(new Map());
  const [next, setNext] = useState<Page["pageInfo"]>();
  const [error, setError] = useState<unknown>();
  const [isLoading, setLoading] = useState(true);
  const load = async (after: string | null) => {
    setLoading(true);
    try {
      const { datoms: page } = await ask<{ datoms: Page }>(DOCUMENT, { components: [String(id)], first: PAGE, after, ...momentVariables(moment) });
      setDatoms((before) => [...(after === null ? [] : before), ...page.datoms]);
      setNext(page.pageInfo);
      const found = await labelsOf(page.datoms.map(({ e }) => e), moment);
      setLabels((before) => new Map([...before, ...found]));
    } catch (refused) {
      setError(refused);
    } finally {
      setLoading(false);
    }
  };
  useEffect(() => void load(null), [id]);
  const names = [...new Set(datoms.map(({ a }) => a))];
  return html`
    <section class="referrers" aria-busy=${isLoading}>
      <h3>Referred to by</h3>
      <${Failure} error=${error} />
      ${!isLoading && !error && datoms.length === 0 && html`<p class="note">No entity refers to this one.</p>`}
      ${names.map((ident) => {
        const of = datoms.filter(({ a }) => a === ident);
        return html`
          <details key=${ident} open>
            <summary><code>${ident}</code> <span class="quiet-text">${of.length}${next?.hasNextPage && ident === datoms.at(-1)?.a ? " so far" : ""}</span></summary>
            <ul class="values">
              ${of.map(({ e }) => html`<li key=${e}><${Value} value=${e} type="ref" label=${labels.get(String(e))?.text} /></li>`)}
            </ul>
          </details>
        `;
      })}
      ${next?.hasNextPage && html`<button type="button" class="quiet small" disabled=${isLoading} onClick=${() => void load(next.endCursor)}>More</button>`}
    </section>
  `;
}
