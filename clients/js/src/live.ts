/** A live query: its rows, kept up to date across connections. */

import type { Backoff } from "./backoff.js";
import { Connection } from "./connection.js";
import { AdalogError, fromWire } from "./errors.js";
import { Inconsistent, RowSet, type Difference, type RowKey } from "./rows.js";
import type { ResumableOperation, Transport } from "./transport.js";
import { isAfter, type Answer, type Column, type Encoding, type Event, type Json, type LiveEvent, type Long, type Warning } from "./wire.js";

/**
 * `loading`: no complete answer yet. `live`: up to date. `stale`: the rows are of an earlier moment, and it is being
 * connected again or a new answer is on its way. `failed`: it has ended in `error`; `retry` opens it again. `closed`: `close` was called.
 */
export type LiveStatus = "loading" | "live" | "stale" | "failed" | "closed";

/** What a live query shows at one moment. A state never changes; `rows` is the same array for as long as no row changed. */
export interface LiveState<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column[];
  readonly basisT: Long | undefined;
  /** The position in the stream: `live(query, args, { since: state })` continues from this state, also in another process. */
  readonly resume: string | undefined;
  readonly status: LiveStatus;
  readonly error: AdalogError | undefined;
  /** What the server has warned of when the stream began: parts of the query that are allowed and probably mistakes. */
  readonly warnings: readonly Warning[];
}

/**
 * The rows that came and went, to be applied together. `snapshot`: all rows, the first time. `delta`: what a transaction
 * changed, or several where this client was too slow. `reset`: the server started over, `reason` says why; these rows
 * are what differs from before.
 */
export interface LiveChange<Row> extends Difference<Row> {
  readonly kind: "snapshot" | "delta" | "reset";
  readonly basisT: Long;
  readonly resume: string;
  readonly columns: readonly Column[];
  readonly reason: string | undefined;
}

/** Options of every live query. */
export interface StreamOptions<Row> {
  /** Continues after a state that this query had before. */
  readonly since?: Pick<LiveState<Row>, "rows" | "columns" | "basisT" | "resume">;
  /** Closes the live query when aborted. */
  readonly signal?: AbortSignal;
  readonly onChange?: (change: LiveChange<Row>) => void;
  readonly onState?: (state: LiveState<Row>) => void;
}

export interface LiveOptions<Row> extends StreamOptions<Row> {
  /** Arguments as EDN texts, in place of `args`. */
  readonly argsEdn?: readonly string[];
  readonly encoding?: Encoding;
  /** Starts at this past transaction and replays what came after it. */
  readonly fromT?: Long;
  /** For admins: the answer as another identity sees it. */
  readonly as?: { readonly claims: Readonly<Record<string, unknown>>; readonly roles: readonly string[] } | undefined;
  /** What makes two rows the same, so that one can take the other's place; by default the whole row. */
  readonly key?: RowKey<Row>;
}

/** What a live query asks for, and how its events become rows. */
export interface LiveSource<Row> {
  readonly document: string;
  readonly resume: ResumableOperation["resume"];
  /** `token`: of the last event, from which it goes on; `isFirst`: there are no rows yet. */
  variables(token: string | undefined, isFirst: boolean): Record<string, unknown>;
  /** Rows as they are before the first event. */
  empty(columns: readonly Column[]): LiveRows<Row>;
}

/** The rows of a live query at one moment. */
export interface LiveRows<Row> {
  list(): Row[];
  /** Puts in what was there in an earlier state. */
  restore(rows: readonly Row[]): void;
  /** Puts in a chunk of a snapshot. */
  arrive(event: Event): void;
  /** Applies what a transaction changed. Throws Inconsistent, and changes nothing, where it does not fit these rows. */
  change(event: Event): Difference<Row>;
  /** What differs in rows of the same source; `next` takes over the objects of those that are the same in both. */
  differenceTo(next: LiveRows<Row>): Difference<Row>;
}

