"""GraphQL input types of the typed surface: filters, orders, and the inputs of mutations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphql import (
    GraphQLBoolean,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
)

from adalog.schema.typed.declarations import LOGIC, SCALARS
from adalog.schema.typed.model import EnumModel, FieldModel, TypeModel
from adalog.schema.typed.type_table import TypeTable

_EQUALITY: Final = ("eq", "ne", "in", "notIn")
_ORDER: Final = ("lt", "lte", "gt", "gte")
_TEXT: Final = ("contains", "startsWith", "endsWith", "matches")
_FILTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ID": _EQUALITY,
    "String": (*_EQUALITY, *_ORDER, *_TEXT),
    "Boolean": ("eq", "ne"),
    **dict.fromkeys(("UUID", "URI", "Bytes", "Keyword", "Symbol", "JSON"), _EQUALITY),
    **dict.fromkeys(("Float", "Long", "BigInt", "Decimal", "DateTime", "Duration"), (*_EQUALITY, *_ORDER)),
}
"""The conditions on a scalar; `isNull` is one on each."""
ANY: Final = "Entity"
"""In names of types, an entity of any type."""
Fields = dict[str, GraphQLInputField]


def listed(of: Any) -> Any:
    """`[of!]`"""
    return GraphQLList(GraphQLNonNull(of))


def writable(shown: FieldModel) -> bool:
    """Whether mutations take it: not composite tuples, which follow their parts."""
    return shown.kind.tuple_attrs is None


class InputTypes:
    """Adds the input types to a table, by the names in `names.derived`."""

    def __init__(self, table: TypeTable) -> None:
        self._table = table

    def add_fixed(self) -> None:
        for scalar in ("ID", *dict.fromkeys(SCALARS.values())):
            self._table.add(f"{scalar}Filter", lambda scalar=scalar: self._filter(scalar))  # type: ignore[misc]
        self._input(f"{ANY}Where", lambda: {"id": self._field("IDFilter")}, "Conditions on an entity of any type.")
        self._input(f"{ANY}ListWhere", lambda: self._list_where(ANY), "Conditions on a list of entities.")
        self._input(
            f"{ANY}Unique",
            lambda: {"id": GraphQLInputField(GraphQLID), "ident": self._field("Keyword")},
            "What names one entity of any type.",
            one_of=True,
        )
        self._references(ANY, creates=False)

    def add_enum(self, each: EnumModel) -> None:
        self._table.add(f"{each.name}Filter", lambda: self._filter(each.name))

    def add_type(self, each: TypeModel) -> None:
        name = each.name
        self._input(f"{name}Where", lambda: self._where(each), f"Conditions on {each.plural}.")
        self._input(f"{name}ListWhere", lambda: self._list_where(name), f"Conditions on a list of {each.plural}.")
        self._input(f"{name}OrderBy", lambda: self._order(each), f"An order of {each.plural}.", one_of=True)
        self._input(f"{name}Unique", lambda: self._unique(each), f"What names one {each.singular}.", one_of=True)
        if not any(map(writable, each.fields.values())):
            return
        self._input(f"{name}CreateInput", lambda: self._written(each, created=True), f"A new {each.singular}.")
        self._input(
            f"{name}UpdateInput",
            lambda: self._written(each, created=False),
            f"Changes of {each.plural}: null removes a value, and what is absent stays.",
        )
        self._references(name, creates=True)

    def _input(self, name: str, fields: object, description: str, *, one_of: bool = False) -> None:
        self._table.add(
            name,
            lambda: GraphQLInputObjectType(name, fields, description=description, is_one_of=one_of),  # type: ignore[arg-type]
        )

    def _field(self, name: str, description: str | None = None) -> GraphQLInputField:
        return GraphQLInputField(self._table[name], description=description)

    # Filters

    def _filter(self, name: str) -> GraphQLInputObjectType:
        return GraphQLInputObjectType(f"{name}Filter", lambda: self._conditions(name), description=_FILTER)

    def _conditions(self, name: str) -> Fields:
        of = self._table[name]
        fields: Fields = {}
        for each in _FILTERS.get(name, _EQUALITY):
            fields[each] = GraphQLInputField(listed(of) if each in ("in", "notIn") else of)
        if name == "String":
            fields["ignoreCase"] = GraphQLInputField(GraphQLBoolean, description="Of the other conditions.")
        fields["isNull"] = GraphQLInputField(GraphQLBoolean)
        return fields

    def _where(self, each: TypeModel) -> Fields:
        own = self._table[f"{each.name}Where"]
        fields: Fields = {name: GraphQLInputField(own if name == "not" else listed(own)) for name in sorted(LOGIC)}
        fields["id"] = self._field("IDFilter")
        for name, shown in each.fields.items():
            if name in LOGIC:
                continue
            if not shown.refers:
                fields[name] = self._field(f"{shown.enum or shown.scalar}Filter", shown.doc)
            elif shown.many:
                fields[name] = self._field(f"{shown.target or ANY}ListWhere", shown.doc)
            else:
                fields[name] = self._field(f"{shown.target or ANY}Where", shown.doc)
                if f"{name}IsNull" not in each.fields:
                    fields[f"{name}IsNull"] = GraphQLInputField(GraphQLBoolean)
        return fields

    def _list_where(self, name: str) -> Fields:
        fields = {each: self._field(f"{name}Where") for each in ("some", "every", "none")}
        return {**fields, "count": self._field("LongFilter")}

    def _order(self, each: TypeModel) -> Fields:
        fields = {"id": self._field("SortOrder")}
        for name, shown in each.fields.items():
            if shown.many or shown.scalar == "JSON":
                continue
            if not shown.refers:
                fields[name] = self._field("SortOrder", shown.doc)
            elif shown.target is not None:
                fields[name] = self._field(f"{shown.target}OrderBy", shown.doc)
        return fields

    # Mutations

    def _unique(self, each: TypeModel) -> Fields:
        fields = {"id": GraphQLInputField(GraphQLID)}
        fields |= {name: self._field(type_name) for name, type_name in unique_types(each).items()}
        return fields

    def _written(self, each: TypeModel, *, created: bool) -> Fields:
        fields: Fields = {}
        for name, shown in each.fields.items():
            if not writable(shown):
                continue
            of: Any
            if shown.refers:
                suffix = "RefsInput" if shown.many else "RefInput" if created else "RefUpdateInput"
                of = self._table[self._reference(shown.target, suffix)]
            else:
                of = self._table[shown.enum or str(shown.scalar)]
                of = listed(of) if shown.many else of
            if created and name == each.key:
                of = GraphQLNonNull(of)
            fields[name] = GraphQLInputField(of, description=shown.doc)
        return fields

    def _reference(self, target: str | None, suffix: str) -> str:
        """The input of a ref; of a type that cannot be created, that for any entity."""
        name = f"{target}{suffix}"
        return name if target is not None and name in self._table else f"{ANY}{suffix}"

    def _references(self, name: str, *, creates: bool) -> None:
        def one(update: bool) -> Fields:
            fields = {"connect": self._field(f"{name}Unique")}
            if creates:
                fields["create"] = self._field(f"{name}CreateInput")
            if update:
                fields["disconnect"] = GraphQLInputField(GraphQLBoolean)
            return fields

        def many() -> Fields:
            unique = GraphQLInputField(listed(self._table[f"{name}Unique"]))
            fields = {"connect": unique}
            if creates:
                fields["create"] = GraphQLInputField(listed(self._table[f"{name}CreateInput"]))
            return {**fields, "disconnect": unique, "set": unique}

        self._input(f"{name}RefInput", lambda: one(False), "The entity to refer to.", one_of=True)
        self._input(f"{name}RefUpdateInput", lambda: one(True), "The entity to refer to, or none.", one_of=True)
        self._input(f"{name}RefsInput", many, "Changes of the entities that are referred to; `set` comes first.")


def unique_types(each: TypeModel) -> dict[str, str]:
    """The fields that name one entity, with the names of their types; refs do not, nor enums."""
    return {name: shown.scalar for name, shown in each.uniques.items() if shown.scalar is not None}


_FILTER: Final = (
    "Conditions that one value satisfies. `ne` and `notIn` also hold without a value; `isNull` asks for one."
)
