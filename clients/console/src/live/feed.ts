/** A stream that is shown: its changes are put together ten times a second at most, and wait while it is paused. */

import { signal } from "@preact/signals";
import type { LiveChange, LiveQuery, LiveState, Long } from "@adalog/client";
import { showMarked } from "../ask/marks.js";
import type { Question, Row } from "../server/answers.js";
import { client } from "../server/client.js";
import { FadingRows } from "./fading-rows.js";
import { Rates, type Rate } from "./rates.js";

const FRAME_MS = 100;

export interface Waiting {
  readonly transactions: number;
  readonly added: number;
  readonly retracted: number;
}

const NOTHING: Waiting = { transactions: 0, added: 0, retracted: 0 };

export class Feed {
  readonly state = signal<LiveState<Row> | undefined>(undefined);
  readonly rate = signal<Rate>({ added: 0, retracted: 0 });
  readonly isPaused = signal(false);
  /** What has come since it was paused. */
  readonly waiting = signal<Waiting>(NOTHING);
  /** Why the server has started over, the last time that it did. */
  readonly restart = signal<string | undefined>(undefined);

  readonly #question: Question;
  readonly #live: LiveQuery<Row>;
  readonly #rows = new FadingRows();
  readonly #rates = new Rates();
  readonly #beat: number;
  #changes: LiveChange<Row>[] = [];
  /** The transaction of the rows that are shown. */
  #t: Long = 0;
  #frame: number | undefined;

  constructor({ query, argsEdn, as }: Question) {
    this.#question = { query, argsEdn, as };
    this.#live = client.live<Row>(query, [], {
      ...(argsEdn.length > 0 ? { argsEdn } : {}),
      as,
      onChange: (change) => this.#changed(change),
      onState: (state) => {
        this.state.value = state;
        // Also where nothing came: the answer is of a newer moment.
        this.#schedule(FRAME_MS);
      },
    });
    this.#beat = window.setInterval(() => (this.rate.value = this.#rates.now()), 1000);
  }

  pause(): void {
    this.isPaused.value = true;
  }

  resume(): void {
    this.isPaused.value = false;
    this.waiting.value = NOTHING;
    this.#show();
  }

  /** Opens it again after it has failed. */
  retry(): void {
    this.#live.retry();
  }

  close(): void {
    window.clearInterval(this.#beat);
    window.clearTimeout(this.#frame);
    this.#live.close();
  }

  #changed(change: LiveChange<Row>): void {
    const { kind, added, retracted } = change;
    this.#changes.push(change);
    if (kind === "reset") this.restart.value = change.reason ?? "the server started over";
    if (kind !== "snapshot") this.#rates.count(added.length, retracted.length);
    if (!this.isPaused.value) return;
    const waiting = this.waiting.value;
    this.waiting.value = {
      transactions: waiting.transactions + 1,
      added: waiting.added + added.length,
      retracted: waiting.retracted + retracted.length,
    };
  }

  #schedule(ms: number): void {
    this.#frame ??= window.setTimeout(() => {
      this.#frame = undefined;
      this.#show();
    }, ms);
  }

  #show(): void {
    const state = this.state.value;
    if (state === undefined || state.basisT === undefined) return;
    const now = performance.now();
    let differs = this.#rows.settle(now);
    if (!this.isPaused.value) {
      this.#t = state.basisT;
      differs ||= this.#changes.length > 0;
      this.#rows.apply(this.#changes, now);
      this.#changes = [];
    }
    if (differs) this.#publish(state);
    const next = this.#rows.next();
    if (next !== undefined) this.#schedule(Math.max(FRAME_MS, next - now));
  }

  #publish({ columns, warnings }: LiveState<Row>): void {
    const { rows } = this.#rows;
    const stats = { engine: "LIVE", cache: "BYPASS", elapsedMs: 0, rows: rows.length };
    showMarked({ question: this.#question, columns, rows, basisT: this.#t, warnings, stats }, this.#rows.marks());
  }
}
