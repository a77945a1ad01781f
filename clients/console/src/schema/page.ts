/** The page of the schema: its namespaces and attributes, what refers to what, a form that declares, and proposals. */

import { html } from "../parts/html.js";
import { isAdmin } from "../server/database.js";
import { hashOf, place } from "../shell/route.js";
import { Browse } from "./browse.js";
import { Declare } from "./declare.js";
import { Proposals } from "./proposals.js";
import { References } from "./references.js";

const VIEWS = [
  { name: "attributes", title: "Attributes", component: Browse, forAdmins: false },
  { name: "references", title: "References", component: References, forAdmins: false },
  { name: "declare", title: "Declare", component: Declare, forAdmins: false },
  { name: "proposals", title: "Proposals", component: Proposals, forAdmins: true },
] as const;

export function Schema() {
  const name = place.value.parameters.get("view");
  const views = VIEWS.filter(({ forAdmins }) => !forAdmins || isAdmin());
  const view = views.find((each) => each.name === name) ?? views[0] ?? VIEWS[0];
  return html`
    <div class="row">
      <h1>Schema</h1>
      <nav class="ways" aria-label="Views of the schema">
        ${views.map((each) => html`<a key=${each.name} href=${hashOf("schema", { view: each.name })} aria-current=${each === view ? "true" : undefined}>${each.title}</a>`)}
      </nav>
    </div>
    <${view.component} />
  `;
}
