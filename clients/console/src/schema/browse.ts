/** Namespaces with their attributes, and a search over names, types and documentation. */

import { signal } from "@preact/signals";
import { html } from "../parts/html.js";
import { openAside } from "../parts/side.js";
import { attributes, type Attribute } from "../server/database.js";
import { AttributeDetails } from "./attribute.js";
import { byNamespace, isBuiltIn, localOf } from "./names.js";

const sought = signal("");
const withBuiltIns = signal(false);

export function Browse() {
  const words = sought.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = attributes.value.filter((each) => (withBuiltIns.value || !isBuiltIn(each.ident)) && words.every((word) => textOf(each).includes(word)));
  const groups = byNamespace(shown);
  return html`
    <form class="row" role="search" aria-label="Attributes" onSubmit=${(event: Event) => event.preventDefault()}>
      <label>Search <input type="search" value=${sought.value} onInput=${(event: Event) => (sought.value = (event.target as HTMLInputElement).value)} autocomplete="off" /></label>
      <label><input type="checkbox" checked=${withBuiltIns.value} onChange=${(event: Event) => (withBuiltIns.value = (event.target as HTMLInputElement).checked)} /> Built-in ones, too</label>
    </form>
    <p class="note" role="status">${shown.length.toLocaleString()} ${shown.length === 1 ? "attribute" : "attributes"} in ${groups.size.toLocaleString()} ${groups.size === 1 ? "namespace" : "namespaces"}.</p>
    ${[...groups].map(([name, all]) => html`<${Namespace} key=${name} name=${name} attributes=${all} />`)}
  `;
}

function textOf({ ident, valueType, unique, doc }: Attribute): string {
  return `${ident} ${valueType ?? ""} ${unique ?? ""} ${doc ?? ""}`.toLowerCase();
}

function Namespace({ name, attributes: all }: { name: string; attributes: readonly Attribute[] }) {
  return html`
    <details class="namespace" open>
      <summary><h2>${name || "without a namespace"}</h2> <span class="note">${all.length}</span></summary>
      <div class="changes" role="region" tabindex="0" aria-label=${`Attributes of ${name || "no namespace"}`}>
        <table>
          <thead>
            <tr><th scope="col">Attribute</th><th scope="col">Type</th><th scope="col">Cardinality</th><th scope="col">Datoms</th><th scope="col">Documentation</th></tr>
          </thead>
          <tbody>
            ${all.map(
              (each) => html`
                <tr key=${each.ident}>
                  <td><button type="button" class="ref" aria-label=${each.ident} onClick=${() => openAside(each.ident, AttributeDetails, { ident: each.ident })}>${localOf(each.ident)}</button></td>
                  <td>${each.valueType ?? html`<span class="nil">not yet</span>`}</td>
                  <td>${[each.cardinality, each.unique && `unique ${each.unique}`, each.isComponent && "component"].filter(Boolean).join(", ")}</td>
                  <td class="number">${Number(each.datomCount).toLocaleString()}</td>
                  <td>${each.doc}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    </details>
  `;
}
