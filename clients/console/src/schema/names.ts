/** Names of attributes: their namespaces, and which are built in. */

import { attributes, type Attribute } from "../server/database.js";

export function isBuiltIn(ident: string): boolean {
  return /^:(db|db\.\w+|graphql|policy)\//.test(ident);
}

/** Empty for names without one. */
export function namespaceOf(ident: string): string {
  return /^:([^/]+)\//.exec(ident)?.[1] ?? "";
}

export function localOf(ident: string): string {
  return ident.replace(/^:(?:[^/]+\/)?/, "");
}

/** Namespaces with attributes of one's own, in order. */
export function namespaces(): string[] {
  return [...byNamespace(attributes.value.filter(({ ident }) => !isBuiltIn(ident))).keys()];
}

/** Attributes by their namespaces, both in order. */
export function byNamespace(all: readonly Attribute[]): ReadonlyMap<string, readonly Attribute[]> {
  const found = new Map<string, Attribute[]>();
  for (const each of [...all].sort((one, other) => (one.ident < other.ident ? -1 : 1))) {
    const name = namespaceOf(each.ident);
    found.set(name, [...(found.get(name) ?? []), each]);
  }
  return found;
}
