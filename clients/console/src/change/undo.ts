/** The text of a transaction that reverts another one, to be read and edited before it is run. */

import { attribute } from "../server/database.js";
import type { ChangedDatom, Report } from "../server/transactions.js";

/** The datoms of a report that are not about the transaction itself. */
export function changesOf({ datoms }: Report): readonly ChangedDatom[] {
  const own = new Set(datoms.filter(({ a }) => a === ":db/txInstant").map(({ e }) => String(e)));
  return datoms.filter(({ e }) => !own.has(String(e)));
}

export function undoOf(report: Report): string {
  const changes = changesOf(report);
  const replaced = new Set(changes.filter(({ a, added }) => !added && attribute(a)?.cardinality === "one").map(pairOf));
  const forms = changes
    // What is replaced comes back, and takes the place of the new value.
    .filter((each) => !(each.added && replaced.has(pairOf(each))))
    .map(({ e, a, v, added }) => `[${added ? ":db/retract" : ":db/add"} ${e} ${a} ${v}]`);
  return forms.length === 0 ? "[]" : `[${forms.join("\n ")}]`;
}

function pairOf({ e, a }: ChangedDatom): string {
  return `${e} ${a}`;
}
