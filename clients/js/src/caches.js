/** Lists in the normalised caches of other clients, kept up to date by the events of a typed subscription. */
import { applied } from "./entity-list.js";
/**
 * Applies an event to the list of a query in the cache of Apollo Client or Graphcache. `options`: the query and its variables. What
 * changed in an entity is merged by the cache itself, by `__typename` and `id`.
 */
export function updateList(cache, options, event, { field, ...chunk }) {
    cache.updateQuery(options, (data) => {
        return { ...data, [field]: applied((data?.[field] ?? []), event, chunk) };
    });
}
/** Applies the event of a subscription to the list of a query in Relay's store: an `updater` of `requestSubscription`. */
export function updateRecords(store, { field, args, live, ...chunk }) {
    const event = store.getRootField(live);
    if (!event)
        return;
    const records = (of, name, given) => (of.getLinkedRecords(name, given) ?? []).flatMap((record) => (record ? { id: record.getDataID(), record } : []));
    const list = applied(records(store.getRoot(), field, args), {
        kind: event.getValue("kind"),
        added: records(event, "added"),
        changed: records(event, "changed"),
        removed: event.getValue("removed"),
        order: event.getValue("order"),
    }, chunk);
    store.getRoot().setLinkedRecords(list.map(({ record }) => record), field, args);
}
