/** The transaction log as it grows: every transaction from a number on, none missing and none twice. */
import { Connection } from "./connection.js";
import { fromWire } from "./errors.js";
import { after, isAfter } from "./wire.js";
const DOCUMENT = "subscription Log($from: Long!, $encoding: Encoding!) { transactions(from: $from, encoding: $encoding) " +
    "{ t basisBefore txInstant datoms { e a v t added } } }";
const RESUME = { field: "transactions", member: "t", variable: "from", isNumberBefore: true };
/** When the loop has left so many entries untaken, the client disconnects until it has taken them. */
const MOST_PENDING = 1000;
export async function* follow(from, { encoding = "PLAIN", signal }, transport, backoff) {
    const pending = [];
    let next = from;
    let failure;
    let wake = () => { };
    const connection = new Connection(transport, backoff, {
        operation: () => ({ query: DOCUMENT, variables: { from: next, encoding }, resume: RESUME }),
        opened() { },
        interrupted() { },
        failed(error) {
            failure = error;
            wake();
        },
        received(answers) {
            for (const { data, errors } of answers) {
                if (errors?.length) {
                    connection.lost(fromWire(errors));
                    break;
                }
                const entry = data?.transactions;
                // It came before the connection was lost.
                if (!entry || isAfter(next, entry.t))
                    continue;
                pending.push(entry);
                next = after(entry.t);
            }
            if (pending.length >= MOST_PENDING)
                connection.close();
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
            if (failure !== undefined)
                throw failure;
            await new Promise((resolve) => {
                wake = resolve;
                connection.open();
            });
        }
    }
    finally {
        signal?.removeEventListener("abort", aborted);
        connection.close();
    }
}
