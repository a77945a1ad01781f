"""The root fields of a surface: their names, and what of these is given already; their arguments and types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from graphql import GraphQLArgument, GraphQLField, GraphQLID, GraphQLList, GraphQLNonNull, GraphQLString

from adalog.schema.typed import names
from adalog.schema.typed.graphql_types import list_arguments, list_of, page_arguments
from adalog.schema.typed.input_types import unique_types
from adalog.schema.typed.model import Model, SurfaceWarning, TypeModel
from adalog.schema.typed.roots import TYPED_ROOT, RootKind, TypedRoot
from adalog.schema.typed.type_table import TypeTable

Roots = dict[str, dict[str, TypedRoot]]
"""Of `Query`, `Mutation` and `Subscription`, by the names of the fields."""

_OPERATIONS: Final[Mapping[RootKind, str]] = {
    **dict.fromkeys(("one", "list", "connection", "node", "nodes"), "Query"),
    **dict.fromkeys(("create", "upsert", "update", "delete", "update_many", "delete_many"), "Mutation"),
    **dict.fromkeys(("live_one", "live_list"), "Subscription"),
}
_WRITES: Final = ("create", "upsert", "update", "update_many")


def roots_of(model: Model, taken: Mapping[str, Collection[str]]) -> tuple[Roots, list[SurfaceWarning]]:
    """The typed root fields. taken: the names of the other fields, by operation."""
    roots: Roots = {name: {} for name in ("Query", "Mutation", "Subscription")}
    roots["Query"] |= {"node": TypedRoot("node"), "nodes": TypedRoot("nodes")}
    warnings = []
    for each in model.types.values():
        for kind, name in _names(each):
            operation = _OPERATIONS[kind]
            if name in taken.get(operation, ()) or name in roots[operation]:
                warnings.append(
                    SurfaceWarning(
                        "NAME_TAKEN",
                        f"{operation}.{name} is no field of {each.name}: the name is given already; choose another "
                        f'one: {{:graphql/namespace :{each.namespace} :graphql/name "Name"}}',
                    )
                )
            else:
                roots[operation][name] = TypedRoot(kind, each)
    return roots, warnings


def _names(each: TypeModel) -> list[tuple[RootKind, str]]:
    many = names.upper(each.plural)
    return [
        ("one", each.singular),
        ("list", each.plural),
        ("connection", f"{each.plural}Connection"),
        ("create", f"create{each.name}"),
        ("upsert", f"upsert{each.name}"),
        ("update", f"update{each.name}"),
        ("delete", f"delete{each.name}"),
        ("update_many", f"update{many}"),
        ("delete_many", f"delete{many}"),
        ("live_one", f"{each.singular}Live"),
        ("live_list", f"{each.plural}Live"),
    ]


def fields_of(table: TypeTable, roots: Mapping[str, TypedRoot]) -> dict[str, GraphQLField]:
    """The fields in GraphQL's terms; of types without a field that can be written no mutations that write."""
    return {
        name: _field(table, root)
        for name, root in roots.items()
        if root.kind not in _WRITES or root.model is None or f"{root.model.name}CreateInput" in table
    }


def _field(table: TypeTable, root: TypedRoot) -> GraphQLField:
    of, arguments, text = _signature(table, root)
    arguments = {
        name: each if isinstance(each, GraphQLArgument) else GraphQLArgument(each)
        for name, each in arguments.items()
    }
    return GraphQLField(of, arguments, description=text, extensions={TYPED_ROOT: root})


def _signature(table: TypeTable, root: TypedRoot) -> tuple[Any, dict[str, Any], str]:
    """(the type, the arguments, the description)"""
    kind, each = root.kind, root.model
    if each is None:
        node = table["Node"]
        viewer = {"as": table["AsInput"]}
        if kind == "node":
            return node, {"id": GraphQLNonNull(GraphQLID), **viewer}, "The entity with an id, whatever its type."
        ids = GraphQLNonNull(list_of(GraphQLID))
        return GraphQLNonNull(GraphQLList(node)), {"ids": ids, **viewer}, "Entities by their ids, in this order."
    name, many = each.name, each.plural
    basis = {"basis": table["BasisInput"], "as": table["AsInput"]}
    match kind:
        case "one":
            keys = {key: table[scalar] for key, scalar in unique_types(each).items() if key not in basis}
            text = f"The {each.singular} with this id or unique value. Give exactly one."
            return table[name], {"id": GraphQLID, **keys, **basis}, text
        case "list":
            of = GraphQLNonNull(list_of(table[name]))
            return of, {**list_arguments(table, name), **basis}, f"A list of {many}."
        case "connection":
            of = GraphQLNonNull(table[f"{name}Connection"])
            return of, {**page_arguments(table, name), **basis}, f"Pages of {many}, on one snapshot."
        case "live_one":
            of = GraphQLNonNull(table[f"{name}LiveEvent"])
            by = {"by": _by(table, name), "resume": GraphQLString}
            return of, by, f"One {each.singular}, kept up to date."
        case "live_list":
            of = GraphQLNonNull(table[f"{name}LiveEvent"])
            listed = list_arguments(table, name)
            del listed["offset"]
            # All of them, where the client says nothing else.
            listed["first"] = GraphQLArgument(listed["first"].type)
            return of, {**listed, "resume": GraphQLString}, f"A list of {many}, kept up to date."
        case _:
            return _mutation(table, kind, each)


def _mutation(table: TypeTable, kind: RootKind, each: TypeModel) -> tuple[Any, dict[str, Any], str]:
    name, many = each.name, each.plural
    long = table["Long"]
    once = {"idempotencyKey": GraphQLString, "expectedBasisT": long}
    by = {"by": _by(table, name)}
    several = {"where": GraphQLNonNull(table[f"{name}Where"])}
    expected = {
        "expected": GraphQLArgument(GraphQLNonNull(long), description="How many it must be; else it is refused.")
    }
    deleted = GraphQLNonNull(table["DeletePayload"])
    if kind == "delete":
        return deleted, {**by, **once}, f"Deletes one {each.singular}."
    if kind == "delete_many":
        return deleted, {**several, **expected, **once}, f"Deletes {many}."
    if kind in ("create", "upsert"):
        given = {"input": GraphQLNonNull(table[f"{name}CreateInput"])}
        text = "A new" if kind == "create" else "A new or, by its unique identity, changed"
        return GraphQLNonNull(table[f"{name}Payload"]), {**given, **once}, f"{text} {each.singular}."
    changes = {"set": GraphQLNonNull(table[f"{name}UpdateInput"])}
    if kind == "update":
        return GraphQLNonNull(table[f"{name}Payload"]), {**by, **changes, **once}, f"Changes one {each.singular}."
    of = GraphQLNonNull(table[f"{names.upper(many)}Payload"])
    return of, {**several, **changes, **expected, **once}, f"Changes {many}."


def _by(table: TypeTable, name: str) -> Any:
    return GraphQLNonNull(table[f"{name}Unique"])
