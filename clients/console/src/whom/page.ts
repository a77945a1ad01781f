import { html } from "../parts/html.js";

export function Whom() {
  return html`<h1>Whom</h1>`;
}
