/** What names the entities of a change: an ident or the value of a unique attribute, also of those that it makes. */

import type { Json, Long } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { ask } from "../server/client.js";
import { attributes } from "../server/database.js";
import type { Transaction } from "../server/transactions.js";

export type Labels = ReadonlyMap<string, string>;

const MOST = 200;
const DOCUMENT =
  "query ($pattern: EDN!, $eids: [EDN!]!, $with: EDN, $withArgs: JSON) { pullMany(pattern: $pattern, eids: $eids, with: $with, withArgs: $withArgs) }";

/** The labels of entities, by their ids as text. transaction: applied first, and not committed. */
export async function labelsOf(ids: readonly Long[], transaction?: Transaction): Promise<Labels> {
  const eids = [...new Set(ids.map(String))].slice(0, MOST);
  const named = attributes.value.filter(({ unique, valueType }) => unique !== null && valueType !== "ref" && valueType !== "tuple");
  const own = named.filter(({ ident }) => ident !== ":db/ident").map(({ ident }) => ident);
  if (eids.length === 0) return new Map();
  const pattern = [":db/ident", ...own];
  const speculative = transaction === undefined ? {} : { with: transaction.tx, ...(transaction.args ? { withArgs: transaction.args } : {}) };
  const { pullMany } = await ask<{ pullMany: (Record<string, Json> | null)[] }>(DOCUMENT, { pattern: `[${pattern.join(" ")}]`, eids, ...speculative });
  const labels = pullMany.map((pulled, i): [string, string] => [eids[i] ?? "", String(pattern.map((name) => pulled?.[name]).find((each) => each !== undefined) ?? "")]);
  return new Map(labels.filter(([, label]) => label !== ""));
}

/** The same for a component; empty until they have come. */
export function useLabels(ids: readonly Long[], transaction?: Transaction): Labels {
  const [labels, setLabels] = useState<Labels>(new Map());
  const key = JSON.stringify([ids, transaction]);
  useEffect(() => {
    let isWanted = true;
    labelsOf(ids, transaction).then(
      (found) => isWanted && setLabels(found),
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [key]);
  return labels;
}
