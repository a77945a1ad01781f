/** The datoms that a transaction brings and takes, by entity. */

import { html } from "../parts/html.js";
import { attribute } from "../server/database.js";
import type { ChangedDatom, Transaction } from "../server/transactions.js";
import { openEntity } from "../entity/open.js";
import { useLabels } from "./labels.js";

const MOST = 500;

export function DatomList({ datoms, transaction }: { datoms: readonly ChangedDatom[]; transaction?: Transaction | undefined }) {
  const shown = datoms.slice(0, MOST);
  const refs = shown.filter(({ a }) => attribute(a)?.valueType === "ref").map(({ v }) => v);
  const labels = useLabels([...shown.map(({ e }) => e), ...refs], transaction);
  const labelled = (id: string) => html`<button type="button" class="ref" onClick=${() => openEntity(id)}>${id}</button> ${labels.get(id)?.text}`;
  return html`
    <div class="changes signed" role="region" tabindex="0" aria-label="Datoms">
      <table>
        <thead>
          <tr><th scope="col"><span class="hidden">Change</span></th><th scope="col">Entity</th><th scope="col">Attribute</th><th scope="col">Value</th></tr>
        </thead>
        <tbody>
          ${shown.map(
            ({ e, a, v, added }, i) => html`
              <tr key=${i} class=${added ? "added" : "retracted"}>
                <td><span class="sign" aria-hidden="true">${added ? "+" : "−"}</span><span class="hidden">${added ? "comes" : "goes"}</span></td>
                <td>${labelled(String(e))}</td>
                <td><code>${a}</code></td>
                <td>${attribute(a)?.valueType === "ref" ? labelled(v) : html`<code>${v}</code>`}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    ${datoms.length > MOST && html`<p class="note">The first ${MOST} of ${datoms.length.toLocaleString()} datoms.</p>`}
  `;
}
