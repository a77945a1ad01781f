/** The transaction log as it grows: every transaction from a number on, none missing and none twice. */

import type { Backoff } from "./backoff.js";
import { Connection } from "./connection.js";
import { fromWire, type AdalogError } from "./errors.js";
import type { Transport } from "./transport.js";
import { after, isAfter, type Answer, type Encoding, type Json, type Long } from "./wire.js";

export interface Datom {
  readonly e: Long;
  readonly a: string;
  readonly v: Json;
  readonly t: Long;
  readonly added: boolean;
}

export interface LogEntry {
  readonly t: Long;
  readonly basisBefore: Long;
  readonly txInstant: string;
  readonly datoms: readonly Datom[];
}

export interface LogOptions {
  /** The first transaction; by default the next one. */
  readonly from?: Long;
  readonly encoding?: Encoding;
  /** Ends the loop with its reason when aborted. */
  readonly signal?: AbortSignal;
}

const DOCUMENT =
  "subscription Log($from: Long!, $encoding: Encoding!) { transactions(from: $from, encoding: $encoding) " +
  "{ t basisBefore txInstant datoms { e a v t added } } }";

const RESUME = { field: "transactions", member: "t", variable: "from", isNumberBefore: true };

/** When the loop has left so many entries untaken, the client disconnects until it has taken them. */
const MOST_PENDING = 1000;

export async function* follow(
  from: Long,
  { encoding = "PLAIN", signal }: LogOptions,
  transport: Transport,
  backoff: Backoff,
): AsyncGenerator<LogEntry, void, undefined> {
  const pending: LogEntry[] = [];
  let next = from;
  let failure: AdalogError | undefined;
  let wake = () => {};

  const connection = new Connection(transport, backoff, {
    operation: () => ({ query: DOCUMENT, variables: { from: next, encoding }, resume: RESUME }),
    opened() {},
    interrupted() {},
    failed(error) {
      failure = error;
      wake();
    },
    received(answers) {
      for (const { data, errors } of answers as readonly Answer<{ transactions: LogEntry }>[]) {
        if (errors?.length) {
          connection.lost(fromWire(errors));
          break;
        }
        const entry = data?.transactions;
        // It came before the connection was lost.
        if (!entry || isAfter(next, entry.t)) continue;
        pending.push(entry);
        next = after(entry.t);
      }
      if (pending.length >= MOST_PENDING) connection.close();
      wake();
    },
  });
  const aborted = () => wake();
  signal?.addEventListener("abort", aborted);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const entry = pending.shift();
      if (entry !== undefined) {
        yield entry;
        continue;
      }
      if (failure !== undefined) throw failure;
      await new Promise<void>((resolve) => {
        wake = resolve;
        connection.open();
      });
    }
  } finally {
    signal?.removeEventListener("abort", aborted);
    connection.close();
  }
}
