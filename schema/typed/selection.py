"""What a document selects of one typed root field, as data: aliases, arguments, fragments and directives settled.

Everything below a typed root is compiled from this; graphql-core executes none of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from graphql import (
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLUnionType,
    InlineFragmentNode,
    SelectionSetNode,
    get_named_type,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetailsList
from graphql.execution.values import get_argument_values

from adalog.schema.typed.model import OTHER_ENTITY

ANY_TYPE: Final = ""
"""In `Selected.fields`, what is selected of an entity whose type no fragment names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Selected:
    """One field of a document.

    key: the response name. field: its name in the schema. type_name: the named type of its value; None for
    `__typename`. fields: what is selected of the value, by the name of its concrete type. Of an interface these are
    the types that fragments name, and `ANY_TYPE` for all others.
    """

    key: str
    field: str
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    type_name: str | None = None
    fields: Mapping[str, tuple[Selected, ...]] = dataclasses.field(default_factory=dict)

    def is_same(self, other: Selected) -> bool:
        """Whether it is the same but for its name in the response."""
        return (self.field, self.arguments, self.fields) == (other.field, other.arguments, other.fields)

    def of(self, type_name: str | None) -> tuple[Selected, ...]:
        """What is selected of a value of this type."""
        found = self.fields.get(type_name or ANY_TYPE)
        return self.fields.get(ANY_TYPE, ()) if found is None else found


def selected(executor: Executor[Any], parent: GraphQLObjectType, details: FieldDetailsList) -> Selected:
    """The field of `parent` that a group of a document's nodes is. Raises GraphQLError for wrong arguments."""
    first = details[0]
    key, name = (first.node.alias or first.node.name).value, first.node.name.value
    definition = executor.schema.get_field(parent, name)
    if definition is None or name == "__typename":
        return Selected(key, name)
    kind = get_named_type(definition.type)
    return Selected(
        key, name, _arguments(executor, definition, details), kind.name, _fields(executor, kind, details)
    )


def _arguments(executor: Executor[Any], definition: GraphQLField, details: FieldDetailsList) -> dict[str, Any]:
    if not definition.args:
        return {}
    first = details[0]
    return get_argument_values(definition, first.node, executor.variable_values, first.fragment_variable_values)


def _fields(executor: Executor[Any], kind: Any, details: FieldDetailsList) -> dict[str, tuple[Selected, ...]]:
    if isinstance(kind, GraphQLObjectType):
        return {kind.name: _subfields(executor, kind, details)}
    if not isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
        return {}
    schema = executor.schema
    named = {name: schema.get_type(name) for name in _type_conditions(executor, details)}
    fields: dict[str, tuple[Selected, ...]] = {}
    for name, each in named.items():
        if isinstance(each, GraphQLObjectType) and schema.is_sub_type(kind, each):
            fields[name] = _subfields(executor, each, details)
    # The types that no fragment names have the same fields, those of the interface: one stands for all.
    rest = None if OTHER_ENTITY in named else schema.get_type(OTHER_ENTITY)
    if rest is None:
        rest = next((each for each in schema.get_possible_types(kind) if each.name not in named), None)
    if isinstance(rest, GraphQLObjectType):
        fields[ANY_TYPE] = _subfields(executor, rest, details)
    return fields


def _subfields(executor: Executor[Any], kind: GraphQLObjectType, details: FieldDetailsList) -> tuple[Selected, ...]:
    grouped = executor.collect_subfields(kind, details).grouped_field_set
    return tuple(selected(executor, kind, group) for group in grouped.values())


def _type_conditions(executor: Executor[Any], details: FieldDetailsList) -> set[str]:
    """The types that fragments name at this level."""
    found: set[str] = set()
    spread: set[str] = set()
    left = [each.node.selection_set for each in details if each.node.selection_set is not None]
    while left:
        for node in left.pop().selections:
            inner: SelectionSetNode | None = None
            if isinstance(node, FragmentSpreadNode):
                fragment = executor.fragments.get(node.name.value)
                if fragment is None or node.name.value in spread:
                    continue
                spread.add(node.name.value)
                found.add(fragment.definition.type_condition.name.value)
                inner = fragment.definition.selection_set
            elif isinstance(node, InlineFragmentNode):
                if node.type_condition is not None:
                    found.add(node.type_condition.name.value)
                inner = node.selection_set
            if inner is not None:
                left.append(inner)
    return found
