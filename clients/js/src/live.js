/** A live query: its rows, kept up to date across connections. */
import { Connection } from "./connection.js";
import { AdalogError, fromWire } from "./errors.js";
import { Inconsistent, RowSet } from "./rows.js";
import { isAfter } from "./wire.js";
const DOCUMENT = "subscription Live($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $resume: String, $fromT: Long, $encoding: Encoding!) " +
    "{ live(query: $query, args: $args, argsEdn: $argsEdn, resume: $resume, fromT: $fromT, encoding: $encoding) " +
    "{ kind basisT resume columns { name type } rows added retracted last reason " +
    "warnings { code message line column } } }";
const RESUME = { field: "live", member: "resume", variable: "resume", instead: "fromT" };
/** An EDN query as a source. */
export function ednSource(query, args, options) {
    const { argsEdn, encoding = "PLAIN", fromT, key } = options;
    return {
        document: DOCUMENT,
        resume: RESUME,
        variables(token, isFirst) {
            const variables = { query, encoding };
            if (argsEdn !== undefined)
                variables["argsEdn"] = argsEdn;
            else if (args.length > 0)
                variables["args"] = args;
            if (token !== undefined)
                variables["resume"] = token;
            else if (fromT !== undefined && isFirst)
                variables["fromT"] = fromT;
            return variables;
        },
        empty: (columns) => new EdnRows(key, columns),
    };
}
class EdnRows extends RowSet {
    differenceTo(next) {
        return super.differenceTo(next);
    }
    restore(rows) {
        this.apply(rows, []);
    }
    arrive({ rows }) {
        this.apply((rows ?? []), []);
    }
    change({ added, retracted }) {
        return this.apply((added ?? []), (retracted ?? []));
    }
}
/** When an iteration has left so many changes untaken, the live query disconnects until it has taken them. */
const MOST_PENDING = 1000;
export class LiveQuery {
    #source;
    #options;
    #connection;
    #listeners = new Set();
    #iterations = new Set();
    #set;
    #columns = [];
    #basisT;
    #resume;
    #status = "loading";
    #error;
    #warnings = [];
    /** The state that `getState` has returned; undefined after a change. */
    #state;
    #rows;
    /** The resume token of the last event, which may be in the middle of a snapshot. */
    #token;
    /** The snapshot that is arriving, in chunks. */
    #arriving;
    #reason;
    /** Starts at once. `client.live` is how to make one. */
    constructor(source, options, transport, backoff) {
        this.#source = source;
        this.#options = options;
        this.#connection = new Connection(transport, backoff, {
            operation: () => this.#operation(),
            opened: () => this.#opened(),
            received: (answers) => this.#received(answers),
            interrupted: (error) => this.#interrupted(error),
            failed: (error) => this.#failed(error),
        });
        const { since, signal } = options;
        if (since?.resume !== undefined) {
            this.#set = source.empty(since.columns);
            this.#set.restore(since.rows);
            this.#columns = since.columns;
            this.#basisT = since.basisT;
            this.#resume = this.#token = since.resume;
            this.#status = "stale";
        }
        if (signal?.aborted) {
            this.#status = "closed";
            return;
        }
        signal?.addEventListener("abort", this.close, { once: true });
        this.#connection.open();
    }
    get rows() {
        return (this.#rows ??= this.#set?.list() ?? []);
    }
    get columns() {
        return this.#columns;
    }
    get basisT() {
        return this.#basisT;
    }
    get status() {
        return this.#status;
    }
    get error() {
        return this.#error;
    }
    get warnings() {
        return this.#warnings;
    }
    /** The state now; the same object until something changes. */
    getState = () => {
        return (this.#state ??= {
            rows: this.rows,
            columns: this.#columns,
            basisT: this.#basisT,
            resume: this.#resume,
            status: this.#status,
            error: this.#error,
            warnings: this.#warnings,
        });
    };
    /** Calls back after the state has changed, once for all that arrived together. Returns what ends that. */
    subscribe = (listener) => {
        // A new function each time: a listener that subscribes twice is called twice.
        const own = () => listener();
        this.#listeners.add(own);
        return () => this.#listeners.delete(own);
    };
    /** The first state with all rows; rejects where there will be none. */
    ready() {
        return this.#until(() => this.#set !== undefined);
    }
    /** The first state with all that transaction `t` changed, and those before it; rejects likewise. */
    reached(t) {
        return this.#until(() => this.#basisT !== undefined && !isAfter(t, this.#basisT));
    }
    #until(isSo) {
        return new Promise((resolve, reject) => {
            const settled = () => {
                if (this.#status === "failed")
                    reject(this.#error);
                else if (this.#status === "closed")
                    reject(this.#closedReason());
                else if (isSo())
                    resolve(this.getState());
                else
                    return false;
                return true;
            };
            if (settled())
                return;
            const stop = this.subscribe(() => {
                if (settled())
                    stop();
            });
        });
    }
    /**
     * The changes from now on, each once and in order, after a first one with the present rows, if there are some. A slow loop delays
     * only this live query. Leaving the loop closes it.
     */
    async *[Symbol.asyncIterator]() {
        const iteration = new Iteration();
        if (this.#set !== undefined && this.#resume !== undefined && this.#basisT !== undefined) {
            iteration.pending.push(this.#change("snapshot", { added: this.rows, retracted: [] }, this.#basisT, this.#resume));
        }
        this.#iterations.add(iteration);
        try {
            for (;;) {
                const change = iteration.pending.shift();
                if (change !== undefined) {
                    yield change;
                    continue;
                }
                if (this.#status === "failed")
                    throw this.#error;
                if (this.#status === "closed")
                    return;
                const more = iteration.more();
                if ([...this.#iterations].every(({ pending }) => pending.length === 0))
                    this.#connection.open();
                await more;
            }
        }
        finally {
            this.#iterations.delete(iteration);
            this.close();
        }
    }
    /** Opens a live query again that has failed, and goes on from its rows. */
    retry = () => {
        if (this.#status !== "failed")
            return;
        this.#become(this.#set === undefined ? "loading" : "stale", undefined);
        this.#options.signal?.addEventListener("abort", this.close, { once: true });
        this.#connection.open();
        this.#notify();
    };
    /** Ends the subscription; the rows stay as they are. */
    close = () => {
        if (this.#isOver())
            return;
        this.#end("closed", undefined);
        this.#notify();
    };
    /** Whether the rows that are shown are to be replaced by a new snapshot. */
    #isStartingOver() {
        return this.#arriving !== undefined || this.#reason !== undefined;
    }
    #isOver() {
        return this.#status === "failed" || this.#status === "closed";
    }
    #closedReason() {
        const { signal } = this.#options;
        return signal?.aborted ? signal.reason : new AdalogError("CANCELLED", "the live query was closed");
    }
    #end(status, error) {
        this.#become(status, error);
        this.#arriving = undefined;
        this.#options.signal?.removeEventListener("abort", this.close);
        this.#connection.close();
    }
    /** The subscription as it is sent: from the beginning, or from the last event. */
    #operation() {
        const { document, resume } = this.#source;
        return { query: document, variables: this.#source.variables(this.#token, this.#set === undefined), resume };
    }
    #opened() {
        if (this.#status === "stale" && this.#token === this.#resume)
            this.#become("live", undefined);
        this.#notify();
    }
    #received(answers) {
        for (const { data, errors } of answers) {
            if (!this.#connection.isOpen)
                break;
            if (errors?.length) {
                this.#connection.lost(fromWire(errors));
                break;
            }
            const event = data?.[this.#source.resume.field];
            if (!event)
                continue;
            this.#warn(event.warnings);
            try {
                this.#apply(event);
                this.#token = event.resume;
            }
            catch (error) {
                if (error instanceof Inconsistent)
                    this.#startOver(error.message);
                else
                    this.#end("failed", error instanceof AdalogError ? error : keyFailed(error));
            }
        }
        if (this.#connection.isOpen && [...this.#iterations].some(({ pending }) => pending.length >= MOST_PENDING)) {
            this.#connection.close();
            this.#become("stale", undefined);
        }
        this.#notify();
    }
    #interrupted(error) {
        this.#become(this.#set === undefined ? "loading" : "stale", error);
        this.#notify();
    }
    #failed(error) {
        if (error.code === "BASIS_GONE" && this.#token !== undefined) {
            this.#startOver(error.message);
            return;
        }
        this.#end("failed", error);
        this.#notify();
    }
    #fresh(columns) {
        return { set: this.#source.empty(columns), columns };
    }
    /** Requests all rows again, if the stream cannot be resumed. */
    #startOver(reason) {
        this.#token = undefined;
        this.#arriving = undefined;
        this.#reason = reason;
        this.#connection.lost(new AdalogError("PROTOCOL", reason, { retryable: true }));
    }
    #apply(event) {
        switch (event.kind) {
            case "SNAPSHOT": {
                const arriving = (this.#arriving ??= this.#fresh(event.columns ?? this.#columns));
                arriving.set.arrive(event);
                if (event.last !== true)
                    return;
                const first = this.#set === undefined;
                const change = (this.#set ?? this.#source.empty(arriving.columns)).differenceTo(arriving.set);
                this.#set = arriving.set;
                this.#columns = arriving.columns;
                this.#arriving = undefined;
                this.#changed(first ? "snapshot" : "reset", change, event);
                this.#reason = undefined;
                return;
            }
            case "DELTA": {
                if (this.#set === undefined || this.#isStartingOver())
                    throw new Inconsistent("a change came before the rows");
                // The rows contain this change already.
                if (this.#basisT !== undefined && !isAfter(event.basisT, this.#basisT))
                    return;
                const change = this.#set.change(event);
                this.#changed("delta", change, event);
                return;
            }
            case "PROGRESS":
                if (this.#set === undefined || this.#isStartingOver())
                    return;
                this.#moved(event);
                return;
            case "RESET":
                this.#arriving = undefined;
                this.#reason = event.reason ?? "the server started over";
                this.#become(this.#set === undefined ? "loading" : "stale", undefined);
                return;
        }
    }
    #changed(kind, difference, event) {
        const same = difference.added.length === 0 && difference.retracted.length === 0 && difference.isReordered !== true;
        if (!same)
            this.#rows = this.#state = undefined;
        this.#moved(event);
        if (same && kind !== "snapshot")
            return;
        const change = this.#change(kind, difference, event.basisT, event.resume);
        for (const iteration of this.#iterations)
            iteration.pending.push(change);
        const { onChange } = this.#options;
        if (onChange !== undefined)
            guarded(() => onChange(change));
    }
    #moved({ basisT, resume }) {
        if (basisT !== this.#basisT || resume !== this.#resume)
            this.#state = undefined;
        this.#basisT = basisT;
        this.#resume = resume;
        this.#become("live", undefined);
    }
    /** Keeps the array if the warnings are the same, also when the stream has started again. */
    #warn(warnings) {
        if (!warnings || JSON.stringify(warnings) === JSON.stringify(this.#warnings))
            return;
        this.#warnings = warnings;
        this.#state = undefined;
    }
    #change(kind, difference, basisT, resume) {
        return { kind, basisT, resume, columns: this.#columns, reason: this.#reason, ...difference };
    }
    #become(status, error) {
        if (status !== this.#status || error !== this.#error)
            this.#state = undefined;
        this.#status = status;
        this.#error = error;
    }
    #notify() {
        for (const iteration of this.#iterations)
            iteration.wake();
        if (this.#state !== undefined)
            return;
        const { onState } = this.#options;
        if (onState === undefined && this.#listeners.size === 0)
            return;
        const state = this.getState();
        if (onState !== undefined)
            guarded(() => onState(state));
        for (const listener of [...this.#listeners])
            guarded(listener);
    }
}
/** The changes that a loop over a live query has yet to take. */
class Iteration {
    pending = [];
    wake = () => { };
    more() {
        return new Promise((resolve) => {
            this.wake = resolve;
        });
    }
}
function keyFailed(cause) {
    return new AdalogError("KEY_INVALID", `the key of a row cannot be computed: ${String(cause)}`, { cause });
}
/** An exception of the caller's function is reported as uncaught, and does not end the stream. */
function guarded(call) {
    try {
        call();
    }
    catch (error) {
        queueMicrotask(() => {
            throw error;
        });
    }
}
