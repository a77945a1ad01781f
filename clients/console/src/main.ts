/** The console: the page at /. */

import { render } from "preact";
import { html } from "./parts/html.js";
import { Shell } from "./shell/shell.js";

const root = document.getElementById("console");
if (root) {
  root.replaceChildren();
  render(html`<${Shell} />`, root);
}
