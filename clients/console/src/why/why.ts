/** Why a row is in the answer, as a tree at the side. */

import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Tree } from "../parts/tree.js";
import { textOf } from "../parts/value.js";
import type { Answer, Row } from "../server/answers.js";
import { Missing } from "./missing.js";
import { questionOf, reasonOf, type Reason } from "./reason.js";
import { nodesOf } from "./steps.js";

export function Why({ answer, row }: { answer: Answer; row: Row }) {
  const [reason, setReason] = useState<Reason>();
  const [error, setError] = useState<unknown>();
  const question = questionOf(answer);
  useEffect(() => {
    const leaving = new AbortController();
    reasonOf(question, row, leaving.signal).then(setReason, (failed: unknown) => leaving.signal.aborted || setError(failed));
    return () => leaving.abort();
  }, [answer, row]);
  return html`
    <dl class="facts">
      ${answer.columns.map(({ name }, i) => html`<dt key=${i}>${name}</dt><dd>${textOf(row[i]) || "nil"}</dd>`)}
    </dl>
    <${Failure} error=${error} />
    ${error === undefined && reason === undefined && html`<p class="note" role="status">Asking why…</p>`}
    ${reason?.holds === false && html`<${Missing} question=${question} failed=${reason} />`}
    ${reason?.holds === true &&
    html`
      <p class="note" role="status">
        The row follows from ${reason.steps.length} ${reason.steps.length === 1 ? "step" : "steps"}, at t ${answer.basisT}.
        ${reason.rows > 1 && ` It has ${reason.rows.toLocaleString()} derivations or rows of its group; this is one of them.`}
      </p>
      <${Tree} label="What the row follows from" roots=${nodesOf(question, reason.steps)} />
    `}
  `;
}
