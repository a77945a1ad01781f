/** The client: queries and transactions over HTTP, live queries over one connection for all. */

import { jsonArguments, namedArguments, type Argument } from "./arguments.js";
import { delay, sleep, type Backoff } from "./backoff.js";
import type { Token } from "./credentials.js";
import { ednText, queryText, type Edn } from "./edn.js";
import { AdalogError, isTransient } from "./errors.js";
import { answerOf, post, type Endpoint, type Fetch, type Headers } from "./http.js";
import { ednSource, LiveQuery, type LiveOptions, type LiveSource, type StreamOptions } from "./live.js";
import { follow, type LogEntry, type LogOptions } from "./log.js";
import { SILENCE_MS, warningsOf } from "./links.js";
import { explained } from "./origins.js";
import { SeenBasis } from "./seen-basis.js";
import { silence } from "./silence.js";
import { transportOf, type TransportOptions } from "./transports.js";
import { after, type Basis, type Column, type Encoding, type FieldWarning, type Json, type Long, type Operation, type Warning } from "./wire.js";

export interface ClientOptions extends TransportOptions {
  /** Of the GraphQL endpoint, as `https://db.example.org/graphql`. */
  readonly url: string;
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /**
   * A bearer token, or a function that returns the current one. The function is called again before the token expires, and with the
   * token that the server has refused: if it returns another one, the request is repeated, once.
   */
  readonly token?: Token;
  readonly fetch?: Fetch;
  /** How long to wait before the next connection or the repetition of a request. By default at most 250 ms, then up to 30 s. */
  readonly backoff?: Partial<Backoff>;
  /** How long a query is repeated while the server is away or busy, in milliseconds; 60,000 by default. */
  readonly queryRetryMs?: number;
  /** Called before a request is repeated, if the request has no `onRetry` of its own. */
  readonly onRetry?: OnRetry;
}

/** Why a request is repeated, and after how long. */
export interface Retry {
  readonly error: AdalogError;
  /** 1 for the first repetition. */
  readonly attempt: number;
  readonly delayMs: number;
}

export type OnRetry = (retry: Retry) => void;

/** Options of queries and transactions. */
export interface RequestOptions {
  /** Rejects with its reason when aborted. */
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: OnRetry | undefined;
}

export interface QueryOptions extends RequestOptions {
  /** Arguments as EDN texts, in place of `args`. */
  readonly argsEdn?: readonly string[];
  readonly basis?: Basis;
  /** Transaction data to apply before reading, for this query alone. */
  readonly with?: string | Edn;
  readonly first?: number;
  readonly after?: string;
  readonly encoding?: Encoding;
  readonly engine?: "AUTO" | "LOCAL" | "SPARK";
  readonly timeoutMs?: number;
}

export interface QueryResult<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column[];
  /** The answer in the shape of its find spec. */
  readonly value: Json;
  readonly basisT: Long;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly warnings: readonly Warning[];
}

export interface TransactOptions extends RequestOptions {
  /** Values for the variables of the text, by their names: `{ title: "x" }` for `?title`. */
  readonly args?: Readonly<Record<string, Argument>>;
  /** Fails with BASIS_CONFLICT if a later transaction was committed. */
  readonly expectedBasisT?: Long;
  /** Transactions with the same key are applied once. By default each call has a new key. */
  readonly idempotencyKey?: string;
  readonly encoding?: Encoding;
}

export interface TxReport {
  readonly t: Long;
  readonly basisBefore: Long;
  readonly txInstant: string;
  readonly tempids: { readonly [tempid: string]: Long };
  readonly warnings: readonly Warning[];
}

