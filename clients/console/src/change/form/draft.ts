/** An entity that is being edited, with its parts: what is there, what is typed, and the transaction that makes the difference. */

import type { Long } from "@adalog/client";
import { ask } from "../../server/client.js";
import { attribute, attributes, type Attribute } from "../../server/database.js";
import { isBuiltIn, namespaceOf } from "../../schema/names.js";
import { ednOf, typedOf } from "./values.js";

export interface Entry {
  /** The EDN text of the value that is there; undefined for a new one. */
  readonly stored: string | undefined;
  readonly typed: string;
}

export interface Node {
  /** EDN: an entity's number, or a tempid in quotes. */
  readonly id: string;
  readonly fields: Readonly<Record<string, readonly Entry[]>>;
}

/** The first node is the entity; the others are its parts. */
export type Draft = readonly Node[];

export interface Mistake {
  readonly id: string;
  readonly ident: string;
  readonly place: number;
  readonly message: string;
}

const EMPTY: Entry = { stored: undefined, typed: "" };
const DOCUMENT = "query ($components: [EDN!]!) { datoms(index: EAVT, components: $components, encoding: EDN) { datoms { e a v } } }";

/** A new entity with an empty field for each attribute of a namespace. */
export function newNode(id: string, namespace: string): Node {
  return { id, fields: withNamespaces({}, new Set([namespace])) };
}

/** The entity with its parts; undefined where there is nothing of it. eid: EDN. */
export async function loaded(eid: string): Promise<Draft | undefined> {
  const node = await loadedNode(eid);
  if (node === undefined) return undefined;
  const parts = Object.entries(node.fields).flatMap(([ident, entries]) => (attribute(ident)?.isComponent ? entries : []));
  const found = await Promise.all(parts.flatMap(({ stored }) => (stored === undefined ? [] : [loadedNode(stored)])));
  return [node, ...found.filter((each) => each !== undefined)];
}

async function loadedNode(eid: string): Promise<Node | undefined> {
  const { datoms } = (await ask<{ datoms: { datoms: { e: Long; a: string; v: string }[] } }>(DOCUMENT, { components: [eid] })).datoms;
  const [first] = datoms;
  if (first === undefined) return undefined;
  const fields: Record<string, Entry[]> = {};
  for (const { a, v } of datoms) (fields[a] ??= []).push({ stored: v, typed: typedOf(v, attribute(a)?.valueType ?? null) });
  const own = new Set(Object.keys(fields).filter((ident) => !isBuiltIn(ident)).map(namespaceOf));
  return { id: String(first.e), fields: withNamespaces(fields, own) };
}

function withNamespaces(fields: Record<string, readonly Entry[]>, names: ReadonlySet<string>): Record<string, readonly Entry[]> {
  const missing = attributes.value.filter(({ ident }) => names.has(namespaceOf(ident)) && !(ident in fields));
  return { ...fields, ...Object.fromEntries(missing.map(({ ident }) => [ident, [EMPTY]])) };
}

export function withEntries(draft: Draft, id: string, ident: string, entries: readonly Entry[]): Draft {
  return draft.map((node) => (node.id === id ? { ...node, fields: { ...node.fields, [ident]: entries } } : node));
}

/** A further part of an entity, of a namespace. */
export function withPart(draft: Draft, id: string, ident: string, namespace: string): Draft {
  const tempid = JSON.stringify(`part-${draft.length}`);
  const entries = (draft.find((node) => node.id === id)?.fields[ident] ?? []).filter(({ stored, typed }) => stored !== undefined || typed !== "");
  const added: Entry = { stored: undefined, typed: tempid };
  const all = attribute(ident)?.cardinality === "many" ? [...entries, added] : [added];
  return [...withEntries(draft, id, ident, all), newNode(tempid, namespace)];
}

/** The transaction of a draft, or what is wrong with it. before: as it was loaded; undefined for a new entity. */
export function transactionOf(draft: Draft, before: Draft | undefined): { readonly text: string; readonly mistakes: readonly Mistake[] } {
  const lines: string[] = [];
  const mistakes: Mistake[] = [];
  for (const node of draft) {
    // A part that is taken out again is not written.
    if (node !== draft[0] && !refersTo(draft, node.id)) continue;
    const old = before?.find(({ id }) => id === node.id);
    for (const [ident, entries] of Object.entries(node.fields)) {
      const now: string[] = [];
      entries.forEach(({ stored, typed }, place) => {
        const type = attribute(ident)?.valueType ?? null;
        if (stored === undefined && typed === "") return;
        if (stored !== undefined && typed === typedOf(stored, type)) return void now.push(stored);
        // An emptied field is a value that goes; of strings, too.
        if (typed === "") return;
        try {
          now.push(ednOf(typed, type));
        } catch (error) {
          mistakes.push({ id: node.id, ident, place, message: (error as Error).message });
        }
      });
      const was = (old?.fields[ident] ?? []).flatMap(({ stored }) => (stored === undefined ? [] : [stored]));
      const came = now.filter((each) => !was.includes(each));
      const went = was.filter((each) => !now.includes(each));
      const isReplaced = attribute(ident)?.cardinality === "one" && came.length > 0;
      if (!isReplaced) lines.push(...went.map((value) => goes(node.id, ident, value)));
      lines.push(...came.map((value) => `[:db/add ${node.id} ${ident} ${value}]`));
    }
  }
  return { text: lines.length === 0 ? "[]" : `[${lines.join("\n ")}]`, mistakes };
}

// A part belongs to its whole alone.
function goes(id: string, ident: string, value: string): string {
  return attribute(ident)?.isComponent ? `[:db/retractEntity ${value}]` : `[:db/retract ${id} ${ident} ${value}]`;
}

function refersTo(draft: Draft, id: string): boolean {
  return draft.some(({ fields }) => Object.values(fields).some((entries) => entries.some(({ typed }) => typed === id)));
}

/** Attributes that a node has no field for yet. */
export function furtherAttributes({ fields }: Node): Attribute[] {
  return attributes.value.filter(({ ident }) => !(ident in fields) && !isBuiltIn(ident));
}
