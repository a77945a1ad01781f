/** The nodes and edges of an answer: columns of entities in a row are joined, the first with the second and so on. */

import type { Json, Long } from "@adalog/client";
import type { Answer } from "../server/answers.js";

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

export interface Elements {
  readonly nodes: readonly string[];
  readonly edges: readonly Edge[];
  /** How many nodes there would be without the bound. */
  readonly total: number;
}

export const MOST_NODES = 500;

/** The places of the columns that show entities. */
function entityColumns({ columns }: Answer): number[] {
  return columns.flatMap(({ type }, i) => (type === "ref" ? [i] : []));
}

function mapColumns({ columns }: Answer): number[] {
  return columns.flatMap(({ type }, i) => (type === "map" ? [i] : []));
}

/** Whether rows have two entities, or maps of pulls that hold some. */
export function invitesGraph(answer: Answer): boolean {
  if (answer.rows.length === 0) return false;
  return entityColumns(answer).length > 1 || mapColumns(answer).some((place) => edgesWithin(answer.rows[0]?.[place] ?? null).length > 0);
}

export function elementsOf(answer: Answer): Elements {
  const places = entityColumns(answer);
  const maps = mapColumns(answer);
  const found: Edge[] = [];
  for (const row of answer.rows) {
    for (const [i, place] of places.slice(1).entries()) {
      const [from, to] = [row[places[i] ?? 0], row[place]];
      if (from !== null && from !== undefined && to !== null && to !== undefined) found.push({ from: String(from), to: String(to), label: "" });
    }
    for (const place of maps) found.push(...edgesWithin(row[place] ?? null));
  }
  return bounded(found, MOST_NODES);
}

/** The edges among the first nodes. */
export function bounded(found: readonly Edge[], most: number): Elements {
  const all = new Set<string>();
  for (const { from, to } of found) all.add(from).add(to);
  const nodes = new Set([...all].slice(0, most));
  const edges = new Map(found.filter(({ from, to }) => nodes.has(from) && nodes.has(to)).map((edge) => [`${edge.from} ${edge.label} ${edge.to}`, edge]));
  return { nodes: [...nodes], edges: [...edges.values()], total: all.size };
}

type Pulled = { readonly [key: string]: Json };

function isEntity(value: Json): value is { ":db/id": Long } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && ":db/id" in value;
}

/** From an entity of a pull to those within it. */
export function edgesWithin(value: Json): Edge[] {
  if (Array.isArray(value)) return value.flatMap(edgesWithin);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value as Pulled).flatMap(([label, each]) => {
    const targets = (Array.isArray(each) ? each : [each]).filter(isEntity);
    const own = isEntity(value) ? targets.map((target) => ({ from: String(value[":db/id"]), to: String(target[":db/id"]), label })) : [];
    return [...own, ...edgesWithin(each)];
  });
}
