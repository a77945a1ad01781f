/** Typed subscriptions as React state. */
import { LINGER_MS, useGiven, useShown } from "./hooks.js";
import { canonical } from "./rows.js";
import { liveList, textOf } from "./typed.js";
/**
 * The entities of a typed subscription such as `issuesLive`, kept up to date, in their order: see `liveList`. Components with the same
 * document and variables share one subscription. Without a document (`null`) nothing is asked.
 */
export function useLiveQuery(document, variables, { client: given, lingerMs = LINGER_MS, since } = {}) {
    const client = useGiven(given);
    const id = document === null ? null : canonical({ document: textOf(document), variables });
    return useShown(client, id, (options) => liveList(client, document, variables, options), since, lingerMs);
}
