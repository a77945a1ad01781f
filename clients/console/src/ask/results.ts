/** The answer: its figures, and the views that it has. */

import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Table } from "../table/table.js";
import { answer, ended, failure, isRunning } from "./state.js";

export function Results() {
  const shown = answer.value;
  return html`
    <section class="results" aria-label="Answer" aria-busy=${isRunning.value} data-ended=${ended.value}>
      <${Failure} error=${failure.value} />
      ${shown &&
      html`
        <p class="note" role="status">
          ${shown.rows.length.toLocaleString()} rows at t ${shown.basisT} in ${shown.stats.elapsedMs.toFixed(1)} ms, ${shown.stats.engine.toLowerCase()},
          cache ${shown.stats.cache.toLowerCase()}
        </p>
        <${Table} label="Answer" columns=${shown.columns} rows=${shown.rows} />
      `}
    </section>
  `;
}