/** No answer is older than the newest answer, report or event that the client has had, whichever gateway answers. */
export interface Client {
  /** Runs an EDN query. It is repeated while the server is away, for as long as `queryRetryMs` allows. */
  query<Row = Json[]>(query: string, args?: readonly Argument[], options?: QueryOptions): Promise<QueryResult<Row>>;
  /**
   * Applies EDN transaction data, once: it is repeated with its idempotency key until the server answers, however long that
   * takes, or `signal` is aborted.
   */
  transact(tx: string | Edn, options?: TransactOptions): Promise<TxReport>;
  /** Subscribes to an EDN query. */
  live<Row = Json[]>(query: string, args?: readonly Argument[], options?: LiveOptions<Row>): LiveQuery<Row>;
  /** Subscribes to any source of rows; `liveList` of `@adalog/client/typed` makes one of a typed subscription. */
  follow<Row>(source: LiveSource<Row>, options?: StreamOptions<Row>): LiveQuery<Row>;
  /** The transactions from a number on, each once and in order, until the loop is left. */
  transactions(options?: LogOptions): AsyncGenerator<LogEntry, void, undefined>;
  /** Any other GraphQL query or mutation, sent once; its `data`. */
  graphql<Data>(document: string, variables?: Record<string, unknown>, options?: GraphqlOptions): Promise<Data>;
}

export interface GraphqlOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the warnings of fields that have no place for them, such as `pull` and `pullMany`; not without warnings. */
  readonly onWarnings?: (warnings: readonly FieldWarning[]) => void;
}

const QUERY =
  "query Q($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $first: Int, $after: String, " +
  "$encoding: Encoding!, $engine: Engine!, $timeoutMs: Int) { q(query: $query, args: $args, argsEdn: $argsEdn, basis: $basis, " +
  "with: $with, first: $first, after: $after, encoding: $encoding, engine: $engine, timeoutMs: $timeoutMs) " +
  "{ rows columns { name type } value basisT pageInfo { hasNextPage endCursor } warnings { code message line column } } }";

const transaction = (type: string, argument: string) =>
  `mutation Transact($tx: EDN!, ${type}$expectedBasisT: Long, $idempotencyKey: String, $encoding: Encoding!) ` +
  `{ transact(tx: $tx, ${argument}expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: $encoding) ` +
  "{ t basisBefore txInstant tempids warnings { code message line column } } }";
const TRANSACT = transaction("", "");
const TRANSACT_WITH_ARGS = transaction("$args: JSON, ", "args: $args, ");

