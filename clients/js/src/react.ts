/** Live queries and one-time answers as React state. Components that ask the same share what they ask for. */

import { createContext, createElement, useCallback, useContext, useMemo, useSyncExternalStore, type ReactElement, type ReactNode } from "react";

import { jsonArguments, type Argument } from "./arguments.js";
import type { Client, QueryOptions, QueryResult } from "./client.js";
import type { LiveOptions, LiveQuery } from "./live.js";
import { answered, OneAnswer, type QueryState, type QueryStatus } from "./one-answer.js";
import { OptimisticRows, type InitialRows, type OptimisticState, type RowChange } from "./optimistic.js";
import { canonical } from "./rows.js";
import { SharedValues } from "./shared-values.js";
import type { Basis, Json, Long } from "./wire.js";

export type { QueryState, QueryStatus, RowChange };

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

interface Shown {
  /** In place of the provider's. */
  readonly client?: Client;
  /** How long a query is kept after its last component was unmounted; 250 ms by default. */
  readonly lingerMs?: number;
}

export interface UseLiveOptions<Row = Json[]> extends Pick<LiveOptions<Row>, "argsEdn" | "encoding" | "fromT">, Shown {
  /** Columns, by name or position, that tell rows apart; by default the whole row. */
  readonly key?: readonly (string | number)[];
  /**
   * Rows to begin with, from a server's render for example: an answer of `client.query`, or the state of a live query, which
   * goes on where that was.
   */
  readonly since?: InitialRows<Row> & { readonly resume?: string | undefined };
}

export interface UseQueryOptions<Row = Json[]>
  extends Omit<QueryOptions, "signal" | "onRetry">,
    Shown {
  /** The transaction or the instant of which to ask; in place of `basis`. */
  readonly asOf?: Long | Date;
  /** An answer to begin with, from a server's render for example: nothing is asked until `refetch`. */
  readonly initial?: QueryResult<Row>;
}

const ClientContext = createContext<Client | undefined>(undefined);

/** Gives its children the client. */
export function AdalogProvider(props: { readonly client: Client; readonly children?: ReactNode }): ReactElement {
  return createElement(ClientContext.Provider, { value: props.client }, props.children);
}

/** The client of the nearest `AdalogProvider`. */
export function useClient(): Client {
  return useGiven(undefined);
}

function useGiven(given: Client | undefined): Client {
  const provided = useContext(ClientContext);
  const client = given ?? provided;
  if (client === undefined) throw new Error("no client: put an <AdalogProvider client={…}> around this component");
  return client;
}

/**
 * The rows of a query, kept up to date. Rows that stay are the same objects, and `rows` is the same array until one comes
 * or goes. Without a query (`null`) nothing is asked. Arguments and options are compared by value.
 */
export function useLive<Row = Json[]>(
  query: string | null,
  args: readonly Argument[] = [],
  options: UseLiveOptions<Row> = {},
): UseLiveState<Row> {
  const { client: given, lingerMs = LINGER_MS, since, argsEdn, encoding, fromT, key } = options;
  const client = useGiven(given);
  const id = query === null ? null : canonical({ query, args: jsonArguments(args), argsEdn, encoding, fromT, key });

  const { lives } = shared(client);
  const subscribe = useCallback(
    // What the first component begins with, all begin with.
    (listener: () => void) => (id === null ? () => {} : lives.subscribe(id, () => new SharedLive(client, id, since), lingerMs, listener)),
    [client, lives, id, lingerMs],
  );
  const first = useMemo(() => (since === undefined ? LOADING : begun(since)), [since]);
  const state = useCallback(() => (id === null ? IDLE : (lives.get(id)?.getState() ?? first)), [lives, id, first]);
  return useSyncExternalStore(subscribe, state, () => (id === null ? IDLE : first)) as UseLiveState<Row>;
}

/**
 * The answer of a query, sent once; `refetch` sends it again. The request is aborted if its last component is unmounted before.
 * Without a query (`null`) nothing is asked. Arguments and options are compared by value.
 */
export function useQuery<Row = Json[]>(
  query: string | null,
  args: readonly Argument[] = [],
  options: UseQueryOptions<Row> = {},
): Omit<QueryState<Row>, "status"> & { readonly status: QueryStatus | "idle" } {
  const { client: given, lingerMs = LINGER_MS, initial, asOf, basis, with: data, ...more } = options;
  const client = useGiven(given);
  const asked = { ...more, basis: asOf === undefined ? basis : moment(asOf), with: data === undefined ? undefined : String(data) };
  const id = query === null ? null : canonical({ query, args: jsonArguments(args), ...asked });

  const { answers } = shared(client);
  const subscribe = useCallback(
    (listener: () => void) => (id === null ? () => {} : answers.subscribe(id, () => answer(client, id, initial), lingerMs, listener)),
    [client, answers, id, lingerMs],
  );
  const first = useMemo(() => answered(initial as QueryResult<unknown> | undefined, nothing), [initial]);
  const state = useCallback(() => (id === null ? UNASKED : (answers.get(id)?.getState() ?? first)), [answers, id, first]);
  return useSyncExternalStore(subscribe, state, () => (id === null ? UNASKED : first)) as ReturnType<typeof useQuery<Row>>;
}

function moment(asOf: Long | Date): Basis {
  if (asOf instanceof Date) return { asOf: asOf.toISOString() };
  return typeof asOf === "number" || /^\d+$/.test(asOf) ? { t: asOf } : { asOf };
}

const LINGER_MS = 250;
const nothing = () => {};
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
const UNASKED = { ...answered<unknown>(undefined, nothing), status: "idle", isFetching: false } as const;

/** What is shown of rows to begin with, before the live query is there. */
function begun({ rows, columns, basisT, resume }: NonNullable<UseLiveOptions<unknown>["since"]>): UseLiveState<unknown> {
  return { ...LOADING, rows, columns, basisT, resume, status: "stale" };
}

/** A live query with what its components can do to it. */
class SharedLive {
  readonly #live: LiveQuery<unknown>;
  readonly #rows: OptimisticRows<unknown>;
  #of: OptimisticState<unknown> | undefined;
  #state: UseLiveState<unknown> | undefined;
  readonly subscribe: OptimisticRows<unknown>["subscribe"];

  constructor(client: Client, id: string, since: UseLiveOptions<unknown>["since"]) {
    const { query, args, ...options } = JSON.parse(id) as { query: string; args: Json[] } & LiveOptions<unknown>;
    const { resume } = since ?? {};
    this.#live = client.live(query, args, since === undefined || resume === undefined ? options : { ...options, since: { ...since, resume } });
    this.#rows = new OptimisticRows(this.#live, since);
    this.subscribe = this.#rows.subscribe;
  }

  readonly getState = (): UseLiveState<unknown> => {
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

function answer(client: Client, id: string, initial: QueryResult<unknown> | undefined): OneAnswer<unknown> {
  const { query, args, ...options } = JSON.parse(id) as { query: string; args: Json[] } & QueryOptions;
  return new OneAnswer((signal) => client.query<unknown>(query, args, { ...options, signal }), initial);
}

interface SharedByClient {
  readonly lives: SharedValues<SharedLive>;
  readonly answers: SharedValues<OneAnswer<unknown>>;
}

const byClient = new WeakMap<Client, SharedByClient>();

function shared(client: Client): SharedByClient {
  let found = byClient.get(client);
  if (found === undefined) byClient.set(client, (found = { lives: new SharedValues(), answers: new SharedValues() }));
  return found;
}
