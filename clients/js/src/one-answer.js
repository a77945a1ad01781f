/** The answer of a query as a state: requested once, and again on demand. */
const NO_ANSWER = { rows: [], columns: [], value: undefined, basisT: undefined, pageInfo: undefined, warnings: [], error: undefined };
export class OneAnswer {
    #ask;
    #listeners = new Set();
    #asking;
    #state;
    /** Sends the query at once, if there is no initial answer. */
    constructor(ask, initial) {
        this.#ask = ask;
        this.#state = answered(initial, this.refetch);
        if (initial === undefined)
            this.refetch();
    }
    getState = () => this.#state;
    subscribe = (listener) => {
        const own = () => listener();
        this.#listeners.add(own);
        return () => this.#listeners.delete(own);
    };
    refetch = () => {
        this.close();
        const asking = (this.#asking = new AbortController());
        const settle = (state) => {
            if (this.#asking === asking)
                this.#become(state);
        };
        const { status } = this.#state;
        this.#become({ ...this.#state, status: status === "failed" ? "loading" : status, error: undefined, isFetching: true });
        this.#ask(asking.signal).then((result) => settle(answered(result, this.refetch)), (error) => settle({ ...this.#state, status: "failed", error: error, isFetching: false }));
    };
    /** Aborts a request in flight. */
    close() {
        this.#asking?.abort();
        this.#asking = undefined;
    }
    #become(state) {
        this.#state = state;
        for (const listener of [...this.#listeners])
            listener();
    }
}
/** The state with an answer, or before there is one. */
export function answered(result, refetch) {
    if (result === undefined)
        return { ...NO_ANSWER, status: "loading", isFetching: true, refetch };
    return { ...result, status: "ready", error: undefined, isFetching: false, refetch };
}
