/** Between a question and its answer: which moment is shown. */

import { mode, type Mode } from "../ask/shown.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { choose } from "./moment.js";

const MODES: readonly (readonly [Mode, string, string])[] = [
  ["newest", "Newest", "The newest state of the database"],
  ["asOf", "As of…", "The answer at an earlier moment"],
  ["changes", "Changes…", "What differs between two moments"],
  ["live", "Live", "The answer as a stream: rows come and go"],
];

const CONTROLS = {
  asOf: later(async () => (await import("./as-of.js")).AsOf),
  changes: later(async () => (await import("./changes.js")).Changes),
  live: later(async () => (await import("../live/controls.js")).LiveControls),
};

export function MomentChoice() {
  return html`
    <div class="row segments" role="group" aria-label="Moment of the answer">
      ${MODES.map(
        ([name, title, hint]) =>
          html`<button type="button" key=${name} class="quiet" title=${hint} aria-pressed=${mode.value === name} onClick=${() => choose(name)}>${title}</button>`,
      )}
    </div>
  `;
}

export function MomentControls() {
  const shown = mode.value;
  return shown === "newest" ? null : html`<section class="moment" aria-label="Moment"><${CONTROLS[shown]} key=${shown} /></section>`;
}
