/** Lists in the normalised caches of other clients, kept up to date by the events of a typed subscription. */

import { applied, type Entity, type ListEvent } from "./entity-list.js";

/** The cache of Apollo Client, and the one that urql's Graphcache hands to its updaters. */
export interface UpdatableCache<Options> {
  // Both are generic in the data, each in a way of its own.
  updateQuery(options: Options, update: (data: any) => any): unknown;
}

export interface ListPlace {
  /** The response name of the list in the query. */
  readonly field: string;
}

/**
 * Applies an event to the list of a query in the cache of Apollo Client or Graphcache. `options`: the query and its variables. What
 * changed in an entity is merged by the cache itself, by `__typename` and `id`.
 */
export function updateList<Options>(cache: UpdatableCache<Options>, options: Options, event: ListEvent<Entity>, { field }: ListPlace): void {
  cache.updateQuery(options, (data: Record<string, unknown> | null) => {
    return { ...data, [field]: applied((data?.[field] ?? []) as readonly Entity[], event) };
  });
}

/** As much of Relay's stores and records as is used here. */
export interface RelayRecord {
  getDataID(): string;
  getValue(name: string): unknown;
  getLinkedRecord(name: string, args?: never): RelayRecord | null | undefined;
  getLinkedRecords(name: string, args?: never): readonly (RelayRecord | null | undefined)[] | null | undefined;
  setLinkedRecords(records: never, name: string, args?: never): unknown;
}

export interface RelayStore {
  getRoot(): RelayRecord;
  getRootField(name: string): RelayRecord | null | undefined;
}

export interface RecordPlace {
  /** The field of the query that has the list, as the schema names it, and its arguments. */
  readonly field: string;
  readonly args?: Record<string, unknown>;
  /** The subscription's field. */
  readonly live: string;
}

/** Applies the event of a subscription to the list of a query in Relay's store: an `updater` of `requestSubscription`. */
export function updateRecords(store: RelayStore, { field, args, live }: RecordPlace): void {
  const event = store.getRootField(live);
  if (!event) return;
  const list = applied(records(store.getRoot(), field, args) ?? [], {
    kind: event.getValue("kind"),
    first: event.getValue("first"),
    added: records(event, "added"),
    changed: records(event, "changed"),
    removed: event.getValue("removed"),
    order: event.getValue("order"),
  } as ListEvent<{ id: string; record: RelayRecord }>);
  store.getRoot().setLinkedRecords(list.map(({ record }) => record) as never, field, args as never);
}

/** Undefined where the field was not selected. */
function records(of: RelayRecord, name: string, args?: Record<string, unknown>) {
  return of.getLinkedRecords(name, args as never)?.flatMap((record) => (record ? { id: record.getDataID(), record } : []));
}
