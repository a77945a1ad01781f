"""The GraphQL schema of a model: the fixed one with its types, fields and root fields.

Nothing below a typed root field is executed by graphql-core; types are here for validation and introspection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLDefaultInput,
    GraphQLEnumType,
    GraphQLEnumValue,
    GraphQLField,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLString,
)

from adalog.schema.typed import names
from adalog.schema.typed.declarations import COUNT
from adalog.schema.typed.input_types import ANY, InputTypes, listed
from adalog.schema.typed.model import OTHER_ENTITY, EnumModel, FieldModel, Model, TypeModel
from adalog.schema.typed.scalar_types import scalar_types
from adalog.schema.typed.type_table import TableSchema, TypeTable

Fields = dict[str, GraphQLField]

_NUMBERS: Final = ("Float", "Long", "BigInt", "Decimal")
_ORDERED: Final = (*_NUMBERS, "String", "DateTime", "Duration", "UUID", "URI", "Keyword", "Symbol")
_COUNTED: Final = ("Boolean", "Bytes")
_SCALARS: Final = scalar_types()
_FIRST: Final = GraphQLDefaultInput(100)
_INTERFACES: Final = ("Node", ANY)


def fixed_names(base: GraphQLSchema) -> frozenset[str]:
    """The names of types that no namespace can have."""
    return frozenset(base.type_map) | frozenset(_table(base, Model(0)))


def schema_of(base: GraphQLSchema, model: Model, roots: Mapping[str, Callable[[TypeTable], Fields]]) -> TableSchema:
    """The schema of a surface. base: the fixed one. roots: what makes the fields of `Query`, `Mutation` and
    `Subscription` besides the fixed ones."""
    table = _table(base, model)
    for name, own in roots.items():
        root = base.type_map[name]
        assert isinstance(root, GraphQLObjectType)
        table.add(name, lambda root=root, own=own: _extended(root, lambda: own(table)))  # type: ignore[misc]
    objects = [*model.types, OTHER_ENTITY]
    return TableSchema(base, table, model, dict.fromkeys(_INTERFACES, objects))


def _extended(root: GraphQLObjectType, own: Callable[[], Fields]) -> GraphQLObjectType:
    return GraphQLObjectType(
        root.name,
        # What is fixed has the name.
        lambda: {**root.fields, **{name: each for name, each in own().items() if name not in root.fields}},
        description=root.description,
        extensions=root.extensions,
    )


def _table(base: GraphQLSchema, model: Model) -> TypeTable:
    roots = {each.name for each in (base.query_type, base.mutation_type, base.subscription_type) if each}
    builtin = {each.name: each for each in (GraphQLID, GraphQLInt, GraphQLBoolean, GraphQLString, GraphQLFloat)}
    fixed = {name: each for name, each in base.type_map.items() if name not in roots}
    table = TypeTable({**builtin, **fixed, **_SCALARS})
    inputs = InputTypes(table)
    outputs = OutputTypes(table, model)
    outputs.add_fixed()
    inputs.add_fixed()
    for enum in model.enums.values():
        inputs.add_enum(enum)
        outputs.add_enum(enum)
    for kind in model.types.values():
        outputs.add_type(kind)
        inputs.add_type(kind)
    return table


class OutputTypes:
    """Adds the types of answers to a table."""

    def __init__(self, table: TypeTable, model: Model) -> None:
        self._table = table
        self._model = model

    def add_fixed(self) -> None:
        self._table.add("SortOrder", lambda: _sort_order())
        self._interface("Node", "What has an id.", lambda: {"id": _id()})
        self._interface(ANY, "An entity, whatever its type.", self._entity)
        self._object(OTHER_ENTITY, "An entity that has the anchor of no type.", self._entity, _INTERFACES)
        self._object("Change", "A datom that a transaction added or retracted.", self._change)
        self._pages("Change", "changes")
        self._object(
            "DeletePayload", "What a deletion did.", lambda: self._payload({"ids": required(list_of(GraphQLID))})
        )
        self._pages(ANY, "entities", counted=True)
        for scalar in (*_ORDERED, *_COUNTED):
            self._object(
                f"{scalar}Aggregate",
                f"Aggregates of values of {scalar}.",
                lambda scalar=scalar: self._aggregates(scalar),  # type: ignore[misc]
            )

    def add_enum(self, each: EnumModel) -> None:
        members = {name: GraphQLEnumValue(name, description=str(ident)) for name, ident in each.members.items()}
        text = f"Idents of the namespace `{each.namespace}`."
        self._table.add(each.name, lambda: GraphQLEnumType(each.name, members, description=text))

    def add_type(self, each: TypeModel) -> None:
        name, many = each.name, each.plural
        text = each.doc or f"Entities of the namespace `{each.namespace}`."
        self._object(name, text, lambda: self._fields(each), _INTERFACES)
        self._pages(name, many, counted=True, grouped=True)
        self._object(f"{name}Aggregate", f"Aggregates of {many}.", lambda: self._aggregate(each))
        self._object(f"{name}Group", f"The {many} that have one key.", lambda: self._group(name))
        self._table.add(f"{name}Field", lambda: self._members(each))
        payload = names.payload_field(each.singular)
        several = names.payload_field(many)
        self._object(
            f"{name}Payload",
            f"What a mutation did to one {each.singular}, as it is at `t`.",
            lambda: self._payload({payload: GraphQLField(self._table[name])}),
        )
        self._object(
            f"{names.upper(many)}Payload",
            f"What a mutation did to {many}, as they are at `t`.",
            lambda: self._payload({several: required(list_of(self._table[name]))}),
        )
        self._object(f"{name}LiveEvent", f"An event of live {many}.", lambda: self._event(name))

    # Entities

    def _entity(self) -> Fields:
        return {
            "id": _id(),
            "ident": GraphQLField(self._table["Keyword"], description="Its `:db/ident`."),
            "attributes": GraphQLField(
                self._table["JSON"], description="All its values by attribute, but those of hidden ones."
            ),
        }

    def _fields(self, each: TypeModel) -> Fields:
        fields = self._entity()
        for name, shown in each.fields.items():
            fields[name] = self._shown(shown)
            if shown.refers and shown.many and f"{name}Connection" not in each.fields:
                target = shown.target or ANY
                fields[f"{name}Connection"] = required(
                    self._table[f"{target}Connection"],
                    page_arguments(self._table, target),
                    f"The same as pages: {name}.",
                )
        history = {"attributes": GraphQLArgument(listed(self._table[f"{each.name}Field"])), **_paging()}
        if not self._table[f"{each.name}Field"].values:
            del history["attributes"]
        fields["history"] = required(
            self._table["ChangeConnection"], history, "Every change of it, the oldest first."
        )
        return fields

    def _shown(self, shown: FieldModel) -> GraphQLField:
        text = shown.doc or (f"Through `{shown.attribute}`." if shown.reverse else f"`{shown.attribute}`")
        if not shown.refers:
            of = self._table[shown.enum or str(shown.scalar)]
            # What is no finite number is null, in lists, too.
            items = GraphQLList(of) if shown.scalar == "Float" else list_of(of)
            return required(items, None, text) if shown.many else GraphQLField(of, description=text)
        target = shown.target or ANY
        if shown.many:
            return required(list_of(self._table[target]), list_arguments(self._table, target), text)
        return GraphQLField(self._table[target], description=text)

    def _members(self, each: TypeModel) -> GraphQLEnumType:
        members: dict[str, GraphQLEnumValue] = {}
        for name, shown in each.fields.items():
            if not shown.reverse:
                members.setdefault(names.capitals(name), GraphQLEnumValue(name, str(shown.attribute)))
        return GraphQLEnumType(f"{each.name}Field", members, description=f"The fields of {each.name}.")

    # Connections

    def _pages(self, name: str, many: str, *, counted: bool = False, grouped: bool = False) -> None:
        def connection() -> Fields:
            fields = {
                "edges": required(list_of(self._table[f"{name}Edge"])),
                "nodes": required(list_of(self._table[name])),
                "pageInfo": required(self._table["PageInfo"]),
            }
            if counted:
                fields["totalCount"] = required(self._table["Long"], None, "Of all pages.")
            if grouped:
                fields["aggregate"] = required(self._table[f"{name}Aggregate"], None, "Of all pages.")
                if self._table[f"{name}Field"].values:
                    by = GraphQLArgument(GraphQLNonNull(listed(self._table[f"{name}Field"])))
                    fields["groupBy"] = required(list_of(self._table[f"{name}Group"]), {"by": by}, "Of all pages.")
            return fields

        self._object(f"{name}Connection", f"A page of {many}.", connection)
        self._object(
            f"{name}Edge",
            f"A place in a list of {many}.",
            lambda: {"cursor": required(GraphQLString), "node": required(self._table[name])},
        )

    def _aggregate(self, each: TypeModel) -> Fields:
        fields = {COUNT: required(self._table["Long"], None, "How many entities there are.")}
        for name, shown in each.fields.items():
            if name != COUNT and f"{shown.scalar}Aggregate" in self._table:
                fields[name] = GraphQLField(self._table[f"{shown.scalar}Aggregate"], description=shown.doc)
        return fields

    def _aggregates(self, scalar: str) -> Fields:
        fields = {COUNT: required(self._table["Long"], None, "How many values there are.")}
        if scalar in _ORDERED:
            fields |= {name: GraphQLField(self._table[scalar]) for name in ("min", "max")}
        if scalar in _NUMBERS:
            wide = "Exact: text beyond 64 bits." if scalar == "Long" else None
            fields["sum"] = GraphQLField(self._table[scalar], description=wide)
            fields["avg"] = GraphQLField(self._table["Decimal" if scalar == "Decimal" else "Float"])
        return fields

    def _group(self, name: str) -> Fields:
        return {
            "key": required(self._table["JSON"], None, "The values of the fields, by their names."),
            "aggregate": required(self._table[f"{name}Aggregate"]),
        }

    # Changes

    def _change(self) -> Fields:
        return {
            "t": required(self._table["Long"]),
            "txInstant": required(self._table["DateTime"]),
            "attribute": required(self._table["Keyword"]),
            "value": required(self._table["JSON"]),
            "added": required(GraphQLBoolean, None, "False for a retraction."),
        }

    def _payload(self, shown: Fields) -> Fields:
        return {**shown, "t": required(self._table["Long"]), "report": required(self._table["TxReport"])}

    def _event(self, name: str) -> Fields:
        entities = list_of(self._table[name])
        return {
            "kind": required(self._table["LiveKind"]),
            "basisT": required(self._table["Long"]),
            "resume": required(GraphQLString, None, "Pass it as `resume` to continue after this event."),
            "first": GraphQLField(
                GraphQLBoolean, description="SNAPSHOT: true on the first chunk, which replaces what was there."
            ),
            "last": GraphQLField(GraphQLBoolean, description="SNAPSHOT: true on the last chunk."),
            "reason": GraphQLField(GraphQLString, description="RESET: why the stream starts over."),
            "added": required(entities),
            "changed": required(entities),
            "removed": required(list_of(GraphQLID)),
            "order": GraphQLField(listed(GraphQLID), description="All ids, when their order changed."),
        }

    def _object(self, name: str, text: str, fields: Callable[[], Fields], interfaces: tuple[str, ...] = ()) -> None:
        self._table.add(
            name,
            lambda: GraphQLObjectType(
                name, fields, lambda: [self._table[each] for each in interfaces], description=text
            ),
        )

    def _interface(self, name: str, text: str, fields: Callable[[], Fields]) -> None:
        self._table.add(name, lambda: GraphQLInterfaceType(name, fields, description=text))


def _sort_order() -> GraphQLEnumType:
    return GraphQLEnumType("SortOrder", {name: GraphQLEnumValue(name) for name in ("ASC", "DESC")})


def list_arguments(table: TypeTable, name: str) -> dict[str, GraphQLArgument]:
    """The arguments of a list of entities."""
    return {
        **_chosen(table, name),
        "first": GraphQLArgument(GraphQLInt, default=_FIRST, description="At most so many."),
        "offset": GraphQLArgument(GraphQLInt, description="How many to leave out before."),
    }


def page_arguments(table: TypeTable, name: str) -> dict[str, GraphQLArgument]:
    """The arguments of a connection."""
    return {**_chosen(table, name), **_paging()}


def _chosen(table: TypeTable, name: str) -> dict[str, GraphQLArgument]:
    arguments = {"where": GraphQLArgument(table[f"{name}Where"])}
    if name != ANY:
        arguments["orderBy"] = GraphQLArgument(
            listed(table[f"{name}OrderBy"]), description="Absent values come last, ties go by id."
        )
    return arguments


def _paging() -> dict[str, GraphQLArgument]:
    return {
        name: GraphQLArgument(GraphQLInt if name in ("first", "last") else GraphQLString)
        for name in ("first", "after", "last", "before")
    }


def _id() -> GraphQLField:
    return required(GraphQLID, None, "The entity id as text.")


def list_of(of: Any) -> Any:
    return GraphQLList(GraphQLNonNull(of))


def required(
    of: Any, arguments: dict[str, GraphQLArgument] | None = None, description: str | None = None
) -> GraphQLField:
    """A field that is never null."""
    return GraphQLField(GraphQLNonNull(of), arguments, description=description)
