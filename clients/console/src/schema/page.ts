import { html } from "../parts/html.js";

export function Schema() {
  return html`<h1>Schema</h1>`;
}
