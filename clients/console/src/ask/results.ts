/** The answer: its figures, and the views that it has. */

import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import type { Answer } from "../server/answers.js";
import { Table } from "../table/table.js";
import { mode } from "../time/moment.js";
import { openWhyNot } from "../why/open.js";
import { marksOf } from "./marks.js";
import { ROW_ACTIONS } from "./row-actions.js";
import { answer, ended, failure, isRunning } from "./state.js";

export function Results() {
  const shown = answer.value;
  return html`
    <section class="results" aria-label="Answer" aria-busy=${isRunning.value} data-ended=${ended.value}>
      <${Failure} error=${failure.value} />
      ${shown &&
      html`
        <div class="row">
          ${mode.value !== "live" && html`<${Figures} answer=${shown} />`}
          <button type="button" class="quiet small" onClick=${() => openWhyNot(shown)}>Why not…</button>
        </div>
        <${Table} label="Answer" columns=${shown.columns} rows=${shown.rows} marks=${marksOf(shown)} actions=${ROW_ACTIONS} />
      `}
    </section>
  `;
}

function Figures({ answer: { rows, basisT, stats } }: { answer: Answer }) {
  return html`<p class="note" role="status">
    ${rows.length.toLocaleString()} rows at t ${basisT} in ${stats.elapsedMs.toFixed(1)} ms, ${stats.engine.toLowerCase()}, cache ${stats.cache.toLowerCase()}
  </p>`;
}
