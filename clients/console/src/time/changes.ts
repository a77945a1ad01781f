/** What changed in the answer between two moments: rows that came and rows that went are marked. */

import { useEffect, useRef, useState } from "preact/hooks";
import { showMarked } from "../ask/marks.js";
import { ended, question } from "../ask/state.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { ARBITRARY } from "../server/answers.js";
import { refresh } from "../server/database.js";
import { newestT } from "./as-of.js";
import { compare, onlyChanges, type Comparison } from "./compare.js";
import { localField } from "./dates.js";
import { TransactionTime } from "./transaction-time.js";
import { transactionAt } from "./transactions.js";

export function Changes() {
  const newest = newestT();
  const [from, setFrom] = useState(Math.max(0, newest - 1));
  const [to, setTo] = useState(newest);
  const [isOnly, setOnly] = useState(true);
  const [found, setFound] = useState<Comparison>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => void refresh().catch(() => undefined), []);
  const show = (comparison: Comparison, only: boolean) => showMarked(only ? onlyChanges(comparison) : comparison.answer, comparison.marks);
  const ask = async () => {
    running.current?.abort();
    const { signal } = (running.current = new AbortController());
    setBusy(true);
    setError(undefined);
    try {
      const comparison = await compare(question.peek(), Math.min(from, to), Math.max(from, to), signal);
      setFound(comparison);
      show(comparison, isOnly);
    } catch (failed) {
      if (!signal.aborted) setError(failed);
    } finally {
      if (!signal.aborted) setBusy(false);
    }
  };
  // A question that was run anew is compared anew.
  useEffect(() => void ask(), [ended.value]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void ask();
  };
  const choose = (event: Event) => {
    const only = (event.target as HTMLInputElement).checked;
    setOnly(only);
    if (found) show(found, only);
  };
  return html`
    <form class="row compare" onSubmit=${submit}>
      <${MomentField} label="From" t=${from} newest=${newest} onChange=${setFrom} />
      <${MomentField} label="To" t=${to} newest=${newest} onChange=${setTo} />
      <button type="submit" disabled=${isBusy}>Compare</button>
      <label><input type="checkbox" checked=${isOnly} onChange=${choose} /> Only what differs</label>
      <span role="status">${found && !isBusy && html`<span class="came">${found.added.toLocaleString()} added</span>, <span class="went">${found.retracted.toLocaleString()} retracted</span>`}</span>
    </form>
    ${found?.isArbitrary && !isBusy && html`<p class="note">${ARBITRARY}</p>`}
    <${Failure} error=${error} />
  `;
}

interface MomentFieldProperties {
  readonly label: string;
  readonly t: number;
  readonly newest: number;
  readonly onChange: (t: number) => void;
}

/** A transaction, by number or by a date and time. */
function MomentField({ label, t, newest, onChange }: MomentFieldProperties) {
  const [error, setError] = useState<unknown>();
  const byNumber = (event: Event) => {
    const given = Number((event.target as HTMLInputElement).value);
    if (given >= 0) onChange(Math.min(given, newest));
  };
  const byDate = (event: Event) => {
    const date = new Date((event.target as HTMLInputElement).value);
    setError(undefined);
    if (!Number.isNaN(date.getTime())) transactionAt(date).then(onChange, setError);
  };
  return html`
    <fieldset class="moment-field">
      <legend>${label}</legend>
      <label>t <input type="number" class="t" min="0" max=${newest} value=${t} onChange=${byNumber} /></label>
      <${TransactionTime} t=${t} />
      <input type="datetime-local" step="1" aria-label=${`${label}: a date and time`} max=${localField(new Date())} onChange=${byDate} />
      <${Failure} error=${error} />
    </fieldset>
  `;
}
