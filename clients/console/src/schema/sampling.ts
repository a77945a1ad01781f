/** What refs point at, by a sample of their values: from the namespace of an attribute to those of the attributes of its targets. */

import type { Json } from "@adalog/client";
import { ask } from "../server/client.js";
import { attributes } from "../server/database.js";
import { isBuiltIn, namespaceOf } from "./names.js";

export interface Reference {
  readonly from: string;
  readonly to: string;
  /** The attribute's name. */
  readonly label: string;
}

const MOST_ATTRIBUTES = 100;
const MOST_VALUES = 20;
const QUERY = "query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args, timeoutMs: 10000) { rows } }";
const NAMES = "[:find ?e ?name :in $ [?e ...] :where [?e ?a] [?a :db/ident ?name]]";
const IDENTS = "[:find ?e ?name :in $ [?e ...] :where [?e :db/ident ?name]]";

async function rows(query: string, args: readonly Json[] = []): Promise<readonly (readonly Json[])[]> {
  return (await ask<{ q: { rows: Json[][] } }>(QUERY, { query, args })).q.rows;
}

export async function references(): Promise<readonly Reference[]> {
  const refs = attributes.value.filter(({ ident, valueType, datomCount }) => valueType === "ref" && datomCount !== 0 && !isBuiltIn(ident)).slice(0, MOST_ATTRIBUTES);
  const sampled = await Promise.all(
    refs.map(async ({ ident }) => ({ ident, targets: (await rows(`[:find ?v :where [_ ${ident} ?v] :limit ${MOST_VALUES}]`)).map(([value]) => String(value)) })),
  );
  const targets = [...new Set(sampled.flatMap((each) => each.targets))].map(Number);
  if (targets.length === 0) return [];
  // Members of an enum have an ident, whose namespace is theirs.
  const [names, idents] = await Promise.all([rows(NAMES, [targets]), rows(IDENTS, [targets])]);
  const known = new Map<string, Set<string>>();
  const learn = (target: Json | undefined, ident: Json | undefined) => {
    const name = String(ident);
    if (!isBuiltIn(name)) known.set(String(target), (known.get(String(target)) ?? new Set()).add(namespaceOf(name)));
  };
  for (const [target, ident] of [...names, ...idents]) learn(target, ident);
  const found = sampled.flatMap(({ ident, targets: own }) =>
    [...new Set(own.flatMap((target) => [...(known.get(target) ?? [])]))].map((to): Reference => ({ from: namespaceOf(ident), to, label: ident })),
  );
  return found;
}
