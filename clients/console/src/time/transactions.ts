/** Transactions: their entities, and their instants, asked for by number and never all. */

import type { Long } from "@adalog/client";
import { ask } from "../server/client.js";

/** The entity of transaction 0; those of others follow it. */
export const TX_BASE = 2 ** 42;

const INSTANTS =
  'query ($t: [EDN!]) { q(query: "[:find ?t ?at :in $ [?t ...] :where [(t->tx ?t) ?tx] [?tx :db/txInstant ?at]]", argsEdn: $t) { rows } }';
const LAST = "query ($basis: BasisInput) { q(query: \"[:find ?x :where [(ground 1) ?x]]\", basis: $basis) { basisT } }";

const known = new Map<number, string>();

/** The instants of transactions, as ISO texts; those that the caller may not see are left out. */
export async function instantsOf(ts: readonly number[], signal?: AbortSignal): Promise<ReadonlyMap<number, string>> {
  const missing = [...new Set(ts)].filter((t) => !known.has(t));
  if (missing.length > 0) {
    const { q } = await ask<{ q: { rows: readonly [Long, string][] } }>(INSTANTS, { t: [`[${missing.join(" ")}]`] }, signal);
    for (const [t, at] of q.rows) known.set(Number(t), at);
  }
  return new Map(ts.flatMap((t) => (known.has(t) ? [[t, known.get(t) ?? ""]] : [])));
}

/** The last transaction at an instant. */
export async function transactionAt(instant: Date, signal?: AbortSignal): Promise<number> {
  const { q } = await ask<{ q: { basisT: Long } }>(LAST, { basis: { asOf: instant.toISOString() } }, signal);
  return Number(q.basisT);
}
