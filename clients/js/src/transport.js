/** The interface of transports, which carry subscriptions; and a client of graphql-ws as a transport. */
import { AdalogError, fromWire, network } from "./errors.js";
import { after } from "./wire.js";
/** The operation that follows an answer. */
export function resumed(operation, { data }) {
    const { field, member, variable, isNumberBefore, instead = "" } = operation.resume;
    const value = data?.[field]?.[member];
    if (value === undefined || value === null)
        return operation;
    const { [instead]: _, ...variables } = operation.variables;
    return { ...operation, variables: { ...variables, [variable]: isNumberBefore ? after(value) : value } };
}
export function webSocket(client) {
    return (operation, receiver) => {
        let ended = false;
        const once = (act) => {
            if (!ended)
                act();
        };
        const unlisten = client.on?.("closed", () => once(() => receiver.interrupted()));
        const end = (error) => once(() => {
            ended = true;
            unlisten?.();
            receiver.end(error);
        });
        // The client serializes a subscription each time it sends it: after a reconnection it gets the present resume token.
        const variables = {
            toJSON() {
                const current = operation().variables;
                once(() => receiver.open());
                return current;
            },
        };
        const { query, extensions = {} } = operation();
        const stop = client.subscribe({ query, variables, extensions }, {
            next: (answer) => once(() => receiver.next([answer])),
            error: (error) => end(fromWebSocket(error)),
            complete: () => end(),
        });
        return () => {
            ended = true;
            unlisten?.();
            stop();
        };
    };
}
/** What a `graphql-ws` client ends a subscription with: GraphQL errors, a CloseEvent, or an Error. */
function fromWebSocket(error) {
    if (Array.isArray(error))
        return fromWire(error);
    const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
    if (typeof code !== "number")
        return network(error);
    const reason = error !== null && typeof error === "object" && "reason" in error ? String(error.reason) : "";
    return fromClose(code, reason);
}
/** The reason of a close code as an error: retryable, unless another connection would be closed, too. */
export function fromClose(code, reason) {
    const message = `the WebSocket was closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
    const final = FINAL_CLOSE_CODES[code];
    if (final !== undefined)
        return new AdalogError(final, message);
    // What `connectionParams` gives next may be another token.
    return code === UNAUTHORIZED ? new AdalogError("UNAUTHENTICATED", message, { retryable: true }) : network(message);
}
/** The token has expired. */
export const UNAUTHORIZED = 4401;
/** The first token was refused. */
export const FORBIDDEN = 4403;
/** https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md */
const FINAL_CLOSE_CODES = {
    4400: "PROTOCOL",
    [FORBIDDEN]: "FORBIDDEN",
    4406: "PROTOCOL",
    4409: "PROTOCOL",
    4429: "PROTOCOL",
};
