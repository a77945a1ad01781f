/** The client: queries and transactions over HTTP, live queries over one connection for all. */
import { jsonArguments } from "./arguments.js";
import { delay, sleep } from "./backoff.js";
import { ednText, queryText } from "./edn.js";
import { AdalogError, isTransient } from "./errors.js";
import { answerOf, post } from "./http.js";
import { ednSource, LiveQuery } from "./live.js";
import { follow } from "./log.js";
import { SILENCE_MS, warningsOf } from "./links.js";
import { explained } from "./origins.js";
import { SeenBasis } from "./seen-basis.js";
import { silence } from "./silence.js";
import { transportOf } from "./transports.js";
import { after } from "./wire.js";
const QUERY = "query Q($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $first: Int, $after: String, " +
    "$encoding: Encoding!, $engine: Engine!, $timeoutMs: Int) { q(query: $query, args: $args, argsEdn: $argsEdn, basis: $basis, " +
    "with: $with, first: $first, after: $after, encoding: $encoding, engine: $engine, timeoutMs: $timeoutMs) " +
    "{ rows columns { name type } value basisT pageInfo { hasNextPage endCursor } warnings { code message line column } } }";
const TRANSACT = "mutation Transact($tx: EDN!, $expectedBasisT: Long, $idempotencyKey: String, $encoding: Encoding!) " +
    "{ transact(tx: $tx, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: $encoding) " +
    "{ t basisBefore txInstant tempids warnings { code message line column } } }";
export function createClient(options) {
    const onWarning = once(warningsOf(options));
    const given = {
        url: options.url,
        headers: options.headers ?? {},
        token: options.token,
        // Called as a plain function: a browser's own must not have another `this`.
        fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    };
    const endpoint = explained(given, onWarning);
    const backoff = { minMs: 250, maxMs: 30_000, ...options.backoff };
    const queryRetryMs = options.queryRetryMs ?? 60_000;
    const silenceMs = options.silenceMs ?? SILENCE_MS;
    const seen = new SeenBasis(queryRetryMs / 2);
    const transport = seen.over(transportOf({ ...options, onWarning }, endpoint, backoff));
    /** Sends an operation once. `mostMs`: without a byte for so long, it counts as lost. */
    async function attempted(operation, signal, mostMs) {
        const watch = silence(mostMs, signal);
        try {
            const response = await post(endpoint, operation, ACCEPT, watch.signal);
            watch.heard();
            return (await answerOf(response, watch.signal, watch.heard)).data;
        }
        finally {
            watch.stop();
        }
    }
    /** `retryMs`: no repetition begins later than that. `timeoutMs`: how long the server may take. */
    async function repeated(operation, { signal, onRetry = options.onRetry, timeoutMs = TIMEOUT_MS }, retryMs) {
        const end = Date.now() + retryMs;
        for (let attempt = 1;; attempt += 1) {
            try {
                return await attempted(operation(), signal, timeoutMs + silenceMs);
            }
            catch (error) {
                if (!(error instanceof AdalogError) || !isTransient(error))
                    throw error;
                seen.refused(error);
                const delayMs = delay(backoff, attempt - 1, error.retryAfter);
                if (Date.now() + delayMs > end)
                    throw error;
                onRetry?.({ error, attempt, delayMs });
                await sleep(delayMs, error.retryAfter === undefined, signal);
            }
        }
    }
    return {
        async query(query, args = [], { signal, onRetry, ...more } = {}) {
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
            const { q } = await repeated(current, { signal, onRetry, ...timeout(more) }, queryRetryMs);
            // Of data that were only tried, the basis is none that there is.
            if (speculative === undefined)
                seen.saw(q.basisT, least);
            return q;
        },
        async transact(tx, { signal, onRetry, ...more } = {}) {
            const variables = { tx: ednText(tx, "transact"), encoding: "PLAIN", ...more, idempotencyKey: more.idempotencyKey ?? randomKey() };
            // A transaction with a key of the caller may have been applied long ago.
            const least = more.idempotencyKey === undefined ? seen.t : undefined;
            const { transact } = await repeated(() => ({ query: TRANSACT, variables }), { signal, onRetry }, FOR_GOOD);
            seen.saw(transact.t, least);
            return transact;
        },
        live(query, args = [], live = {}) {
            return new LiveQuery(ednSource(queryText(query), jsonArguments(args), live), live, transport, backoff);
        },
        follow(source, options = {}) {
            return new LiveQuery(source, options, transport, backoff);
        },
        async *transactions(options = {}) {
            // Transactions that come before the first connection is made belong to the log, too.
            const now = () => seen.onto({ query: "{ database { basisT } }", variables: {} });
            const from = options.from ?? after((await repeated(now, options, FOR_GOOD)).database.basisT);
            yield* follow(from, options, transport, backoff);
        },
        async graphql(document, variables = {}, { signal, onWarnings } = {}) {
            const response = await post(endpoint, seen.onto({ query: document, variables }), ACCEPT, signal);
            const { data, warnings } = await answerOf(response, signal);
            if (!SPECULATIVE.test(document))
                seen.sawIn(data);
            if (warnings.length > 0)
                onWarnings?.(warnings);
            return data;
        },
    };
}
/** Each warning once: the page and the worker that tabs share may have the same one, again and again. */
function once(warn) {
    const said = new Set();
    return (message) => {
        if (said.has(message))
            return;
        said.add(message);
        warn(message);
    };
}
/** The server's own limit for a query, unless it is set otherwise. */
const TIMEOUT_MS = 30_000;
/** An answer of data that were only tried has a basis that the database may never have. */
const SPECULATIVE = /\bwith\s*:/;
function timeout({ timeoutMs }) {
    return timeoutMs === undefined ? {} : { timeoutMs };
}
const FOR_GOOD = Number.POSITIVE_INFINITY;
const ACCEPT = "application/graphql-response+json, application/json;q=0.9";
/** 128 random bits; `crypto.randomUUID` is there only for pages of a secure origin. */
function randomKey() {
    return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(16).padStart(8, "0")).join("");
}
