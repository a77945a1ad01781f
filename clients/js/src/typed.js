/** Typed documents: queries and mutations with their types, and subscriptions of lists that are kept up to date. */
import { Kind, parse, print } from "graphql";
import { EntityList } from "./entity-list.js";
import { AdalogError } from "./errors.js";
export { applied } from "./entity-list.js";
export { updateList, updateRecords } from "./caches.js";
/** Sends a query or mutation, once. */
export function request(client, document, variables, options) {
    return client.graphql(textOf(document), variables, options);
}
/**
 * Subscribes to the list of a typed subscription, such as `issuesLive` or `issueLive`, and keeps it up to date: `rows` are its entities
 * in their order, each the same object for as long as nothing of it changes. The document selects what is shown of `added`; all else that
 * is needed (`changed`, `removed`, `order`, `id`, the position to resume at) is selected by itself.
 */
export function liveList(client, document, variables, options) {
    return client.follow(listSource(textOf(document), variables ?? {}), options);
}
/** The text of a document; one that was generated as an AST is printed. */
export function textOf(document) {
    return typeof document === "object" && "kind" in document ? print(document) : String(document);
}
const prepared = new Map();
const MOST_PREPARED = 100;
function listSource(text, variables) {
    let known = prepared.get(text);
    if (known === undefined) {
        if (prepared.size >= MOST_PREPARED)
            prepared.clear();
        prepared.set(text, (known = prepare(text)));
    }
    const { variable } = known.resume;
    return {
        ...known,
        variables: (token) => (token === undefined ? variables : { ...variables, [variable]: token }),
        empty: () => new EntityList(),
    };
}
/** The document with all that the list needs. */
function prepare(text) {
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
function withEvents(root) {
    const selections = root.selectionSet?.selections ?? [];
    const named = (name) => selections.find((each) => each.kind === Kind.FIELD && each.name.value === name && each.alias === undefined);
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
function withId(shown) {
    return { kind: Kind.SELECTION_SET, selections: [plain("id"), ...(shown?.selections ?? [])] };
}
function plain(name) {
    return { kind: Kind.FIELD, name: { kind: Kind.NAME, value: name } };
}
/** The field with the argument `resume`, and the operation with its variable, where they have none. */
function resumable(operation, field) {
    const given = field.arguments?.find(({ name }) => name.value === "resume");
    if (given?.value.kind === Kind.VARIABLE)
        return { operation, field, variable: given.value.name.value };
    const variable = "adalogResume";
    const name = { kind: Kind.NAME, value: variable };
    const value = { kind: Kind.VARIABLE, name };
    const type = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: "String" } };
    const argument = { kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: "resume" }, value };
    const others = (field.arguments ?? []).filter((each) => each !== given);
    return {
        operation: { ...operation, variableDefinitions: [...(operation.variableDefinitions ?? []), { kind: Kind.VARIABLE_DEFINITION, variable: value, type }] },
        field: { ...field, arguments: [...others, argument] },
        variable,
    };
}
