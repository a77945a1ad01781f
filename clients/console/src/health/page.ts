import { html } from "../parts/html.js";

export function Health() {
  return html`<h1>Health</h1>`;
}
