/** The rows of a stream as they are shown: those that came lately are marked and stand first, and those that went stay for a moment. */

import type { LiveChange } from "@adalog/client";
import type { Row } from "../server/answers.js";
import type { Mark } from "../table/table.js";

/** How long a row is marked. */
export const FADE_MS = 1600;

interface Marked {
  readonly mark: Mark;
  readonly until: number;
}

export class FadingRows {
  #rows: Row[] = [];
  readonly #marked = new Map<Row, Marked>();

  get rows(): readonly Row[] {
    return this.#rows;
  }

  marks(): Map<Row, Mark> {
    return new Map([...this.#marked].map(([row, { mark }]) => [row, mark]));
  }

  /** When the next mark ends. */
  next(): number | undefined {
    const ends = [...this.#marked.values()].map(({ until }) => until);
    return ends.length === 0 ? undefined : ends.reduce((one, other) => Math.min(one, other));
  }

  apply(changes: readonly LiveChange<Row>[], now: number): void {
    const come: Row[] = [];
    for (const { kind, added, retracted } of changes) {
      if (kind === "snapshot") {
        this.#rows = [...added];
        continue;
      }
      for (const row of retracted) this.#marked.set(row, { mark: "retracted", until: now + FADE_MS });
      for (const row of added) this.#marked.set(row, { mark: "added", until: now + FADE_MS });
      come.push(...added);
    }
    if (come.length > 0) this.#rows = [...come.reverse(), ...this.#rows];
  }

  /** Ends the marks whose time is over. Says whether there were some. */
  settle(now: number): boolean {
    const gone = new Set<Row>();
    let any = false;
    for (const [row, { mark, until }] of this.#marked) {
      if (until > now) continue;
      any = true;
      this.#marked.delete(row);
      if (mark === "retracted") gone.add(row);
    }
    if (gone.size > 0) this.#rows = this.#rows.filter((row) => !gone.delete(row));
    return any;
  }
}
