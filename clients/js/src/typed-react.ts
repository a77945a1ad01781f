/** Typed subscriptions as React state. */

import { LINGER_MS, useGiven, useShown, type Shown, type Since, type UseLiveState } from "./hooks.js";
import { canonical } from "./rows.js";
import { liveList, textOf, type Entity, type EntityOf, type TypedDocument } from "./typed.js";

export interface UseLiveQueryOptions<Row> extends Shown {
  /** Rows to begin with, from a server's render for example, or the state of a list, which goes on where that was. */
  readonly since?: Since<Row>;
}

/**
 * The entities of a typed subscription such as `issuesLive`, kept up to date, in their order: see `liveList`. Components with the same
 * document and variables share one subscription. Without a document (`null`) nothing is asked.
 */
export function useLiveQuery<Data, Variables extends Record<string, unknown>>(
  document: TypedDocument<Data, Variables> | null,
  variables?: Variables,
  { client: given, lingerMs = LINGER_MS, since }: UseLiveQueryOptions<EntityOf<Data> & Entity> = {},
): UseLiveState<EntityOf<Data> & Entity> {
  const client = useGiven(given);
  const id = document === null ? null : canonical({ document: textOf(document), variables });
  return useShown<EntityOf<Data> & Entity>(client, id, (options) => liveList(client, document!, variables, options), since, lingerMs);
}
