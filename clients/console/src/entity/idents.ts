/** What the members of enums are called in tables: entities with an ident have ids of a range of their own. */

import { signal } from "@preact/signals";
import type { Json } from "@adalog/client";
import { ask } from "../server/client.js";
import type { Answer, As } from "../server/answers.js";

const FIRST = 2 ** 41;
const END = 2 ** 42;
/** More of them are no enums. */
const MOST = 1000;

const DOCUMENT = 'query ($eids: [EDN!]!, $as: AsInput) { pullMany(pattern: "[:db/ident]", eids: $eids, as: $as) }';

const known = signal<ReadonlyMap<string, string>>(new Map());

function keyOf(id: Json | undefined, as: As | undefined): string {
  return `${String(id)} ${as ? JSON.stringify(as) : ""}`;
}

function isNamed(id: Json | undefined): boolean {
  return Number(id) > FIRST && Number(id) < END;
}

/** Its ident now, once that is known; undefined for entities without one, and where the identity does not see it. */
export function identOf(id: Json | undefined, as: As | undefined): string | undefined {
  return isNamed(id) ? known.value.get(keyOf(id, as)) : undefined;
}

/** Asks for the idents of the entities that an answer shows. Without them their ids are shown. */
export async function learn({ columns, rows, question: { as } }: Answer): Promise<void> {
  const places = columns.flatMap(({ type }, i) => (type === "ref" ? [i] : []));
  const found = new Set<string>();
  for (const row of rows) for (const i of places) if (isNamed(row[i]) && !known.peek().has(keyOf(row[i], as))) found.add(String(row[i]));
  if (found.size === 0 || found.size > MOST) return;
  const eids = [...found];
  const { pullMany } = await ask<{ pullMany: ({ ":db/ident"?: string } | null)[] }>(DOCUMENT, { eids, ...(as ? { as } : {}) });
  const named = eids.flatMap((id, i) => {
    const ident = pullMany[i]?.[":db/ident"];
    return ident === undefined ? [] : [[keyOf(id, as), ident] as const];
  });
  known.value = new Map([...known.peek(), ...named]);
}
