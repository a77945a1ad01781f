/** What changed about an entity: each value that came or went, when, and by whom. */

import type { Json, Long } from "@adalog/client";
import type { Moment } from "../parts/moment.js";
import { answerOf } from "../server/answers.js";

export interface Change {
  readonly attribute: string;
  readonly value: Json;
  readonly isAdded: boolean;
  /** The number of the transaction. */
  readonly t: Long;
  /** The entity of the transaction. */
  readonly transaction: Long;
  readonly instant: string;
  /** The principal of the transaction, if it has one that the caller may see. */
  readonly principal: string | null;
}

const QUERY = `[:find ?a ?v ?t ?tx ?added ?when ?who
 :in $ ?e
 :where [?e ?a ?v ?tx ?added]
        [?tx :db/txInstant ?when]
        [(tx->t ?tx) ?t]
        (optional [?tx :db/principal ?who])]`;

/** The changes until a moment, the newest first. `id`: an EDN text that names the entity. */
export async function historyOf(id: Long | string, { basis, as }: Moment, signal?: AbortSignal): Promise<readonly Change[]> {
  const question = { query: QUERY, argsEdn: [String(id)], basis: { ...basis, history: true }, as };
  const { rows } = await answerOf(question, signal);
  const changes = rows.map(([attribute, value, t, transaction, isAdded, instant, principal]) => ({
    attribute: String(attribute),
    value: value ?? null,
    isAdded: isAdded === true,
    t: t as Long,
    transaction: transaction as Long,
    instant: String(instant),
    principal: typeof principal === "string" ? principal : null,
  }));
  // What one transaction puts in place of a value: the new one first.
  return changes.sort((one, other) => Number(other.t) - Number(one.t) || Number(other.isAdded) - Number(one.isAdded));
}
