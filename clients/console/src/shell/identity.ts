/** The identity that asks, and the token that says so. */

import { useState } from "preact/hooks";
import { html } from "../parts/html.js";
import { Dialog } from "../parts/dialog.js";
import { refusal, token, useToken } from "../server/client.js";
import { identity } from "../server/database.js";

export function IdentityButton() {
  const [isOpen, setOpen] = useState(false);
  const { principal, roles = [] } = identity.value ?? {};
  const name = principal ?? (identity.value ? "no authentication" : "unknown");
  return html`
    <button type="button" class="quiet" aria-label=${`Identity: ${name}`} onClick=${() => setOpen(true)} title=${`Roles: ${roles.join(", ") || "none"}`}>
      <span class="wide-only">Identity: </span>${name}
    </button>
    ${isOpen && html`<${Dialog} title="Identity" onClose=${() => setOpen(false)}><${TokenForm} /><//>`}
  `;
}

/** In the place of the page, where the server answers nothing without a token. */
export function SignIn() {
  return html`
    <section class="sign-in" aria-label="Sign in">
      <h1>Sign in</h1>
      <p class="note">This server answers those who send a token. <a href="docs/how-to/authentication/">Where tokens come from</a></p>
      <${TokenForm} />
    </section>
  `;
}

export function TokenForm() {
  const { principal, roles = [], expires } = identity.value ?? {};
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement).get("token");
    useToken(typeof given === "string" ? given.trim() : "");
  };
  return html`
    <form class="stack" onSubmit=${submit}>
      ${identity.value &&
      html`<dl class="facts">
        <dt>Principal</dt>
        <dd>${principal ?? "none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${roles.join(", ") || "none"}</dd>
        <dt>Expires</dt>
        <dd>${expires ?? "never"}</dd>
      </dl>`}
      ${refusal.value && token.value && html`<p class="error" role="alert">The server refused a request: ${refusal.value.message}</p>`}
      <label class="search">Bearer token <input name="token" type="password" autocomplete="off" required autofocus /></label>
      <p class="note">It stays in this tab until the tab is closed.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${token.value && html`<button type="button" class="quiet" onClick=${() => useToken("")}>Forget the token</button>`}
      </div>
    </form>
  `;
}
