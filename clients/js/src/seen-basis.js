/** The newest transaction that a client has seen, which it hands to the server: no gateway then answers with an older database. */
import { fromWire } from "./errors.js";
import { isAfter } from "./wire.js";
export class SeenBasis {
    #t;
    #patienceMs;
    /** Since when the server refuses requests because it does not have the transaction. */
    #missingSince;
    /** `patienceMs`: after so long a transaction that the server does not have is forgotten. */
    constructor(patienceMs) {
        this.#patienceMs = patienceMs;
    }
    get t() {
        return this.#t;
    }
    /** The operation with what has been seen. */
    onto(operation) {
        return this.#t === undefined ? operation : { ...operation, extensions: { minBasisT: this.#t } };
    }
    /**
     * An answer is as of `t`. `least`: the `minBasisT` of its request. An older answer is from another database, a restored one
     * for example, whose transactions count from then on.
     */
    saw(t, least) {
        this.#missingSince = undefined;
        if (this.#t === undefined || isAfter(t, this.#t) || (least !== undefined && isAfter(least, t)))
            this.#t = t;
    }
    /** Learns from the root fields of an answer. */
    sawIn(data) {
        for (const [name, value] of Object.entries((data ?? {}))) {
            const t = value?.basisT ?? (name === "transact" || name === "transactions" ? value?.t : undefined);
            if (typeof t === "number" || typeof t === "string")
                this.saw(t);
        }
    }
    /**
     * The server has refused a request. If it lacks the transaction for long, that belongs to another database, one before a restore
     * for example, and no longer counts.
     */
    refused({ minBasisT }) {
        if (minBasisT === undefined)
            return;
        this.#missingSince ??= Date.now();
        if (Date.now() - this.#missingSince >= this.#patienceMs)
            this.#t = this.#missingSince = undefined;
    }
    /** A transport whose subscriptions begin with what has been seen, and whose events are seen. */
    over(transport) {
        return (operation, receiver) => transport(() => this.onto(operation()), {
            ...receiver,
            next: (answers) => {
                for (const { data, errors } of answers) {
                    if (errors?.length)
                        this.refused(fromWire(errors));
                    this.sawIn(data);
                }
                receiver.next(answers);
            },
            end: (error) => {
                if (error !== undefined)
                    this.refused(error);
                receiver.end(error);
            },
        });
    }
}
