/** For whom a transaction is tried and committed: admins choose an identity. */

import { useState } from "preact/hooks";
import { html } from "../parts/html.js";
import { isAdmin } from "../server/database.js";
import type { Trial } from "./trial.js";

export function AsIdentity({ trial }: { trial: Trial }) {
  const [wrong, setWrong] = useState("");
  if (!isAdmin()) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const roles = String(given.get("roles") ?? "").split(/[\s,]+/).filter(Boolean);
    const text = String(given.get("claims") ?? "").trim();
    try {
      const claims: unknown = text === "" ? {} : JSON.parse(text);
      if (typeof claims !== "object" || claims === null || Array.isArray(claims)) throw new Error("it is no object");
      trial.as.value = roles.length === 0 && text === "" ? undefined : { roles, claims: claims as Record<string, unknown> };
      setWrong("");
    } catch (error) {
      setWrong(`Claims are a JSON object, as {"sub": "ada"}: ${String(error instanceof Error ? error.message : error)}`);
    }
  };
  return html`
    <details class="as">
      <summary>${trial.as.value ? `As ${trial.as.value.roles.join(", ") || "an identity without roles"}` : "As another identity"}</summary>
      <form class="row" onSubmit=${submit} aria-label="As another identity">
        <label>Roles <input name="roles" placeholder="member" autocomplete="off" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} autocomplete="off" aria-invalid=${wrong !== ""} /></label>
        <button type="submit" class="quiet">Use</button>
        <button type="reset" class="quiet" onClick=${() => (trial.as.value = undefined)}>As myself</button>
      </form>
      ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
    </details>
  `;
}
