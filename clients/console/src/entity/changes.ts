/** Changes as a list: when, by whom, and what came or went. */

import { html } from "../parts/html.js";
import { Time } from "../parts/time.js";
import { Value } from "../parts/value.js";
import { attribute } from "../server/database.js";
import type { Change } from "./history.js";
import type { Labels } from "./labels.js";

export interface ChangesProperties {
  readonly changes: readonly Change[];
  readonly labels?: Labels | undefined;
  /** Says which attribute changed, where the list is of several. */
  readonly hasAttributes?: boolean;
}

export function Changes({ changes, labels, hasAttributes = false }: ChangesProperties) {
  if (changes.length === 0) return html`<p class="note">No changes.</p>`;
  return html`<ol class="change-list">
    ${changes.map(
      ({ attribute: ident, value, isAdded, t, transaction, instant, principal }) => html`
        <li key=${`${ident} ${transaction} ${isAdded} ${String(value)}`} class=${isAdded ? "added" : "retracted"}>
          <span class="change-when"><${Time} text=${instant} /> ${principal !== null && html`<span>by ${principal}</span>`}</span>
          <span class="change-what">
            <span aria-hidden="true" class="sign">${isAdded ? "+" : "−"}</span><span class="hidden">${isAdded ? "asserted" : "retracted"}</span>
            ${hasAttributes && html`<code>${ident}</code>`}
            <${Value} value=${value} type=${attribute(ident)?.valueType ?? undefined} label=${labels?.get(String(value))?.text} />
          </span>
          <${Value} value=${transaction} type="ref" label=${`t ${t}`} />
        </li>
      `,
    )}
  </ol>`;
}
