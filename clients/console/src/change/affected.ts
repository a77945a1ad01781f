/** The queries of the history that a dry run would answer otherwise, with how many rows come and go; each opens its difference. */

import { useEffect, useState } from "preact/hooks";
import { html } from "../parts/html.js";
import { openAside } from "../parts/side.js";
import { Table, type Mark } from "../table/table.js";
import type { Row } from "../server/answers.js";
import { effectsOf, type Effect, type Effects } from "./effects.js";
import type { Tried } from "./trial.js";

export function Affected({ tried }: { tried: Tried }) {
  const [effects, setEffects] = useState<Effects>();
  useEffect(() => {
    const disposal = new AbortController();
    setEffects(undefined);
    effectsOf(tried.transaction, disposal.signal).then(setEffects, () => undefined);
    return () => disposal.abort();
  }, [tried]);
  return html`
    <section class="affected" aria-label="Queries that would answer otherwise" aria-busy=${effects === undefined}>
      <h3>Queries that would answer otherwise</h3>
      <p class="note" role="status">${effects === undefined ? "Running your queries with and without the change…" : summaryOf(effects)}</p>
      ${effects !== undefined &&
      effects.differing.length > 0 &&
      html`<ul class="values stack">
        ${effects.differing.map(
          (effect, i) => html`
            <li key=${i} class="row">
              <code class="one-line">${effect.question.query}</code>
              <span class="number">+${effect.came.length.toLocaleString()} −${effect.went.length.toLocaleString()} rows</span>
              <button type="button" class="quiet small" onClick=${() => openAside("Rows that come and go", Difference, { effect })}>Show the rows</button>
            </li>
          `,
        )}
      </ul>`}
    </section>
  `;
}

function summaryOf({ differing, compared, failed, unordered }: Effects): string {
  const said = [
    `${differing.length} of ${compared} ${compared === 1 ? "query" : "queries"} of the history`,
    failed > 0 && `${failed} could not be compared`,
    unordered > 0 && `${unordered} not compared: with :limit and without :order-by an answer has any of the rows`,
  ];
  return `${said.filter(Boolean).join("; ")}.`;
}

function Difference({ effect: { question, columns, came, went } }: { effect: Effect }) {
  const marks = new Map<Row, Mark>([...came.map((row) => [row, "added"] as const), ...went.map((row) => [row, "retracted"] as const)]);
  return html`
    <pre class="wrapped"><code>${question.query}</code></pre>
    <p class="note">${came.length.toLocaleString()} rows come, ${went.length.toLocaleString()} go.</p>
    <div class="difference"><${Table} label="Rows that come and go" columns=${columns} rows=${[...marks.keys()]} marks=${marks} /></div>
  `;
}
