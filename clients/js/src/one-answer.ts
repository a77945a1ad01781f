/** The answer of a query as a state: requested once, and again on demand. */

import type { QueryResult } from "./client.js";

/** `failed`: `error` says why; an answer from before stays. */
export type QueryStatus = "loading" | "ready" | "failed";

export interface QueryState<Row> extends Omit<QueryResult<Row>, "basisT" | "pageInfo" | "value"> {
  readonly value: QueryResult<Row>["value"] | undefined;
  readonly basisT: QueryResult<Row>["basisT"] | undefined;
  readonly pageInfo: QueryResult<Row>["pageInfo"] | undefined;
  readonly status: QueryStatus;
  readonly error: Error | undefined;
  /** Whether an answer is on its way. */
  readonly isFetching: boolean;
  /** Sends the query again; a request in flight is aborted. */
  readonly refetch: () => void;
}

const NO_ANSWER = { rows: [], columns: [], value: undefined, basisT: undefined, pageInfo: undefined, warnings: [], error: undefined } as const;

export class OneAnswer<Row> {
  readonly #ask: (signal: AbortSignal) => Promise<QueryResult<Row>>;
  readonly #listeners = new Set<() => void>();
  #asking: AbortController | undefined;
  #state: QueryState<Row>;

  /** Sends the query at once, if there is no initial answer. */
  constructor(ask: (signal: AbortSignal) => Promise<QueryResult<Row>>, initial: QueryResult<Row> | undefined) {
    this.#ask = ask;
    this.#state = answered(initial, this.refetch);
    if (initial === undefined) this.refetch();
  }

  readonly getState = (): QueryState<Row> => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };

  readonly refetch = (): void => {
    this.close();
    const asking = (this.#asking = new AbortController());
    const settle = (state: QueryState<Row>) => {
      if (this.#asking === asking) this.#become(state);
    };
    const { status } = this.#state;
    this.#become({ ...this.#state, status: status === "failed" ? "loading" : status, error: undefined, isFetching: true });
    this.#ask(asking.signal).then(
      (result) => settle(answered(result, this.refetch)),
      (error: unknown) => settle({ ...this.#state, status: "failed", error: error as Error, isFetching: false }),
    );
  };

  /** Aborts a request in flight. */
  close(): void {
    this.#asking?.abort();
    this.#asking = undefined;
  }

  #become(state: QueryState<Row>): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The state with an answer, or before there is one. */
export function answered<Row>(result: QueryResult<Row> | undefined, refetch: () => void): QueryState<Row> {
  if (result === undefined) return { ...NO_ANSWER, status: "loading", isFetching: true, refetch };
  return { ...result, status: "ready", error: undefined, isFetching: false, refetch };
}
