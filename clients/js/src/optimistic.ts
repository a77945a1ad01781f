/**
 * Rows with changes that the server has not confirmed: shown at once, settled when the live query has come to their
 * transaction, undone where the transaction is refused.
 */

import type { LiveQuery, LiveState } from "./live.js";
import { isAfter, type Long } from "./wire.js";

/** What a change makes of the rows. It is applied again to later rows until it is settled. */
export type RowChange<Row> = (rows: readonly Row[]) => readonly Row[];

export interface OptimisticState<Row> extends LiveState<Row> {
  /** How many changes `rows` shows that the server has not confirmed. While there are any, `resume` is undefined. */
  readonly pending: number;
}

/** Rows to show before the live query has some. */
export type InitialRows<Row> = Pick<LiveState<Row>, "rows" | "columns" | "basisT">;

interface Change<Row> {
  readonly change: RowChange<Row>;
  /** Its transaction, once that is answered. */
  t: Long | undefined;
}

/**
 * An event may come before the answer of the transaction that caused it. While a transaction is in flight, new rows wait for its answer
 * up to this time: otherwise a row would be shown twice, once from the server and once from the change.
 */
const HOLD_MS = 1000;

export class OptimisticRows<Row> {
  readonly #live: LiveQuery<Row>;
  readonly #initial: InitialRows<Row> | undefined;
  readonly #listeners = new Set<() => void>();
  #changes: readonly Change<Row>[] = [];
  /** The live query's state, under the changes. */
  #base: LiveState<Row>;
  #state: OptimisticState<Row> | undefined;
  #held: ReturnType<typeof setTimeout> | undefined;

  constructor(live: LiveQuery<Row>, initial?: InitialRows<Row>) {
    this.#live = live;
    this.#initial = initial;
    this.#base = this.#current();
    live.subscribe(() => {
      const waits = this.#changes.some(({ t }) => t === undefined) && live.rows !== this.#base.rows;
      if (waits) this.#held ??= setTimeout(this.#show, HOLD_MS);
      else this.#show();
    });
  }

  /** The state now; the same object until something changes. */
  readonly getState = (): OptimisticState<Row> => {
    return (this.#state ??= {
      ...this.#base,
      rows: this.#changes.reduce((rows, { change }) => change(rows), this.#base.rows),
      resume: this.#changes.length > 0 ? undefined : this.#base.resume,
      pending: this.#changes.length,
    });
  };

  /** Calls back after the state has changed. Returns what ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };

  /**
   * Shows a change, and makes it: `commit` is the transaction, whose report is returned. If it is refused the change is
   * taken back, and the error thrown.
   */
  readonly mutate = async <Report extends { readonly t: Long }>(change: RowChange<Row>, commit: () => Promise<Report>): Promise<Report> => {
    const made: Change<Row> = { change, t: undefined };
    this.#changes = [...this.#changes, made];
    try {
      this.#changed();
      const report = await commit();
      made.t = report.t;
      return report;
    } catch (error) {
      this.#changes = this.#changes.filter((each) => each !== made);
      throw error;
    } finally {
      this.#show();
    }
  };

  /** Shows the live query as it is, with the changes that it has not come to. */
  readonly #show = (): void => {
    clearTimeout(this.#held);
    this.#held = undefined;
    this.#base = this.#current();
    const { basisT } = this.#base;
    this.#changes = this.#changes.filter(({ t }) => t === undefined || basisT === undefined || isAfter(t, basisT));
    this.#changed();
  };

  #changed(): void {
    this.#state = undefined;
    // What the change of a caller throws is to be thrown here, and not where rows are rendered.
    this.getState();
    for (const listener of [...this.#listeners]) listener();
  }

  #current(): LiveState<Row> {
    const state = this.#live.getState();
    if (this.#initial === undefined || state.basisT !== undefined) return state;
    const { rows, columns, basisT } = this.#initial;
    return { ...state, rows, columns, basisT, status: state.status === "loading" ? "stale" : state.status };
  }
}
