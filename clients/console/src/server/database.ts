/** What the whole page knows of the database: its attributes, its newest transaction, and the identity that asks. */

import { signal } from "@preact/signals";
import type { Long } from "@adalog/client";
import { ask } from "./client.js";

export interface Attribute {
  readonly ident: string;
  readonly valueType: string | null;
  readonly cardinality: string;
  readonly unique: string | null;
  readonly isComponent: boolean;
  readonly doc: string | null;
  readonly datomCount: Long;
}

export interface Database {
  readonly basisT: Long;
  readonly txInstant: string | null;
  readonly datomCount: Long;
  readonly entityCount: Long;
}

export interface Identity {
  readonly principal: string | null;
  readonly roles: readonly string[];
  readonly expires: string | null;
}

export const attributes = signal<readonly Attribute[]>([]);
export const database = signal<Database | undefined>(undefined);
export const identity = signal<Identity | undefined>(undefined);

const DOCUMENT =
  "{ whoami { principal roles expires } database { basisT txInstant datomCount entityCount } " +
  "attributes { ident valueType cardinality unique isComponent doc datomCount } }";

/** Reads all three anew. A refusal is shown by the shell. */
export async function refresh(): Promise<void> {
  const now = await ask<{ whoami: Identity; database: Database; attributes: Attribute[] }>(DOCUMENT);
  identity.value = now.whoami;
  database.value = now.database;
  attributes.value = now.attributes;
}

export function attribute(ident: string): Attribute | undefined {
  return attributes.value.find((each) => each.ident === ident);
}

export function isAdmin(): boolean {
  return identity.value?.roles.includes("admin") ?? false;
}
