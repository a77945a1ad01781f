/** Entities by their ids, in an order, as the events of a typed subscription keep them. */

import type { LiveRows } from "./live.js";
import { canonical, Inconsistent, type Difference } from "./rows.js";
import type { Event } from "./wire.js";

export interface Entity {
  readonly id: string;
}

/** An event of a subscription such as `issuesLive`, as far as it changes a list. */
export interface ListEvent<Row> {
  readonly kind: "SNAPSHOT" | "DELTA" | "PROGRESS" | "RESET";
  readonly added?: readonly Row[] | null;
  readonly changed?: readonly Row[] | null;
  readonly removed?: readonly string[] | null;
  /** All ids, if their order changed. */
  readonly order?: readonly string[] | null;
}

/**
 * The list after an event, for caches that keep lists of their own (Apollo's `updateQuery`, urql's `cache.updateQuery`, Relay's updaters).
 * A snapshot takes the place of the list; `isFirst: false` says that it is another chunk of the same one.
 */
export function applied<Row extends Entity>(list: readonly Row[], event: ListEvent<Row>, { isFirst = true } = {}): readonly Row[] {
  if (event.kind === "PROGRESS" || event.kind === "RESET") return list;
  const entities = new Map<string, Row>();
  if (event.kind === "DELTA" || !isFirst) for (const row of list) entities.set(row.id, row);
  for (const id of event.removed ?? []) entities.delete(id);
  for (const row of [...(event.changed ?? []), ...(event.added ?? [])]) entities.set(row.id, row);
  return inOrder(entities, event.order);
}

function inOrder<Row>(entities: ReadonlyMap<string, Row>, order: readonly string[] | null | undefined): Row[] {
  if (!order) return [...entities.values()];
  return order.flatMap((id) => entities.get(id) ?? []);
}

interface Known<Row> {
  readonly row: Row;
  readonly text: string;
}

export class EntityList<Row extends Entity> implements LiveRows<Row> {
  #entities = new Map<string, Known<Row>>();

  list(): Row[] {
    return [...this.#entities.values()].map(({ row }) => row);
  }

  restore(rows: readonly Row[]): void {
    for (const row of rows) this.#put(row);
  }

  arrive({ added, order }: Event & ListEvent<Row>): void {
    this.restore(added ?? []);
    this.#reorder(order);
  }

  change({ added, changed, removed, order }: Event & ListEvent<Row>): Difference<Row> {
    const gone = [...(removed ?? []), ...(changed ?? []).map(({ id }) => id)].map((id) => {
      const known = this.#entities.get(id);
      if (known === undefined) throw new Inconsistent(`an entity that is not there was removed: ${id}`);
      return known.row;
    });
    for (const id of removed ?? []) this.#entities.delete(id);
    const come = [...(changed ?? []), ...(added ?? [])];
    this.restore(come);
    return { added: come, retracted: gone, isReordered: this.#reorder(order) };
  }

  differenceTo(next: EntityList<Row>): Difference<Row> {
    const added: Row[] = [];
    const retracted: Row[] = [];
    for (const [id, known] of next.#entities) {
      const before = this.#entities.get(id);
      if (before?.text === known.text) next.#entities.set(id, before);
      else added.push(known.row);
    }
    for (const [id, known] of this.#entities) {
      if (next.#entities.get(id)?.text !== known.text) retracted.push(known.row);
    }
    const isReordered = [...this.#entities.keys()].join() !== [...next.#entities.keys()].join();
    return { added, retracted, isReordered };
  }

  #put(row: Row): void {
    this.#entities.set(row.id, { row, text: canonical(row) });
  }

  /** Whether there is a new order, which is then the list's. */
  #reorder(order: readonly string[] | null | undefined): boolean {
    if (!order) return false;
    this.#entities = new Map(order.map((id) => {
      const known = this.#entities.get(id);
      if (known === undefined) throw new Inconsistent(`the order names an entity that is not there: ${id}`);
      return [id, known];
    }));
    return true;
  }
}
