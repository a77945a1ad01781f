import { html } from "../parts/html.js";

export function Change() {
  return html`<h1>Change</h1>`;
}
