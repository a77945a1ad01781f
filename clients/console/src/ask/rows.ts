/** The answer as a table; without rows it says so. */

import { useEffect } from "preact/hooks";
import { learn } from "../entity/idents.js";
import { html } from "../parts/html.js";
import type { Answer } from "../server/answers.js";
import { Table } from "../table/table.js";
import { marksOf } from "./marks.js";
import { ROW_ACTIONS } from "./row-actions.js";
import { mode } from "./shown.js";

export function Rows({ answer }: { answer: Answer }) {
  const { columns, rows, warnings } = answer;
  useEffect(() => void learn(answer).catch(() => undefined), [answer]);
  if (rows.length > 0) return html`<${Table} label="Answer" columns=${columns} rows=${rows} marks=${marksOf(answer)} actions=${ROW_ACTIONS} />`;
  if (mode.value === "changes") return html`<p class="empty"><strong>Nothing differs.</strong> The two moments have the same rows.</p>`;
  return html`
    <div class="empty">
      <p><strong>No rows.</strong> The query ran, and nothing that you may read fits all of its clauses.</p>
      <p>
        ${warnings.length > 0 ? "The warnings above may say why. " : ""}Leave clauses out one by one, or ask for less in each, to see which of them lets nothing pass.
      </p>
    </div>
  `;
}
