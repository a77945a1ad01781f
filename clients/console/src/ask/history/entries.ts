/** The queries that were asked of this server from this browser, the newest first, in the browser's storage. */

import { signal } from "@preact/signals";
import type { Basis } from "@adalog/client";
import { endpoint } from "../../server/client.js";

export interface Entry {
  readonly query: string;
  readonly argsEdn: readonly string[];
  readonly basis?: Basis | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly rows: number;
  readonly ms: number;
}

const KEY = `adalog:history:${endpoint}`;
const MOST = 200;
const MOST_CHARACTERS = 500_000;

export const entries = signal<readonly Entry[]>(stored());

function stored(): readonly Entry[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is Entry {
  const entry = value as Partial<Entry> | null;
  return typeof entry?.query === "string" && Array.isArray(entry.argsEdn) && typeof entry.at === "number";
}

/** Puts a question first; the same one further down goes, and the oldest ones where there are too many. */
export function remember(entry: Entry): void {
  const others = stored().filter((each) => keyOf(each) !== keyOf(entry));
  let size = 0;
  const kept = [entry, ...others].slice(0, MOST).filter((each) => (size += keyOf(each).length) <= MOST_CHARACTERS);
  keep(kept);
}

export function forgetAll(): void {
  keep([]);
}

function keep(kept: readonly Entry[]): void {
  entries.value = kept;
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // A full storage, or none: the history lasts as long as the page.
  }
}

export function keyOf({ query, argsEdn, basis }: Pick<Entry, "query" | "argsEdn" | "basis">): string {
  return JSON.stringify([query, argsEdn, basis ?? null]);
}
