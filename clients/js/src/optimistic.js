/**
 * Rows with changes that the server has not confirmed: shown at once, settled when the live query has come to their
 * transaction, undone where the transaction is refused.
 */
import { isAfter } from "./wire.js";
/**
 * An event may come before the answer of the transaction that caused it. While a transaction is in flight, new rows wait for its answer
 * up to this time: otherwise a row would be shown twice, once from the server and once from the change.
 */
const HOLD_MS = 1000;
export class OptimisticRows {
    #live;
    #initial;
    #listeners = new Set();
    #changes = [];
    /** The live query's state, under the changes. */
    #base;
    #state;
    #held;
    constructor(live, initial) {
        this.#live = live;
        this.#initial = initial;
        this.#base = this.#current();
        live.subscribe(() => {
            const waits = this.#changes.some(({ t }) => t === undefined) && live.rows !== this.#base.rows;
            if (waits)
                this.#held ??= setTimeout(this.#show, HOLD_MS);
            else
                this.#show();
        });
    }
    /** The state now; the same object until something changes. */
    getState = () => {
        return (this.#state ??= {
            ...this.#base,
            rows: this.#changes.reduce((rows, { change }) => change(rows), this.#base.rows),
            resume: this.#changes.length > 0 ? undefined : this.#base.resume,
            pending: this.#changes.length,
        });
    };
    /** Calls back after the state has changed. Returns what ends that. */
    subscribe = (listener) => {
        const own = () => listener();
        this.#listeners.add(own);
        return () => this.#listeners.delete(own);
    };
    /**
     * Shows a change, and makes it: `commit` is the transaction, whose report is returned. If it is refused the change is
     * taken back, and the error thrown.
     */
    mutate = async (change, commit) => {
        const made = { change, t: undefined };
        this.#changes = [...this.#changes, made];
        try {
            this.#changed();
            const report = await commit();
            made.t = report.t;
            return report;
        }
        catch (error) {
            this.#changes = this.#changes.filter((each) => each !== made);
            throw error;
        }
        finally {
            this.#show();
        }
    };
    /** Shows the live query as it is, with the changes that it has not come to. */
    #show = () => {
        clearTimeout(this.#held);
        this.#held = undefined;
        this.#base = this.#current();
        const { basisT } = this.#base;
        this.#changes = this.#changes.filter(({ t }) => t === undefined || basisT === undefined || isAfter(t, basisT));
        this.#changed();
    };
    #changed() {
        this.#state = undefined;
        // What the change of a caller throws is to be thrown here, and not where rows are rendered.
        this.getState();
        for (const listener of [...this.#listeners])
            listener();
    }
    #current() {
        const state = this.#live.getState();
        if (this.#initial === undefined || state.basisT !== undefined)
            return state;
        const { rows, columns, basisT } = this.#initial;
        return { ...state, rows, columns, basisT, status: state.status === "loading" ? "stale" : state.status };
    }
}