export function createClient(options: ClientOptions): Client {
  const onWarning = once(warningsOf(options));
  const given: Endpoint = {
    url: options.url,
    headers: options.headers ?? {},
    token: options.token,
    // Called as a plain function: a browser's own must not have another `this`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  };
  const endpoint = explained(given, onWarning);
  const backoff: Backoff = { minMs: 250, maxMs: 30_000, ...options.backoff };
  const queryRetryMs = options.queryRetryMs ?? 60_000;
  const silenceMs = options.silenceMs ?? SILENCE_MS;
  const seen = new SeenBasis(queryRetryMs / 2);
  const transport = seen.over(transportOf({ ...options, onWarning }, endpoint, backoff));

  /** Sends an operation once. `mostMs`: without a byte for so long, it counts as lost. */
  async function attempted<Data>(operation: Operation, signal: AbortSignal | undefined, mostMs: number): Promise<Data> {
    const watch = silence(mostMs, signal);
    try {
      const response = await post(endpoint, operation, ACCEPT, watch.signal);
      watch.heard();
      return (await answerOf<Data>(response, watch.signal, watch.heard)).data;
    } finally {
      watch.stop();
    }
  }

  /** `retryMs`: no repetition begins later than that. `timeoutMs`: how long the server may take. */
  async function repeated<Data>(
    operation: () => Operation,
    { signal, onRetry = options.onRetry, timeoutMs = TIMEOUT_MS }: RequestOptions & { readonly timeoutMs?: number },
    retryMs: number,
  ): Promise<Data> {
    const end = Date.now() + retryMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attempted<Data>(operation(), signal, timeoutMs + silenceMs);
      } catch (error) {
        if (!(error instanceof AdalogError) || !isTransient(error)) throw error;
        seen.refused(error);
        const delayMs = delay(backoff, attempt - 1, error.retryAfter);
        if (Date.now() + delayMs > end) throw error;
        onRetry?.({ error, attempt, delayMs });
        await sleep(delayMs, error.retryAfter === undefined, signal);
      }
    }
  }

  return {
    async query<Row>(query: string, args: readonly Argument[] = [], { signal, onRetry, ...more }: QueryOptions = {}) {
      const json = jsonArguments(args);
      const variables = {
        query: queryText(query),
        encoding: "PLAIN",
        engine: "AUTO",
        ...more,
        ...(more.with === undefined ? {} : { with: ednText(more.with, "with") }),
        ...(more.argsEdn === undefined && json.length > 0 ? { args: json } : {}),
      };
      const { basis, after, with: speculative } = more;
      // A basis and a page are of the moment that they name.
      const isNewest = basis?.t === undefined && basis?.asOf === undefined && after === undefined;
      const least = isNewest ? seen.t : undefined;
      const operation = { query: QUERY, variables };
      const current = () => (isNewest ? seen.onto(operation) : operation);
      const { q } = await repeated<{ q: QueryResult<Row> }>(current, { signal, onRetry, ...timeout(more) }, queryRetryMs);
      // Of data that were only tried, the basis is none that there is.
      if (speculative === undefined) seen.saw(q.basisT, least);
      return q;
    },

    async transact(tx, { signal, onRetry, args, ...more } = {}) {
      const given = args === undefined ? {} : { args: namedArguments(args) };
      const variables = { tx: ednText(tx, "transact"), encoding: "PLAIN", ...more, ...given, idempotencyKey: more.idempotencyKey ?? randomKey() };
      const query = args === undefined ? TRANSACT : TRANSACT_WITH_ARGS;
      // A transaction with a key of the caller may have been applied long ago.
      const least = more.idempotencyKey === undefined ? seen.t : undefined;
      const { transact } = await repeated<{ transact: TxReport }>(() => ({ query, variables }), { signal, onRetry }, FOR_GOOD);
      seen.saw(transact.t, least);
      return transact;
    },

    live<Row>(query: string, args: readonly Argument[] = [], live: LiveOptions<Row> = {}) {
      return new LiveQuery(ednSource(queryText(query), jsonArguments(args), live), live, transport, backoff);
    },

    follow<Row>(source: LiveSource<Row>, options: StreamOptions<Row> = {}) {
      return new LiveQuery(source, options, transport, backoff);
    },

    async *transactions(options = {}) {
      // Transactions that come before the first connection is made belong to the log, too.
      const now = () => seen.onto({ query: "{ database { basisT } }", variables: {} });
      const from = options.from ?? after((await repeated<Now>(now, options, FOR_GOOD)).database.basisT);
      yield* follow(from, options, transport, backoff);
    },

    async graphql<Data>(document: string, variables = {}, { signal, onWarnings }: GraphqlOptions = {}) {
      const response = await post(endpoint, seen.onto({ query: document, variables }), ACCEPT, signal);
      const { data, warnings } = await answerOf<Data>(response, signal);
      if (!SPECULATIVE.test(document)) seen.sawIn(data);
      if (warnings.length > 0) onWarnings?.(warnings);
      return data;
    },
  };
}

/** Each warning once: the page and the worker that tabs share may have the same one, again and again. */
function once(warn: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message)) return;
    said.add(message);
    warn(message);
  };
}

interface Now {
  readonly database: { readonly basisT: Long };
}

/** The server's own limit for a query, unless it is set otherwise. */
const TIMEOUT_MS = 30_000;
/** An answer of data that were only tried has a basis that the database may never have. */
const SPECULATIVE = /\bwith\s*:/;

function timeout({ timeoutMs }: QueryOptions): { readonly timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

const FOR_GOOD = Number.POSITIVE_INFINITY;

const ACCEPT = "application/graphql-response+json, application/json;q=0.9";

/** 128 random bits; `crypto.randomUUID` is there only for pages of a secure origin. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(16).padStart(8, "0")).join("");
}
