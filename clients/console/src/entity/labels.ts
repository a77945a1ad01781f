/** What names entities for a reader: an ident, else the value of a unique attribute, else of one that is called a name or title. */

import type { Json, Long } from "@adalog/client";
import { momentVariables, type Moment } from "../parts/moment.js";
import { ask } from "../server/client.js";
import { attributes, type Attribute } from "../server/database.js";

export type Pulled = Readonly<Record<string, Json>>;

export interface Label {
  readonly text: string;
  /** The entity has an ident, as the members of an enum have. */
  readonly isIdent: boolean;
}

/** Labels by the entities' ids as text. */
export type Labels = ReadonlyMap<string, Label>;

const IDENT = ":db/ident";
const TEXTS = new Set(["string", "keyword", "symbol", "uuid", "uri"]);
const NAMES = /\/(?:.*-)?(?:name|title|label|key|code|slug|email|login|username|summary)$/;
const MOST_ATTRIBUTES = 60;
const MOST_CHARACTERS = 80;

function rank({ ident, unique }: Attribute): number {
  if (ident === IDENT) return 0;
  if (unique) return 1;
  return /\/(?:name|title|label)$/.test(ident) ? 2 : 3;
}

/** The attributes that name entities, the best first. */
function naming(): readonly Attribute[] {
  const fit = attributes.value.filter(
    ({ ident, valueType, cardinality, unique, datomCount }) =>
      cardinality === "one" && datomCount !== 0 && (unique !== null || (TEXTS.has(valueType ?? "") && NAMES.test(ident))) && valueType !== "ref" && valueType !== "tuple",
  );
  return fit.sort((one, other) => rank(one) - rank(other)).slice(0, MOST_ATTRIBUTES);
}

/** The label of an entity of which these values are known. */
export function labelOf(pulled: Pulled): Label | undefined {
  for (const { ident } of naming()) {
    const value = pulled[ident];
    if (value === undefined || value === null || typeof value === "object") continue;
    const text = String(value);
    return { text: text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text, isIdent: ident === IDENT };
  }
  return undefined;
}

const DOCUMENT =
  "query ($pattern: EDN!, $eids: [EDN!]!, $basis: BasisInput, $with: EDN, $withArgs: JSON, $as: AsInput) " +
  "{ pullMany(pattern: $pattern, eids: $eids, basis: $basis, with: $with, withArgs: $withArgs, as: $as) }";

/** The labels of entities, in one request. */
export async function labelsOf(ids: readonly Long[], moment: Moment, signal?: AbortSignal): Promise<Labels> {
  const eids = [...new Set(ids.map(String))];
  const wanted = naming().map(({ ident }) => ident);
  if (eids.length === 0 || wanted.length === 0) return new Map();
  const variables = { pattern: `[${wanted.join(" ")}]`, eids, ...momentVariables(moment) };
  const { pullMany } = await ask<{ pullMany: (Pulled | null)[] }>(DOCUMENT, variables, signal);
  const found = pullMany.map((pulled, i) => [eids[i] ?? "", pulled ? labelOf(pulled) : undefined] as const);
  return new Map(found.filter((each): each is [string, Label] => each[1] !== undefined));
}
