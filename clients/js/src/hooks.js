/** What the hooks share: the client of the components around, and live queries that several components show. */
import { createContext, useCallback, useContext, useMemo, useSyncExternalStore } from "react";
import { OptimisticRows } from "./optimistic.js";
import { SharedValues } from "./shared-values.js";
export const ClientContext = createContext(undefined);
export function useGiven(given) {
    const provided = useContext(ClientContext);
    const client = given ?? provided;
    if (client === undefined)
        throw new Error("no client: put an <AdalogProvider client={…}> around this component");
    return client;
}
/**
 * The state of a live query that all components with the same `id` share; `idle` without one. `start` makes it for the first of them,
 * with the options to go on from `since`.
 */
export function useShown(client, id, start, since, lingerMs) {
    const { lives } = shared(client);
    const subscribe = useCallback(
    // What the first component begins with, all begin with.
    (listener) => (id === null ? () => { } : lives.subscribe(id, () => new SharedLive(start, since), lingerMs, listener)), 
    // `id` says all that `start` depends on.
    [client, lives, id, lingerMs]);
    const first = useMemo(() => (since === undefined ? LOADING : begun(since)), [since]);
    const state = useCallback(() => (id === null ? IDLE : (lives.get(id)?.getState() ?? first)), [lives, id, first]);
    return useSyncExternalStore(subscribe, state, () => (id === null ? IDLE : first));
}
export const LINGER_MS = 250;
export const nothing = () => { };
const LOADING = {
    rows: [],
    columns: [],
    basisT: undefined,
    resume: undefined,
    error: undefined,
    warnings: [],
    pending: 0,
    status: "loading",
    retry: nothing,
    mutate: (_, commit) => commit(),
};
const IDLE = { ...LOADING, status: "idle" };
/** What is shown of rows to begin with, before the live query is there. */
function begun({ rows, columns, basisT, resume }) {
    return { ...LOADING, rows, columns, basisT, resume, status: "stale" };
}
/** A live query with what its components can do to it. */
class SharedLive {
    #live;
    #rows;
    #of;
    #state;
    subscribe;
    constructor(start, since) {
        const { resume } = since ?? {};
        this.#live = start(since === undefined || resume === undefined ? {} : { since: { ...since, resume } });
        this.#rows = new OptimisticRows(this.#live, since);
        this.subscribe = this.#rows.subscribe;
    }
    getState = () => {
        const state = this.#rows.getState();
        if (this.#state === undefined || state !== this.#of) {
            this.#of = state;
            this.#state = { ...state, retry: this.#live.retry, mutate: this.#rows.mutate };
        }
        return this.#state;
    };
    close() {
        this.#live.close();
    }
}
const byClient = new WeakMap();
export function shared(client) {
    let found = byClient.get(client);
    if (found === undefined)
        byClient.set(client, (found = { lives: new SharedValues(), answers: new SharedValues() }));
    return found;
}
