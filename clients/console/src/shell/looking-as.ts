/** A line above the page while an admin looks as another identity. */

import { as, run } from "../ask/state.js";
import { html } from "../parts/html.js";

export function LookingAs() {
  const looked = as.value;
  if (looked === undefined) return null;
  const stop = () => {
    as.value = undefined;
    void run();
  };
  return html`<p class="looking-as" role="status">
    Ask shows what roles ${looked.roles.join(", ") || "none"} with claims <code>${JSON.stringify(looked.claims)}</code> see.
    <button type="button" class="quiet" onClick=${stop}>Look as yourself</button>
  </p>`;
}
