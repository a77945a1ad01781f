/** As whom: an admin looks as any identity, sees what policies say, and tries a change of them. */

import { html } from "../parts/html.js";
import { Identities } from "./identities.js";
import { Policies } from "./policies.js";
import { Trial } from "./trial.js";
import { Visibility } from "./visibility.js";

export function Whom() {
  return html`
    <div class="whom">
      <h1>As whom</h1>
      <${Identities} />
      <${Policies} />
      <${Visibility} />
      <${Trial} />
    </div>
  `;
}
