/** Live queries and one-time answers as React state. Components that ask the same share what they ask for. */
import { createElement, useCallback, useMemo, useSyncExternalStore } from "react";
import { jsonArguments } from "./arguments.js";
import { ClientContext, LINGER_MS, nothing, shared, useGiven, useShown } from "./hooks.js";
import { answered, OneAnswer } from "./one-answer.js";
import { canonical } from "./rows.js";
/** Gives its children the client. */
export function AdalogProvider(props) {
    return createElement(ClientContext.Provider, { value: props.client }, props.children);
}
/** The client of the nearest `AdalogProvider`. */
export function useClient() {
    return useGiven(undefined);
}
/**
 * The rows of a query, kept up to date. Rows that stay are the same objects, and `rows` is the same array until one comes
 * or goes. Without a query (`null`) nothing is asked. Arguments and options are compared by value.
 */
export function useLive(query, args = [], options = {}) {
    const { client: given, lingerMs = LINGER_MS, since, argsEdn, encoding, fromT, key } = options;
    const client = useGiven(given);
    const id = query === null ? null : canonical({ query, args: jsonArguments(args), argsEdn, encoding, fromT, key });
    const start = (resumed) => {
        const { query: text, args: json, ...more } = JSON.parse(id);
        return client.live(text, json, { ...more, ...resumed });
    };
    return useShown(client, id, start, since, lingerMs);
}
/**
 * The answer of a query, sent once; `refetch` sends it again. The request is aborted if its last component is unmounted before.
 * Without a query (`null`) nothing is asked. Arguments and options are compared by value.
 */
export function useQuery(query, args = [], options = {}) {
    const { client: given, lingerMs = LINGER_MS, initial, asOf, basis, with: data, ...more } = options;
    const client = useGiven(given);
    const asked = { ...more, basis: asOf === undefined ? basis : moment(asOf), with: data === undefined ? undefined : String(data) };
    const id = query === null ? null : canonical({ query, args: jsonArguments(args), ...asked });
    const { answers } = shared(client);
    const subscribe = useCallback((listener) => (id === null ? () => { } : answers.subscribe(id, () => answer(client, id, initial), lingerMs, listener)), [client, answers, id, lingerMs]);
    const first = useMemo(() => answered(initial, nothing), [initial]);
    const state = useCallback(() => (id === null ? UNASKED : (answers.get(id)?.getState() ?? first)), [answers, id, first]);
    return useSyncExternalStore(subscribe, state, () => (id === null ? UNASKED : first));
}
function moment(asOf) {
    if (asOf instanceof Date)
        return { asOf: asOf.toISOString() };
    return typeof asOf === "number" || /^\d+$/.test(asOf) ? { t: asOf } : { asOf };
}
const UNASKED = { ...answered(undefined, nothing), status: "idle", isFetching: false };
function answer(client, id, initial) {
    const { query, args, ...options } = JSON.parse(id);
    return new OneAnswer((signal) => client.query(query, args, { ...options, signal }), initial);
}