// Older servers refuse a document with an argument that they do not know.
function documentOf(isAs: boolean): string {
  const [declared, passed] = isAs ? [", $as: AsInput", ", as: $as"] : ["", ""];
  return (
    `subscription Live($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $resume: String, $fromT: Long, $encoding: Encoding!${declared}) ` +
    `{ live(query: $query, args: $args, argsEdn: $argsEdn, resume: $resume, fromT: $fromT, encoding: $encoding${passed}) ` +
    "{ kind basisT resume columns { name type } rows added retracted last reason " +
    "warnings { code message line column } } }"
  );
}

const RESUME = { field: "live", member: "resume", variable: "resume", instead: "fromT" };

/** An EDN query as a source. */
export function ednSource<Row>(query: string, args: readonly unknown[], options: LiveOptions<Row>): LiveSource<Row> {
  const { argsEdn, encoding = "PLAIN", fromT, key, as } = options;
  return {
    document: documentOf(as !== undefined),
    resume: RESUME,
    variables(token, isFirst) {
      const variables: Record<string, unknown> = { query, encoding };
      if (argsEdn !== undefined) variables["argsEdn"] = argsEdn;
      else if (args.length > 0) variables["args"] = args;
      if (token !== undefined) variables["resume"] = token;
      else if (fromT !== undefined && isFirst) variables["fromT"] = fromT;
      if (as !== undefined) variables["as"] = as;
      return variables;
    },
    empty: (columns) => new EdnRows<Row>(key, columns),
  };
}

class EdnRows<Row> extends RowSet<Row> implements LiveRows<Row> {
  override differenceTo(next: EdnRows<Row>): Difference<Row> {
    return super.differenceTo(next);
  }

  restore(rows: readonly Row[]): void {
    this.apply(rows, []);
  }

  arrive({ rows }: LiveEvent): void {
    this.apply((rows ?? []) as Row[], []);
  }

  change({ added, retracted }: LiveEvent): Difference<Row> {
    return this.apply((added ?? []) as Row[], (retracted ?? []) as Row[]);
  }
}

/** When an iteration has left so many changes untaken, the live query disconnects until it has taken them. */
const MOST_PENDING = 1000;

export class LiveQuery<Row = Json[]> implements AsyncIterable<LiveChange<Row>> {
  readonly #source: LiveSource<Row>;
  readonly #options: StreamOptions<Row>;
  readonly #connection: Connection;
  readonly #listeners = new Set<() => void>();
  readonly #iterations = new Set<Iteration<Row>>();

  #set: LiveRows<Row> | undefined;
  #columns: readonly Column[] = [];
  #basisT: Long | undefined;
  #resume: string | undefined;
  #status: LiveStatus = "loading";
  #error: AdalogError | undefined;
  #warnings: readonly Warning[] = [];
  /** The state that `getState` has returned; undefined after a change. */
  #state: LiveState<Row> | undefined;
  #rows: readonly Row[] | undefined;

  /** The resume token of the last event, which may be in the middle of a snapshot. */
  #token: string | undefined;
  /** The snapshot that is arriving, in chunks. */
  #arriving: { set: LiveRows<Row>; columns: readonly Column[] } | undefined;
  #reason: string | undefined;

