/** What the hooks share: the client of the components around, and live queries that several components show. */

import { createContext, useCallback, useContext, useMemo, useSyncExternalStore } from "react";

import type { Client } from "./client.js";
import type { LiveQuery, StreamOptions } from "./live.js";
import type { OneAnswer } from "./one-answer.js";
import { OptimisticRows, type InitialRows, type OptimisticState, type RowChange } from "./optimistic.js";
import { SharedValues } from "./shared-values.js";
import type { Long } from "./wire.js";

/** `idle`: there is no query. */
export interface UseLiveState<Row> extends Omit<OptimisticState<Row>, "status"> {
  readonly status: OptimisticState<Row>["status"] | "idle";
  /** Opens a live query again that has failed. */
  readonly retry: () => void;
  /**
   * Shows a change at once, in all components with this query, and makes it: `commit` is the transaction. The change stays
   * until the live query has come to the transaction's `t`; if that is refused, it is taken back, and the error thrown.
   */
  readonly mutate: <Report extends { readonly t: Long }>(change: RowChange<Row>, commit: () => Promise<Report>) => Promise<Report>;
}

/** Options of every hook. */
export interface Shown {
  /** In place of the provider's. */
  readonly client?: Client;
  /** How long a query is kept after its last component was unmounted; 250 ms by default. */
  readonly lingerMs?: number;
}

/** Rows to begin with; with `resume` the live query goes on where they were. */
export type Since<Row> = InitialRows<Row> & { readonly resume?: string | undefined };

export const ClientContext = createContext<Client | undefined>(undefined);

export function useGiven(given: Client | undefined): Client {
  const provided = useContext(ClientContext);
  const client = given ?? provided;
  if (client === undefined) throw new Error("no client: put an <AdalogProvider client={…}> around this component");
  return client;
}

/**
 * The state of a live query that all components with the same `id` share; `idle` without one. `start` makes it for the first of them,
 * with the options to go on from `since`.
 */
export function useShown<Row>(
  client: Client,
  id: string | null,
  start: (options: StreamOptions<Row>) => LiveQuery<Row>,
  since: Since<Row> | undefined,
  lingerMs: number,
): UseLiveState<Row> {
  const { lives } = shared(client);
  const subscribe = useCallback(
    // What the first component begins with, all begin with.
    (listener: () => void) => (id === null ? () => {} : lives.subscribe(id, () => new SharedLive(start, since) as SharedLive<unknown>, lingerMs, listener)),
    // `id` says all that `start` depends on.
    [client, lives, id, lingerMs],
  );
  const first = useMemo(() => (since === undefined ? LOADING : begun(since)), [since]);
  const state = useCallback(() => (id === null ? IDLE : (lives.get(id)?.getState() ?? first)), [lives, id, first]);
  return useSyncExternalStore(subscribe, state, () => (id === null ? IDLE : first)) as UseLiveState<Row>;
}

export const LINGER_MS = 250;
export const nothing = () => {};
const LOADING: UseLiveState<unknown> = {
  rows: [],
  columns: [],
  basisT: undefined,
  resume: undefined,
  error: undefined,
  warnings: [],
  pending: 0,
  status: "loading",
  retry: nothing,
  mutate: (_, commit) => commit(),
};
const IDLE: UseLiveState<unknown> = { ...LOADING, status: "idle" };

/** What is shown of rows to begin with, before the live query is there. */
function begun({ rows, columns, basisT, resume }: Since<unknown>): UseLiveState<unknown> {
  return { ...LOADING, rows, columns, basisT, resume, status: "stale" };
}

/** A live query with what its components can do to it. */
class SharedLive<Row> {
  readonly #live: LiveQuery<Row>;
  readonly #rows: OptimisticRows<Row>;
  #of: OptimisticState<Row> | undefined;
  #state: UseLiveState<Row> | undefined;
  readonly subscribe: OptimisticRows<Row>["subscribe"];

  constructor(start: (options: StreamOptions<Row>) => LiveQuery<Row>, since: Since<Row> | undefined) {
    const { resume } = since ?? {};
    this.#live = start(since === undefined || resume === undefined ? {} : { since: { ...since, resume } });
    this.#rows = new OptimisticRows(this.#live, since);
    this.subscribe = this.#rows.subscribe;
  }

  readonly getState = (): UseLiveState<Row> => {
    const state = this.#rows.getState();
    if (this.#state === undefined || state !== this.#of) {
      this.#of = state;
      this.#state = { ...state, retry: this.#live.retry, mutate: this.#rows.mutate };
    }
    return this.#state;
  };

  close(): void {
    this.#live.close();
  }
}

export interface SharedByClient {
  readonly lives: SharedValues<SharedLive<unknown>>;
  readonly answers: SharedValues<OneAnswer<unknown>>;
}

const byClient = new WeakMap<Client, SharedByClient>();

export function shared(client: Client): SharedByClient {
  let found = byClient.get(client);
  if (found === undefined) byClient.set(client, (found = { lives: new SharedValues(), answers: new SharedValues() }));
  return found;
}
