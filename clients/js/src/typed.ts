/** Typed documents: queries and mutations with their types, and subscriptions of lists that are kept up to date. */

import { Kind, parse, print, type DocumentNode, type FieldNode, type OperationDefinitionNode, type SelectionSetNode } from "graphql";

import type { Client, GraphqlOptions } from "./client.js";
import { EntityList, type Entity } from "./entity-list.js";
import { AdalogError } from "./errors.js";
import type { LiveQuery, LiveSource, StreamOptions } from "./live.js";

export type { Entity, ListEvent } from "./entity-list.js";
export { applied } from "./entity-list.js";
export { resubscribing, socketTokens, type Sink, type SubscribedDocument, type Subscriber, type TokenSource } from "./token-renewal.js";
export {
  updateConnection,
  updateList,
  updateRecords,
  type ConnectionPlace,
  type ListPlace,
  type RecordPlace,
  type RelayRecord,
  type RelayStore,
  type UpdatableCache,
} from "./caches.js";

/**
 * A document with the types of its data and variables: what `graphql-codegen` makes, as an AST (`TypedDocumentNode`) or as text
 * (`TypedDocumentString`); or a document or text without types.
 */
export type TypedDocument<Data, Variables> = (DocumentNode | { toString(): string }) & {
  /** For types alone. */
  __apiType?: (variables: Variables) => Data;
};

/** The entities of a subscription such as `issuesLive`: those that its `added` shows. Without types of its data they have any fields. */
export type EntityOf<Data> = unknown extends Data
  ? Record<string, any>
  : Exclude<
      { [Field in keyof Data]-?: NonNullable<Data[Field]> extends { readonly added: ReadonlyArray<infer Row> } ? Row : never }[keyof Data],
      undefined
    >;

/** Sends a query or mutation, once. */
export function request<Data, Variables extends Record<string, unknown>>(
  client: Client,
  document: TypedDocument<Data, Variables>,
  variables?: Variables,
  options?: GraphqlOptions,
): Promise<Data> {
  return client.graphql<Data>(textOf(document), plainVariables(variables ?? {}), options);
}

/**
 * Subscribes to the list of a typed subscription, such as `issuesLive` or `issueLive`, and keeps it up to date: `rows` are its entities
 * in their order, each the same object for as long as nothing of it changes. The document selects what is shown of `added`; all else that
 * is needed (`changed`, `removed`, `order`, `id`, the position to resume at) is selected by itself.
 */
export function liveList<Data, Variables extends Record<string, unknown>>(
  client: Client,
  document: TypedDocument<Data, Variables>,
  variables?: Variables,
  options?: StreamOptions<EntityOf<Data> & Entity>,
): LiveQuery<EntityOf<Data> & Entity> {
  return client.follow(listSource<EntityOf<Data> & Entity>(textOf(document), plainVariables(variables ?? {})), options);
}

/** The text of a document; one that was generated as an AST is printed. */
export function textOf(document: TypedDocument<never, never> | TypedDocument<unknown, never>): string {
  return typeof document === "object" && "kind" in document ? print(document) : String(document);
}

/** Variables as JSON: a bigint is the text of a `Long` or `BigInt`. */
function plainVariables(variables: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(variables, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))) as Record<string, unknown>;
}

const prepared = new Map<string, Pick<LiveSource<never>, "document" | "resume">>();
const MOST_PREPARED = 100;

function listSource<Row extends Entity>(text: string, variables: Record<string, unknown>): LiveSource<Row> {
  let known = prepared.get(text);
  if (known === undefined) {
    if (prepared.size >= MOST_PREPARED) prepared.clear();
    prepared.set(text, (known = prepare(text)));
  }
  const { variable } = known.resume;
  return {
    ...known,
    variables: (token) => (token === undefined ? variables : { ...variables, [variable]: token }),
    empty: () => new EntityList<Row>(),
  };
}

/** The document with all that the list needs. */
function prepare(text: string): Pick<LiveSource<never>, "document" | "resume"> {
  const document = parse(text);
  const operations = document.definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  const [operation] = operations;
  const [root, ...others] = operation?.selectionSet.selections ?? [];
  if (operation === undefined || operations.length > 1 || operation.operation !== "subscription" || root?.kind !== Kind.FIELD || others.length > 0) {
    throw new AdalogError("QUERY_INVALID", "liveList takes a document with one subscription of one field, such as issuesLive");
  }
  const { field, operation: whole, variable } = resumable(operation, withEvents(root));
  const definitions = document.definitions.map((each) => (each === operation ? { ...whole, selectionSet: { ...each.selectionSet, selections: [field] } } : each));
  return {
    document: print({ ...document, definitions }),
    resume: { field: (root.alias ?? root.name).value, member: "resume", variable },
  };
}

/** The field with all members of its events. */
function withEvents(root: FieldNode): FieldNode {
  const selections = root.selectionSet?.selections ?? [];
  const named = (name: string) => selections.find((each): each is FieldNode => each.kind === Kind.FIELD && each.name.value === name && each.alias === undefined);
  const added = named("added");
  if (added === undefined) {
    throw new AdalogError("QUERY_INVALID", `${root.name.value} shows the fields that are selected of \`added\`: write ${root.name.value} { added { … } }`);
  }
  const others = selections.filter((each) => each !== added && each !== named("changed"));
  const needed = ["kind", "basisT", "resume", "last", "reason", "removed", "order"].filter((name) => named(name) === undefined);
  const shown = { ...added, selectionSet: withId(added.selectionSet) };
  const changed = { ...shown, name: { ...shown.name, value: "changed" } };
  return { ...root, selectionSet: { kind: Kind.SELECTION_SET, selections: [...needed.map(plain), shown, changed, ...others] } };
}

function withId(shown: SelectionSetNode | undefined): SelectionSetNode {
  return { kind: Kind.SELECTION_SET, selections: [plain("id"), ...(shown?.selections ?? [])] };
}

function plain(name: string): FieldNode {
  return { kind: Kind.FIELD, name: { kind: Kind.NAME, value: name } };
}

/** The field with the argument `resume`, and the operation with its variable, where they have none. */
function resumable(operation: OperationDefinitionNode, field: FieldNode) {
  const given = field.arguments?.find(({ name }) => name.value === "resume");
  if (given?.value.kind === Kind.VARIABLE) return { operation, field, variable: given.value.name.value };
  const variable = "adalogResume";
  const name = { kind: Kind.NAME, value: variable } as const;
  const value = { kind: Kind.VARIABLE, name } as const;
  const type = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: "String" } } as const;
  const argument = { kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: "resume" }, value } as const;
  const others = (field.arguments ?? []).filter((each) => each !== given);
  return {
    operation: { ...operation, variableDefinitions: [...(operation.variableDefinitions ?? []), { kind: Kind.VARIABLE_DEFINITION, variable: value, type } as const] },
    field: { ...field, arguments: [...others, argument] },
    variable,
  };
}
