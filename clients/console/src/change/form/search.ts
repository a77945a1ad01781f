/** Entities by a text: an id, an ident, a lookup ref, or the beginning of what a unique attribute says. */

import type { Json } from "@adalog/client";
import { ask } from "../../server/client.js";
import { attributes } from "../../server/database.js";
import { labelsOf } from "../../entity/labels.js";

export interface Found {
  /** EDN: the entity's number. */
  readonly id: string;
  readonly label: string;
}

const MOST_ATTRIBUTES = 8;
const MOST_FOUND = 8;
const ENTITY = "query ($eid: EDN!) { pull(pattern: \"[:db/id]\", eid: $eid) }";
const QUERY = "query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows } }";

export async function entitiesOf(typed: string): Promise<readonly Found[]> {
  const text = typed.trim();
  if (text === "") return [];
  if (/^(\d+$|:|\[)/.test(text)) {
    const { pull } = await ask<{ pull: Record<string, Json> | null }>(ENTITY, { eid: text });
    const id = pull?.[":db/id"];
    if (id === undefined || id === null) return [];
    const labels = await labelsOf([String(id)], {});
    return [{ id: String(id), label: labels.get(String(id))?.text ?? text }];
  }
  const asked = searched().map(async (ident) => {
    const query = `[:find ?e ?v :in $ ?text :where [?e ${ident} ?v] [(starts-with? ?v ?text)] :order-by ?v :limit ${MOST_FOUND}]`;
    const { q } = await ask<{ q: { rows: [Json, Json][] } }>(QUERY, { query, args: [text] });
    return q.rows.map(([id, value]): Found => ({ id: String(id), label: `${String(value)} · ${ident}` }));
  });
  return (await Promise.all(asked)).flat();
}

/** Attributes with texts that name entities: unique ones, else those that are called a name or title. */
function searched(): string[] {
  const texts = attributes.value.filter(({ valueType, datomCount, ident }) => valueType === "string" && datomCount !== 0 && !ident.startsWith(":db"));
  const unique = texts.filter((each) => each.unique !== null);
  const named = texts.filter((each) => each.unique === null && /\/(name|title|label|email|key)$/.test(each.ident));
  return [...unique, ...named].slice(0, MOST_ATTRIBUTES).map(({ ident }) => ident);
}
