/** The client: queries and transactions over HTTP, live queries over server-sent events or a WebSocket. */

import { jsonArguments, type Argument } from "./arguments.js";
import { delay, sleep, type Backoff } from "./backoff.js";
import type { Edn } from "./edn.js";
import { AdalogError, isTransient } from "./errors.js";
import { answerOf, post, type Endpoint, type Fetch, type Headers, type Token } from "./http.js";
import { LiveQuery, type LiveOptions } from "./live.js";
import { after, follow, type LogEntry, type LogOptions } from "./log.js";
import { SeenBasis } from "./seen-basis.js";
import { serverSentEvents, webSocket, type Transport, type WebSocketClient } from "./transport.js";
import type { Basis, Column, Encoding, FieldWarning, Json, Long, Operation, Warning } from "./wire.js";

export interface ClientOptions {
  /** Of the GraphQL endpoint, as `https://db.example.org/graphql`. */
  readonly url: string;
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /**
   * A bearer token, or what gives the current one. A function is asked again where its token was refused, with that token:
   * if it gives another one the request is repeated, once.
   */
  readonly token?: Token;
  readonly fetch?: Fetch;
  /** A client of `graphql-ws`: live queries then share its WebSocket. */
  readonly webSocket?: WebSocketClient;
  /** How long to wait before a connection is made anew, or a request repeated. By default at most 250 ms, then up to 30 s. */
  readonly backoff?: Partial<Backoff>;
  /** For so long a query is repeated that the server does not answer or cannot take just then; 60 s by default. */
  readonly queryRetryMs?: number;
  /** Is told before a request is repeated, as `onRetry` of a request. */
  readonly onRetry?: OnRetry;
  /** After so long without a byte an event stream counts as lost; 60 s by default. */
  readonly silenceMs?: number;
}

/** Why a request is repeated, and after how long. */
export interface Retry {
  readonly error: AdalogError;
  /** 1 for the first repetition. */
  readonly attempt: number;
  readonly delayMs: number;
}

export type OnRetry = (retry: Retry) => void;

/** What ends a request, and what is told while it is repeated. */
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
  /** Fails with BASIS_CONFLICT where anything was committed since. */
  readonly expectedBasisT?: Long;
  /** What is sent again with the same key is applied once. By default each call has a key of its own. */
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

/** No answer is older than what the client has seen, in answers, reports and events, whichever gateway answers. */
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
  /** Every transaction from one on, each once; ends where the loop is left. */
  transactions(options?: LogOptions): AsyncGenerator<LogEntry, void, undefined>;
  /** Any other GraphQL query or mutation, sent once; its `data`. */
  graphql<Data>(document: string, variables?: Record<string, unknown>, options?: GraphqlOptions): Promise<Data>;
}

export interface GraphqlOptions {
  readonly signal?: AbortSignal | undefined;
  /** Is told of fields that cannot carry their warnings themselves, `pull` and `pullMany` for two; not where there are none. */
  readonly onWarnings?: (warnings: readonly FieldWarning[]) => void;
}

const QUERY =
  "query Q($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $first: Int, $after: String, " +
  "$encoding: Encoding!, $engine: Engine!, $timeoutMs: Int) { q(query: $query, args: $args, argsEdn: $argsEdn, basis: $basis, " +
  "with: $with, first: $first, after: $after, encoding: $encoding, engine: $engine, timeoutMs: $timeoutMs) " +
  "{ rows columns { name type } value basisT pageInfo { hasNextPage endCursor } warnings { code message line column } } }";

const TRANSACT =
  "mutation Transact($tx: EDN!, $expectedBasisT: Long, $idempotencyKey: String, $encoding: Encoding!) " +
  "{ transact(tx: $tx, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: $encoding) " +
  "{ t basisBefore txInstant tempids warnings { code message line column } } }";

