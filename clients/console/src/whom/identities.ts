/** The identities that an admin looks as: kept by this browser. */

import { useState } from "preact/hooks";
import { as } from "../ask/state.js";
import { useKeptFocus } from "../parts/focus.js";
import { html } from "../parts/html.js";
import { stored } from "../parts/stored.js";
import type { As } from "../server/answers.js";
import { go } from "../shell/route.js";

export interface SavedIdentity extends As {
  readonly name: string;
}

export const identities = stored<readonly SavedIdentity[]>("adalog:identities", []);

export function Identities() {
  const [error, setError] = useState("");
  const section = useKeptFocus<HTMLElement>();
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const read = identityOf(new FormData(form));
    if (typeof read === "string") {
      setError(read);
      return;
    }
    setError("");
    identities.value = [...identities.value.filter(({ name }) => name !== read.name), read];
    form.reset();
  };
  const remove = (gone: SavedIdentity) => {
    identities.value = identities.value.filter((each) => each !== gone);
  };
  return html`
    <section ref=${section} tabindex="-1" aria-label="Identities">
      <h2>Identities</h2>
      <p class="note">An identity is the roles and claims of a token. They are kept in this browser.</p>
      ${identities.value.length > 0 &&
      html`<ul class="identities">
        ${identities.value.map(
          (each) => html`<li key=${each.name}>
            <strong>${each.name}</strong>
            <span>${each.roles.map((role) => html`<span class="chip" key=${role}>${role}</span> `)}</span>
            <code>${JSON.stringify(each.claims)}</code>
            <button type="button" onClick=${() => lookAs(each)}>Look as ${each.name}</button>
            <button type="button" class="quiet" aria-label=${`Remove ${each.name}`} onClick=${() => remove(each)}>✕</button>
          </li>`,
        )}
      </ul>`}
      <form class="row identity-form" onSubmit=${add}>
        <label>Name <input name="name" required placeholder="ada" /></label>
        <label>Roles <input name="roles" placeholder="member, guest" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} class="code" /></label>
        <button type="submit">Add</button>
      </form>
      ${error && html`<p class="error" role="alert">${error}</p>`}
    </section>
  `;
}

/** Asks everything on the page that asks as this identity, until that is stopped. */
function lookAs({ claims, roles }: SavedIdentity): void {
  as.value = { claims, roles };
  go("ask");
}

/** The identity of a form, or what is wrong with it. */
function identityOf(form: FormData): SavedIdentity | string {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const roles = text("roles").split(/[\s,]+/).filter(Boolean);
  let claims: unknown;
  try {
    claims = JSON.parse(text("claims") || "{}");
  } catch {
    return `Claims are a JSON object, such as {"sub": "ada"}`;
  }
  if (typeof claims !== "object" || claims === null || Array.isArray(claims)) return `Claims are a JSON object, such as {"sub": "ada"}`;
  return { name: text("name"), roles, claims: claims as Record<string, unknown> };
}
