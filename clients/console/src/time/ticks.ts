/** A few dates below the slider: when the transactions there were made. The slider itself says the number. */

import { useEffect, useState } from "preact/hooks";
import { html } from "../parts/html.js";
import { localField } from "./dates.js";
import { instantsOf } from "./transactions.js";

const STEPS = 4;
// Transactions of fewer days than that are told apart by their time.
const DAYS = 3;
// The text of a first tick begins at its place so near the left end, and is centred elsewhere.
const FIRST = 0.25;

export interface Tick {
  readonly t: number;
  /** Empty where the one before has the same. */
  readonly text: string;
}

export function Ticks({ newest }: { newest: number }) {
  const [ticks, setTicks] = useState<readonly Tick[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    const ts = placesOf(newest);
    instantsOf(ts, leaving.signal).then(
      (instants) => leaving.signal.aborted || setTicks(ticksOf(instants)),
      () => undefined,
    );
    return () => leaving.abort();
  }, [newest]);
  return html`<div class="ticks" aria-hidden="true">
    ${ticks.map(({ t, text }, i) => {
      const place = i === ticks.length - 1 ? "last" : i === 0 ? (t / newest < FIRST ? "first" : "") : i * 2 === ticks.length - 1 ? "" : "between";
      return html`<span key=${t} class=${`tick ${place}`} style=${{ "--place": String(t / newest) }}>${text}</span>`;
    })}
  </div>`;
}

/** Evenly apart, from the first transaction to the newest. */
function placesOf(newest: number): readonly number[] {
  const all = Array.from({ length: STEPS + 1 }, (_, i) => Math.max(1, Math.round((newest * i) / STEPS)));
  return newest < 1 ? [] : [...new Set(all)];
}

/** A day each; where there are only a few of them, the first has its day and all have their time. */
function ticksOf(instants: ReadonlyMap<number, string>): readonly Tick[] {
  const all = [...instants].map(([t, at]) => ({ t, text: localField(new Date(at)) }));
  const days = new Set(all.map(({ text }) => text.slice(0, 10)));
  const span = Date.parse(all.at(-1)?.text ?? "") - Date.parse(all[0]?.text ?? "");
  const isShort = days.size === 1 || span < DAYS * 86_400_000;
  const texts = all.map(({ text }) => (isShort ? text.replace("T", " ").slice(0, 16) : text.slice(0, 10)));
  return all.map(({ t }, i) => ({ t, text: differing(texts[i] ?? "", texts[i - 1]) }));
}

/** Without the day where the one before has the same. */
function differing(text: string, before: string | undefined): string {
  if (text === before) return "";
  return before?.slice(0, 10) === text.slice(0, 10) ? text.slice(11) : text;
}