export function createClient(options: ClientOptions): Client {
  const endpoint: Endpoint = {
    url: options.url,
    headers: options.headers ?? {},
    token: options.token,
    // Called as a plain function: a browser's own must not have another `this`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  };
  const backoff: Backoff = { minMs: 250, maxMs: 30_000, ...options.backoff };
  const queryRetryMs = options.queryRetryMs ?? 60_000;
  const seen = new SeenBasis();
  const transport: Transport = seen.over(
    options.webSocket === undefined
      ? serverSentEvents(endpoint, options.silenceMs ?? 60_000)
      : webSocket(options.webSocket),
  );

  async function send<Data>(operation: Operation, { signal, onWarnings }: GraphqlOptions): Promise<Data> {
    const { data, warnings } = await answerOf<Data>(await post(endpoint, operation, ACCEPT, signal), signal);
    if (warnings.length > 0) onWarnings?.(warnings);
    return data;
  }

  /** `retryMs`: no repetition begins later than that. */
  async function repeated<Data>(
    operation: Operation,
    { signal, onRetry = options.onRetry }: RequestOptions,
    retryMs: number,
  ): Promise<Data> {
    const end = Date.now() + retryMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await send<Data>(operation, { signal });
      } catch (error) {
        if (!(error instanceof AdalogError) || !isTransient(error)) throw error;
        const delayMs = delay(backoff, attempt - 1, error.retryAfter);
        if (Date.now() + delayMs > end) throw error;
        onRetry?.({ error, attempt, delayMs });
        await sleep(delayMs, error.retryAfter === undefined, signal);
      }
    }
  }

  return {
    async query<Row>(query: string, args: readonly Argument[] = [], { signal, onRetry, ...more }: QueryOptions = {}) {
      const variables = {
        query,
        encoding: "PLAIN",
        engine: "AUTO",
        ...more,
        ...(more.with === undefined ? {} : { with: String(more.with) }),
        ...(more.argsEdn === undefined && args.length > 0 ? { args: jsonArguments(args) } : {}),
      };
      const { basis, after, with: speculative } = more;
      // A basis and a page are of the moment that they name.
      const isNewest = basis?.t === undefined && basis?.asOf === undefined && after === undefined;
      const least = isNewest ? seen.t : undefined;
      const operation = { query: QUERY, variables };
      const { q } = await repeated<{ q: QueryResult<Row> }>(isNewest ? seen.onto(operation) : operation, { signal, onRetry }, queryRetryMs);
      // Of data that were only tried, the basis is none that there is.
      if (speculative === undefined) seen.saw(q.basisT, least);
      return q;
    },

    async transact(tx, { signal, onRetry, ...more } = {}) {
      const variables = { tx: String(tx), encoding: "PLAIN", ...more, idempotencyKey: more.idempotencyKey ?? randomKey() };
      // With a key of the caller's it may have been applied long ago.
      const least = more.idempotencyKey === undefined ? seen.t : undefined;
      const { transact } = await repeated<{ transact: TxReport }>({ query: TRANSACT, variables }, { signal, onRetry }, FOR_GOOD);
      seen.saw(transact.t, least);
      return transact;
    },

    live<Row>(query: string, args: readonly Argument[] = [], live: LiveOptions<Row> = {}) {
      return new LiveQuery<Row>(query, jsonArguments(args), live, transport, backoff);
    },

    async *transactions(options = {}) {
      // What comes while the first connection is being made is to be told, too.
      const from = options.from ?? after((await repeated<Now>(seen.onto({ query: "{ database { basisT } }", variables: {} }), options, FOR_GOOD)).database.basisT);
      yield* follow(from, options, transport, backoff);
    },

    graphql(document, variables = {}, options = {}) {
      return send(seen.onto({ query: document, variables }), options);
    },
  };
}

interface Now {
  readonly database: { readonly basisT: Long };
}

const FOR_GOOD = Number.POSITIVE_INFINITY;

const ACCEPT = "application/graphql-response+json, application/json;q=0.9";

/** 128 random bits; `crypto.randomUUID` is there only for pages of a secure origin. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(16).padStart(8, "0")).join("");
}
