/** Entities by their ids, in an order, as the events of a typed subscription keep them. */

import { AdalogError } from "./errors.js";
import type { LiveRows } from "./live.js";
import { canonical, Inconsistent, type Difference } from "./rows.js";
import type { Event } from "./wire.js";

export interface Entity {
  readonly id: string;
}

/** An event of a subscription such as `issuesLive`: what has to be selected of it, for it to be applied to a list. */
export interface ListEvent<Row> {
  readonly kind: "SNAPSHOT" | "DELTA" | "PROGRESS" | "RESET";
  /** Of a snapshot: whether it is the first chunk, which takes the place of the list. Further ones add to it. */
  readonly first: boolean | null;
  readonly added: readonly Row[];
  readonly changed: readonly Row[];
  readonly removed: readonly string[];
  /** All ids, if their order changed. */
  readonly order: readonly string[] | null;
}

const NEEDED = ["kind", "first", "added", "changed", "removed", "order"] as const;

/**
 * The list after an event, for caches that keep lists of their own (Apollo's `updateQuery`, urql's `cache.updateQuery`, Relay's updaters).
 * Throws if something is not selected without which the list would become a wrong one.
 */
export function applied<Row extends Entity>(list: readonly Row[], event: ListEvent<Row>): readonly Row[] {
  const missing = NEEDED.filter((name) => event[name] === undefined);
  if (missing.length > 0) throw new AdalogError("QUERY_INVALID", `the subscription selects all of { ${NEEDED.join(" ")} }; missing: ${missing.join(", ")}`);
  if (event.kind === "PROGRESS" || event.kind === "RESET") return list;
  const entities = new Map<string, Row>();
  if (event.kind === "DELTA" || !event.first) for (const row of list) entities.set(row.id, row);
  for (const id of event.removed) entities.delete(id);
  for (const row of [...event.changed, ...event.added]) entities.set(row.id, row);
  return inOrder(entities, event.order);
}

function inOrder<Row>(entities: ReadonlyMap<string, Row>, order: readonly string[] | null): Row[] {
  if (!order) return [...entities.values()];
  return order.flatMap((id) => entities.get(id) ?? []);
}

interface Known<Row> {
  readonly row: Row;
  readonly text: string;
}

/** What `liveList` selects by itself. */
type ListedEvent<Row> = Event & Partial<ListEvent<Row>>;

export class EntityList<Row extends Entity> implements LiveRows<Row> {
  #entities = new Map<string, Known<Row>>();

  list(): Row[] {
    return [...this.#entities.values()].map(({ row }) => row);
  }

  restore(rows: readonly Row[]): void {
    for (const row of rows) this.#put(row);
  }

  arrive({ added, order }: ListedEvent<Row>): void {
    this.restore(added ?? []);
    this.#reorder(order);
  }

  change({ added, changed, removed, order }: ListedEvent<Row>): Difference<Row> {
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
