/** Saved queries at the side: those that this identity sees, and a form that saves the one in the editor. */

import type { Basis } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../../parts/failure.js";
import { html } from "../../parts/html.js";
import { closeAside } from "../../parts/side.js";
import { identity, isAdmin } from "../../server/database.js";
import { go, hashOf } from "../../shell/route.js";
import { basis, question } from "../state.js";
import { install, installation, isInstalled, readAll, remove, save, saved, type Saved } from "./store.js";

export function SavedQueries() {
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState("");
  const attempt = async (work: () => Promise<unknown>, done = "") => {
    setError(undefined);
    setSaid("");
    try {
      await work();
      setSaid(done);
    } catch (caught) {
      setError(caught);
    }
  };
  useEffect(() => void attempt(readAll), []);
  return html`
    <div class="stack">
      <${Failure} error=${error} />
      <p class="note" role="status">${said}</p>
      ${isInstalled() ? html`<${SaveForm} attempt=${attempt} />` : html`<${Installation} attempt=${attempt} />`}
      <ul class="history" aria-label="Saved queries">
        ${saved.value.map((each) => html`<${Entry} key=${each.id} each=${each} attempt=${attempt} />`)}
      </ul>
    </div>
  `;
}

type Attempt = (work: () => Promise<unknown>, done?: string) => Promise<void>;

/** Says what would be declared, and asks. */
function Installation({ attempt }: { attempt: Attempt }) {
  if (!isAdmin() && identity.value?.roles.includes("write") !== true) {
    return html`<p class="note">Saved queries are kept in the database, which has no attributes for them yet. An admin installs them here.</p>`;
  }
  return html`
    <p>Saved queries are kept in this database. It has no attributes for them yet; these would be declared:</p>
    <pre class="typed-graphql" tabindex="0"><code>${installation().join("\n")}</code></pre>
    <div class="row"><button type="button" onClick=${() => void attempt(install, "Declared.")}>Declare them</button></div>
  `;
}

function SaveForm({ attempt }: { attempt: Attempt }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const given = new FormData(form);
    const text = (name: string) => String(given.get(name) ?? "").trim();
    void attempt(async () => {
      const { basis: moment, ...rest } = question.peek();
      await save({ ...rest, ...(given.has("moment") ? { basis: moment } : {}) }, text("name"), text("description"), given.has("shared"));
      form.reset();
    }, "Saved.");
  };
  return html`
    <form class="stack" aria-label="Save the query in the editor" onSubmit=${submit}>
      <label class="search">Name <input name="name" required maxlength="200" /></label>
      <label class="search">Description <input name="description" maxlength="2000" /></label>
      ${basis.value && html`<label><input type="checkbox" name="moment" defaultChecked /> With its moment, ${momentText(basis.value)}</label>`}
      <label><input type="checkbox" name="shared" /> Every identity may see it</label>
      <div class="row"><button type="submit">Save the query</button></div>
    </form>
  `;
}

function Entry({ each, attempt }: { each: Saved; attempt: Attempt }) {
  const open = (event: Event) => {
    event.preventDefault();
    closeAside();
    go("ask", { saved: each.id });
  };
  return html`<li class="saved">
    <a href=${hashOf("ask", { saved: each.id })} onClick=${open}>${each.name}</a>
    ${each.description && html`<p class="note">${each.description}</p>`}
    <code>${each.query}</code>
    <span class="note">${[each.basis && `as of ${momentText(each.basis)}`, each.owner, each.created && new Date(each.created).toLocaleString()].filter(Boolean).join(" · ")}</span>
    <button type="button" class="quiet small" aria-label=${`Delete ${each.name}`} onClick=${() => void attempt(() => remove(each), "Deleted.")}>Delete</button>
  </li>`;
}

function momentText({ t, asOf, ...rest }: Basis): string {
  return t === undefined ? (asOf ?? JSON.stringify(rest)) : `t ${t}`;
}
