/** A form for a row that is missing: a field for each column. */

import type { Json } from "@adalog/client";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Tree } from "../parts/tree.js";
import type { Answer } from "../server/answers.js";
import { Missing } from "./missing.js";
import { questionOf, reasonOf, type Reason } from "./reason.js";
import { nodesOf } from "./steps.js";

export function WhyNot({ answer }: { answer: Answer }) {
  const id = useId();
  const [reason, setReason] = useState<Reason>();
  const [error, setError] = useState<unknown>();
  const asking = useRef<AbortController>(undefined);
  useEffect(() => () => asking.current?.abort(), []);
  const question = questionOf(answer);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    asking.current?.abort();
    const { signal } = (asking.current = new AbortController());
    const row = answer.columns.map(({ type }, i) => cellOf(String(form.get(`column-${i}`) ?? ""), type));
    setReason(undefined);
    setError(undefined);
    reasonOf(question, row, signal).then(setReason, (failed: unknown) => signal.aborted || setError(failed));
  };
  return html`
    <form class="stack why-not" onSubmit=${submit}>
      <p class="note">Which row would you expect? Its cells as the table shows them; an entity by its number.</p>
      ${answer.columns.map(
        ({ name, type }, i) => html`
          <div key=${i}>
            <label for=${`${id}-${i}`}><code>${name}</code> <span class="note">${type}</span></label>
            <input id=${`${id}-${i}`} name=${`column-${i}`} autocomplete="off" />
          </div>
        `,
      )}
      <div class="row"><button type="submit">Why not</button></div>
    </form>
    <${Failure} error=${error} />
    ${reason?.holds === false && html`<${Missing} question=${question} failed=${reason} />`}
    ${reason?.holds === true &&
    html`
      <p role="status">The answer has this row. It follows from:</p>
      <${Tree} label="What the row follows from" roots=${nodesOf(question, reason.steps)} />
    `}
  `;
}

/** What a field means in a column of a type. Text that is no such value is sent as it is: the server says what is wrong. */
export function cellOf(text: string, type: string): Json {
  if (text === "nil") return null;
  if (["string", "keyword", "symbol", "uuid", "instant", "uri", "bytes"].includes(type)) return text;
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) ? text : value;
  } catch {
    return text;
  }
}