  /** Starts at once. `client.live` is how to make one. */
  constructor(source: LiveSource<Row>, options: StreamOptions<Row>, transport: Transport, backoff: Backoff) {
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

  get rows(): readonly Row[] {
    return (this.#rows ??= this.#set?.list() ?? []);
  }

  get columns(): readonly Column[] {
    return this.#columns;
  }

  get basisT(): Long | undefined {
    return this.#basisT;
  }

  get status(): LiveStatus {
    return this.#status;
  }

  get error(): AdalogError | undefined {
    return this.#error;
  }

  get warnings(): readonly Warning[] {
    return this.#warnings;
  }

  /** The state now; the same object until something changes. */
  readonly getState = (): LiveState<Row> => {
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
  readonly subscribe = (listener: () => void): (() => void) => {
    // A new function each time: a listener that subscribes twice is called twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };

  /** The first state with all rows; rejects where there will be none. */
  ready(): Promise<LiveState<Row>> {
    return this.#until(() => this.#set !== undefined);
  }

  /** The first state with all that transaction `t` changed, and those before it; rejects likewise. */
  reached(t: Long): Promise<LiveState<Row>> {
    return this.#until(() => this.#basisT !== undefined && !isAfter(t, this.#basisT));
  }

  #until(isSo: () => boolean): Promise<LiveState<Row>> {
    return new Promise((resolve, reject) => {
      const settled = () => {
        if (this.#status === "failed") reject(this.#error);
        else if (this.#status === "closed") reject(this.#closedReason());
        else if (isSo()) resolve(this.getState());
        else return false;
        return true;
      };
      if (settled()) return;
      const stop = this.subscribe(() => {
        if (settled()) stop();
      });
    });
  }

  /**
   * The changes from now on, each once and in order, after a first one with the present rows, if there are some. A slow loop delays
   * only this live query. Leaving the loop closes it.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<LiveChange<Row>, void, undefined> {
    const iteration = new Iteration<Row>();
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
        if (this.#status === "failed") throw this.#error;
        if (this.#status === "closed") return;
        const more = iteration.more();
        if ([...this.#iterations].every(({ pending }) => pending.length === 0)) this.#connection.open();
        await more;
      }
    } finally {
      this.#iterations.delete(iteration);
      this.close();
    }
  }

  /** Opens a live query again that has failed, and goes on from its rows. */
  readonly retry = (): void => {
    if (this.#status !== "failed") return;
    this.#become(this.#set === undefined ? "loading" : "stale", undefined);
    this.#options.signal?.addEventListener("abort", this.close, { once: true });
    this.#connection.open();
    this.#notify();
  };

  /** Ends the subscription; the rows stay as they are. */
  readonly close = (): void => {
    if (this.#isOver()) return;
    this.#end("closed", undefined);
    this.#notify();
  };

  /** Whether the rows that are shown are to be replaced by a new snapshot. */
  #isStartingOver(): boolean {
    return this.#arriving !== undefined || this.#reason !== undefined;
  }

  #isOver(): boolean {
    return this.#status === "failed" || this.#status === "closed";
  }

  #closedReason(): unknown {
    const { signal } = this.#options;
    return signal?.aborted ? signal.reason : new AdalogError("CANCELLED", "the live query was closed");
  }

  #end(status: "failed" | "closed", error: AdalogError | undefined): void {
    this.#become(status, error);
    this.#arriving = undefined;
    this.#options.signal?.removeEventListener("abort", this.close);
    this.#connection.close();
  }

  /** The subscription as it is sent: from the beginning, or from the last event. */
  #operation(): ResumableOperation {
    const { document, resume } = this.#source;
    return { query: document, variables: this.#source.variables(this.#token, this.#set === undefined), resume };
  }

  #opened(): void {
    if (this.#status === "stale" && this.#token === this.#resume) this.#become("live", undefined);
    this.#notify();
  }

  #received(answers: readonly Answer<unknown>[]): void {
    for (const { data, errors } of answers) {
      if (!this.#connection.isOpen) break;
      if (errors?.length) {
        this.#connection.lost(fromWire(errors));
        break;
      }
      const event = (data as { [field: string]: Event | null } | null | undefined)?.[this.#source.resume.field];
      if (!event) continue;
      this.#warn(event.warnings);
      try {
        this.#apply(event);
        this.#token = event.resume;
      } catch (error) {
        if (error instanceof Inconsistent) this.#startOver(error.message);
        else this.#end("failed", error instanceof AdalogError ? error : keyFailed(error));
      }
    }
    if (this.#connection.isOpen && [...this.#iterations].some(({ pending }) => pending.length >= MOST_PENDING)) {
      this.#connection.close();
      this.#become("stale", undefined);
    }
    this.#notify();
  }

  #interrupted(error: AdalogError | undefined): void {
    this.#become(this.#set === undefined ? "loading" : "stale", error);
    this.#notify();
  }

  #failed(error: AdalogError): void {
    if (error.code === "BASIS_GONE" && this.#token !== undefined) {
      this.#startOver(error.message);
      return;
    }
    this.#end("failed", error);
    this.#notify();
  }

  #fresh(columns: readonly Column[]) {
    return { set: this.#source.empty(columns), columns };
  }

  /** Requests all rows again, if the stream cannot be resumed. */
  #startOver(reason: string): void {
    this.#token = undefined;
    this.#arriving = undefined;
    this.#reason = reason;
    this.#connection.lost(new AdalogError("PROTOCOL", reason, { retryable: true }));
  }

  #apply(event: Event): void {
    switch (event.kind) {
      case "SNAPSHOT": {
        const arriving = (this.#arriving ??= this.#fresh(event.columns ?? this.#columns));
        arriving.set.arrive(event);
        if (event.last !== true) return;
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
        if (this.#set === undefined || this.#isStartingOver()) throw new Inconsistent("a change came before the rows");
        // The rows contain this change already.
        if (this.#basisT !== undefined && !isAfter(event.basisT, this.#basisT)) return;
        const change = this.#set.change(event);
        this.#changed("delta", change, event);
        return;
      }
      case "PROGRESS":
        if (this.#set === undefined || this.#isStartingOver()) return;
        this.#moved(event);
        return;
      case "RESET":
        this.#arriving = undefined;
        this.#reason = event.reason ?? "the server started over";
        this.#become(this.#set === undefined ? "loading" : "stale", undefined);
        return;
    }
  }

  #changed(kind: LiveChange<Row>["kind"], difference: Difference<Row>, event: Event): void {
    const same = difference.added.length === 0 && difference.retracted.length === 0 && difference.isReordered !== true;
    if (!same) this.#rows = this.#state = undefined;
    this.#moved(event);
    if (same && kind !== "snapshot") return;
    const change = this.#change(kind, difference, event.basisT, event.resume);
    for (const iteration of this.#iterations) iteration.pending.push(change);
    const { onChange } = this.#options;
    if (onChange !== undefined) guarded(() => onChange(change));
  }

  #moved({ basisT, resume }: Event): void {
    if (basisT !== this.#basisT || resume !== this.#resume) this.#state = undefined;
    this.#basisT = basisT;
    this.#resume = resume;
    this.#become("live", undefined);
  }

  /** Keeps the array if the warnings are the same, also when the stream has started again. */
  #warn(warnings: readonly Warning[] | null | undefined): void {
    if (!warnings || JSON.stringify(warnings) === JSON.stringify(this.#warnings)) return;
    this.#warnings = warnings;
    this.#state = undefined;
  }

  #change(kind: LiveChange<Row>["kind"], difference: Difference<Row>, basisT: Long, resume: string): LiveChange<Row> {
    return { kind, basisT, resume, columns: this.#columns, reason: this.#reason, ...difference };
  }

  #become(status: LiveStatus, error: AdalogError | undefined): void {
    if (status !== this.#status || error !== this.#error) this.#state = undefined;
    this.#status = status;
    this.#error = error;
  }

  #notify(): void {
    for (const iteration of this.#iterations) iteration.wake();
    if (this.#state !== undefined) return;
    const { onState } = this.#options;
    if (onState === undefined && this.#listeners.size === 0) return;
    const state = this.getState();
    if (onState !== undefined) guarded(() => onState(state));
    for (const listener of [...this.#listeners]) guarded(listener);
  }
}

/** The changes that a loop over a live query has yet to take. */
class Iteration<Row> {
  readonly pending: LiveChange<Row>[] = [];
  wake: () => void = () => {};

  more(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

function keyFailed(cause: unknown): AdalogError {
  return new AdalogError("KEY_INVALID", `the key of a row cannot be computed: ${String(cause)}`, { cause });
}

/** An exception of the caller's function is reported as uncaught, and does not end the stream. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
