/** The answer as of an earlier moment: a slider over transactions, a date and time, and play. */

import type { Long } from "@adalog/client";
import { useEffect, useId, useState } from "preact/hooks";
import { answer, basis } from "../ask/state.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { database, refresh } from "../server/database.js";
import { localField } from "./dates.js";
import { PlayButton } from "./play-button.js";
import { askAt } from "./stepping.js";
import { Ticks } from "./ticks.js";
import { TransactionTime } from "./transaction-time.js";
import { transactionAt } from "./transactions.js";

export function AsOf() {
  const id = useId();
  const [error, setError] = useState<unknown>();
  const newest = newestT();
  const shown = answer.value?.basisT;
  const chosen = basis.value?.t ?? shown ?? newest;
  const t = Number(chosen);
  useEffect(() => void refresh().catch(() => undefined), []);
  const slide = (event: Event) => askAt(Number((event.target as HTMLInputElement).value));
  const byDate = (event: Event) => {
    const date = new Date((event.target as HTMLInputElement).value);
    setError(undefined);
    if (!Number.isNaN(date.getTime())) transactionAt(date).then(askAt, setError);
  };
  return html`
    <div class="row as-of">
      <button type="button" class="quiet" aria-label="The transaction before" disabled=${t <= 0} onClick=${() => askAt(t - 1)}>◀</button>
      <div class="slider-box">
        <input
          type="range"
          class="slider"
          aria-label="Transaction"
          aria-valuetext=${`transaction ${t} of ${newest}`}
          min="0"
          max=${newest}
          step="1"
          value=${t}
          onInput=${slide}
        />
        <${Ticks} newest=${newest} />
      </div>
      <button type="button" class="quiet" aria-label="The transaction after" disabled=${t >= newest} onClick=${() => askAt(t + 1)}>▶</button>
      <label>t <input type="number" class="t" aria-label="Transaction number" min="0" max=${newest} value=${t} onChange=${slide} /></label>
      <span class="note">of ${newest.toLocaleString()}</span>
      <${TransactionTime} t=${t} />
      <label for=${id} class="hidden">As of a date and time</label>
      <input id=${id} type="datetime-local" step="1" title="As of a date and time, of this computer's time zone" onChange=${byDate} max=${localField(new Date())} />
      <${PlayButton} from=${t} to=${newest} />
    </div>
    <${Failure} error=${error} />
  `;
}

/** The newest transaction that the page has heard of. */
export function newestT(): number {
  const all: (Long | undefined)[] = [database.value?.basisT, answer.value?.basisT];
  return Math.max(0, ...all.map((t) => Number(t ?? 0)));
}
