/** Entities by their ids, in an order, as the events of a typed subscription keep them. */
import { canonical, Inconsistent } from "./rows.js";
/**
 * The list after an event, for caches that keep lists of their own (Apollo's `updateQuery`, urql's `cache.updateQuery`, Relay's updaters).
 * A snapshot takes the place of the list; `isFirst: false` says that it is another chunk of the same one.
 */
export function applied(list, event, { isFirst = true } = {}) {
    if (event.kind === "PROGRESS" || event.kind === "RESET")
        return list;
    const entities = new Map();
    if (event.kind === "DELTA" || !isFirst)
        for (const row of list)
            entities.set(row.id, row);
    for (const id of event.removed ?? [])
        entities.delete(id);
    for (const row of [...(event.changed ?? []), ...(event.added ?? [])])
        entities.set(row.id, row);
    return inOrder(entities, event.order);
}
function inOrder(entities, order) {
    if (!order)
        return [...entities.values()];
    return order.flatMap((id) => entities.get(id) ?? []);
}
export class EntityList {
    #entities = new Map();
    list() {
        return [...this.#entities.values()].map(({ row }) => row);
    }
    restore(rows) {
        for (const row of rows)
            this.#put(row);
    }
    arrive({ added, order }) {
        this.restore(added ?? []);
        this.#reorder(order);
    }
    change({ added, changed, removed, order }) {
        const gone = [...(removed ?? []), ...(changed ?? []).map(({ id }) => id)].map((id) => {
            const known = this.#entities.get(id);
            if (known === undefined)
                throw new Inconsistent(`an entity that is not there was removed: ${id}`);
            return known.row;
        });
        for (const id of removed ?? [])
            this.#entities.delete(id);
        const come = [...(changed ?? []), ...(added ?? [])];
        this.restore(come);
        return { added: come, retracted: gone, isReordered: this.#reorder(order) };
    }
    differenceTo(next) {
        const added = [];
        const retracted = [];
        for (const [id, known] of next.#entities) {
            const before = this.#entities.get(id);
            if (before?.text === known.text)
                next.#entities.set(id, before);
            else
                added.push(known.row);
        }
        for (const [id, known] of this.#entities) {
            if (next.#entities.get(id)?.text !== known.text)
                retracted.push(known.row);
        }
        const isReordered = [...this.#entities.keys()].join() !== [...next.#entities.keys()].join();
        return { added, retracted, isReordered };
    }
    #put(row) {
        this.#entities.set(row.id, { row, text: canonical(row) });
    }
    /** Whether there is a new order, which is then the list's. */
    #reorder(order) {
        if (!order)
            return false;
        this.#entities = new Map(order.map((id) => {
            const known = this.#entities.get(id);
            if (known === undefined)
                throw new Inconsistent(`the order names an entity that is not there: ${id}`);
            return [id, known];
        }));
        return true;
    }
}
