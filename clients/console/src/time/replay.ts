/** Plays the answer through the transactions that change it: a stream from an earlier transaction on, a step at a time. */

import { signal } from "@preact/signals";
import type { LiveChange, LiveQuery, Long } from "@adalog/client";
import { showMarked } from "../ask/marks.js";
import { basis } from "../ask/state.js";
import type { Question, Row } from "../server/answers.js";
import { client } from "../server/client.js";
import type { Mark } from "../table/table.js";

const STEP_MS = 900;
// How often it is looked whether the stream has reached the end.
const LOOK_MS = 100;

export class Replay {
  readonly isPaused = signal(false);
  readonly steps = signal(0);
  readonly error = signal<unknown>(undefined);
  readonly isOver = signal(false);

  readonly #question: Question;
  readonly #to: number;
  readonly #live: LiveQuery<Row>;
  readonly #changes: LiveChange<Row>[] = [];
  #rows: Row[] = [];
  #timer: number | undefined;

  constructor({ query, argsEdn, as }: Question, from: number, to: number) {
    this.#question = { query, argsEdn, as };
    this.#to = to;
    this.#live = client.live<Row>(query, [], {
      ...(argsEdn.length > 0 ? { argsEdn } : {}),
      as,
      fromT: from,
      onChange: (change) => this.#changes.push(change),
    });
    this.#live.subscribe(() => {
      if (this.#live.status === "failed") this.#end(this.#live.error);
    });
    this.#wait(0);
  }

  togglePause(): void {
    this.isPaused.value = !this.isPaused.value;
    if (!this.isPaused.value) this.#wait(0);
    else window.clearTimeout(this.#timer);
  }

  close(): void {
    this.#end(undefined);
  }

  #end(error: unknown): void {
    window.clearTimeout(this.#timer);
    this.error.value = error;
    this.isOver.value = true;
    this.#live.close();
  }

  #wait(ms: number): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#step(), ms);
  }

  #step(): void {
    const change = this.#changes.shift();
    if (change !== undefined && Number(change.basisT) <= this.#to) {
      this.#show(change);
      this.#wait(STEP_MS);
    } else if (change !== undefined || Number(this.#live.basisT ?? 0) >= this.#to) {
      this.#end(undefined);
    } else {
      this.#wait(LOOK_MS);
    }
  }

  /** Rows that go stay, marked, until the next step. */
  #show({ kind, added, retracted, basisT, columns }: LiveChange<Row>): void {
    const marks = new Map<Row, Mark>();
    const isFirst = kind === "snapshot";
    const gone = new Map<Row, number>();
    for (const row of retracted) gone.set(row, (gone.get(row) ?? 0) + 1);
    const staying = isFirst ? [] : this.#rows.filter((row) => !left(gone, row));
    for (const row of isFirst ? [] : retracted) marks.set(row, "retracted");
    for (const row of isFirst ? [] : added) marks.set(row, "added");
    this.#rows = [...added, ...staying];
    if (!isFirst) this.steps.value += 1;
    this.#at(basisT);
    const rows = [...added, ...retracted, ...staying];
    const stats = { engine: "LIVE", cache: "BYPASS", elapsedMs: 0, rows: rows.length };
    const question = { ...this.#question, basis: { t: basisT } };
    showMarked({ question, columns, rows, basisT, warnings: this.#live.warnings, stats }, marks);
  }

  #at(t: Long): void {
    basis.value = { t };
  }
}

/** Whether a row is among those that go; each is counted off. */
function left(gone: Map<Row, number>, row: Row): boolean {
  const times = gone.get(row) ?? 0;
  if (times > 0) gone.set(row, times - 1);
  return times > 0;
}
