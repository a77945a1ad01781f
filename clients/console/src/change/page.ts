/** The page that changes data: a form for one entity, and an editor for transactions. */

import { html } from "../parts/html.js";
import { hashOf, place } from "../shell/route.js";
import { EntityForm } from "./form/form.js";
import { TransactionEditor } from "./transaction.js";

const WAYS = [
  { name: "transaction", title: "Transaction", component: TransactionEditor },
  { name: "entity", title: "Entity", component: EntityForm },
] as const;

export function Change() {
  const given = place.value.parameters;
  const name = given.get("way") ?? (given.has("entity") ? "entity" : "transaction");
  const way = WAYS.find((each) => each.name === name) ?? WAYS[0];
  return html`
    <div class="row">
      <h1>Change</h1>
      <nav class="ways" aria-label="Ways to change">
        ${WAYS.map((each) => html`<a key=${each.name} href=${hashOf("change", { way: each.name })} aria-current=${each === way ? "true" : undefined}>${each.title}</a>`)}
      </nav>
    </div>
    <${way.component} />
  `;
}
