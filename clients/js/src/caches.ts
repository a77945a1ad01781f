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
  setLinkedRecord(record: never, name: string, args?: never): unknown;
  setLinkedRecords(records: never, name: string, args?: never): unknown;
}

export interface RelayStore {
  get(id: string): RelayRecord | null | undefined;
  create(id: string, type: string): RelayRecord;
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

export interface ConnectionPlace {
  /** What `ConnectionHandler.getConnection` finds; where it finds none, nothing is done. */
  readonly connection: RelayRecord | null | undefined;
  /** The type of its edges, such as `IssueEdge`. */
  readonly edgeType: string;
  /** The subscription's field. */
  readonly live: string;
}

/** Applies the event of a subscription to the list of a query in Relay's store: an `updater` of `requestSubscription`. */
export function updateRecords(store: RelayStore, { field, args, live }: RecordPlace): void {
  const event = eventIn(store, live);
  if (event === undefined) return;
  const list = applied(listed(store.getRoot().getLinkedRecords(field, args as never)) ?? [], event);
  store.getRoot().setLinkedRecords(list.map(({ record }) => record) as never, field, args as never);
}

/** Applies the event of a subscription to the edges of a connection in Relay's store. */
export function updateConnection(store: RelayStore, { connection, edgeType, live }: ConnectionPlace): void {
  const event = eventIn(store, live);
  if (event === undefined || !connection) return;
  const edges = new Map<string, RelayRecord>();
  const nodes = connection.getLinkedRecords("edges")?.map((edge) => {
    const node = edge?.getLinkedRecord("node");
    if (edge && node) edges.set(node.getDataID(), edge);
    return node;
  });
  const list = applied(listed(nodes) ?? [], event).map(({ id, record }) => {
    const known = edges.get(id);
    if (known !== undefined) return known;
    const edgeId = `${connection.getDataID()}:${id}`;
    const edge = store.get(edgeId) ?? store.create(edgeId, edgeType);
    edge.setLinkedRecord(record as never, "node");
    return edge;
  });
  connection.setLinkedRecords(list as never, "edges");
}

interface Listed extends Entity {
  readonly record: RelayRecord;
}

/** The event that arrived; what was not selected of it is undefined. */
function eventIn(store: RelayStore, live: string): ListEvent<Listed> | undefined {
  const event = store.getRootField(live);
  if (!event) return undefined;
  const [kind, first, removed, order] = ["kind", "first", "removed", "order"].map((name) => event.getValue(name));
  const [added, changed] = ["added", "changed"].map((name) => listed(event.getLinkedRecords(name)));
  return { kind, first, added, changed, removed, order } as ListEvent<Listed>;
}

function listed(records: ReturnType<RelayRecord["getLinkedRecords"]>): Listed[] | undefined {
  return records?.flatMap((record) => (record ? { id: record.getDataID(), record } : []));
}
