/** Live queries and one-time answers as React state. Components that ask the same share what they ask for. */

import { createElement, useCallback, useMemo, useSyncExternalStore, type ReactElement, type ReactNode } from "react";

import { jsonArguments, type Argument } from "./arguments.js";
import type { Client, QueryOptions, QueryResult } from "./client.js";
import { ClientContext, LINGER_MS, nothing, shared, useGiven, useShown, type Shown, type UseLiveState } from "./hooks.js";
import type { LiveOptions, StreamOptions } from "./live.js";
import { answered, OneAnswer, type QueryState, type QueryStatus } from "./one-answer.js";
import type { InitialRows, RowChange } from "./optimistic.js";
import { canonical } from "./rows.js";
import type { Basis, Json, Long } from "./wire.js";

export type { QueryState, QueryStatus, RowChange, UseLiveState };

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

/** Gives its children the client. */
export function AdalogProvider(props: { readonly client: Client; readonly children?: ReactNode }): ReactElement {
  return createElement(ClientContext.Provider, { value: props.client }, props.children);
}

/** The client of the nearest `AdalogProvider`. */
export function useClient(): Client {
  return useGiven(undefined);
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

  const start = (resumed: StreamOptions<Row>) => {
    const { query: text, args: json, ...more } = JSON.parse(id!) as { query: string; args: Json[] } & LiveOptions<Row>;
    return client.live<Row>(text, json, { ...more, ...resumed });
  };
  return useShown<Row>(client, id, start, since, lingerMs);
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

const UNASKED = { ...answered<unknown>(undefined, nothing), status: "idle", isFetching: false } as const;

function answer(client: Client, id: string, initial: QueryResult<unknown> | undefined): OneAnswer<unknown> {
  const { query, args, ...options } = JSON.parse(id) as { query: string; args: Json[] } & QueryOptions;
  return new OneAnswer((signal) => client.query<unknown>(query, args, { ...options, signal }), initial);
}
