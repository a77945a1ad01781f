"""Random documents of the typed surface, written from the schema that an identity sees."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_composite_type,
    is_leaf_type,
)

TEXTS: Final = ('"a"', '"b"', '"c"', '"c1"', '"c2"', '"c7"', '"u1"', '"u2"', '"red"', '"blue"', '""')
_SCALARS: Final = {
    "ID": ("1", "2", "3", "4", "5", "7", "11", "21", "22", "31", "5000"),
    "Int": ("1", "2", "3"),
    "Long": ("0", "1", "2", "3", "4", "121", "122"),
    "Boolean": ("true", "false"),
    "String": TEXTS,
    "Keyword": ('":open"', '":shut"', '":state/open"', '":other"'),
    "JSON": ("1", '["a", 1]'),
}
# Of them one page after the other is asked for.
PAGED: Final = "Connection"
_FORWARD, _BACKWARD = ("first", "after"), ("last", "before")
_LEFT_OUT: Final = frozenset({"as", "basis", "with", "withArgs", *_FORWARD, *_BACKWARD})


class _TooDeepError(Exception):
    """An input would be deeper than it may be."""


class DocumentWriter:
    def __init__(self, rng: Random, schema: GraphQLSchema) -> None:
        self.rng = rng
        self.schema = schema
        query = schema.query_type
        assert query is not None
        node = schema.type_map["Node"]
        self.roots = {
            name: each
            for name, each in query.fields.items()
            if name.endswith(PAGED) or get_named_type(each.type) is node or self._is_node(get_named_type(each.type))
        }

    def _is_node(self, kind: Any) -> bool:
        return isinstance(kind, GraphQLObjectType) and any(each.name == "Node" for each in kind.interfaces)

    def document(self, t: int) -> str:
        """A root field or two. A connection has the variable `at` for its cursor. `t`: the newest transaction."""
        name = self.rng.choice(sorted(self.roots))
        field = self.roots[name]
        if not name.endswith(PAGED):
            basis = f"basis: {{t: {self.rng.randint(0, t)}}}" if self.rng.random() < 0.3 else ""
            given = self.arguments(field, basis if "basis" in field.args else "")
            return f"{{ {name}{given} {self.selection(field, 3)} }}"
        size, at = self.rng.choice((_FORWARD, _BACKWARD))
        given = self.arguments(field, f"{size}: {self.rng.randint(1, 3)}, {at}: $at")
        ends = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
        inner = f"{{ nodes {self.selection(self._field_of(field, 'nodes'), 2)} {ends} {self.some(field, 1, 2)} }}"
        return f"query($at: String) {{ page: {name}{given} {inner} }}"

    def _field_of(self, field: GraphQLField, name: str) -> GraphQLField:
        kind = get_named_type(field.type)
        assert isinstance(kind, GraphQLObjectType)
        return kind.fields[name]

    # Selections

    def selection(self, field: GraphQLField, depth: int) -> str:
        kind = get_named_type(field.type)
        if is_leaf_type(kind):
            return ""
        if isinstance(kind, GraphQLInterfaceType):
            some = self.rng.choice(self.schema.get_possible_types(kind))
            fields = self._some_of(some, self.rng.randint(1, 3), depth)
            return f"{{ __typename id ... on {some.name} {{ id {fields} }} }}"
        assert isinstance(kind, GraphQLObjectType)
        return f"{{ __typename {self.some(field, self.rng.randint(1, 4), depth)} }}"

    def some(self, field: GraphQLField, number: int, depth: int) -> str:
        kind = get_named_type(field.type)
        assert isinstance(kind, GraphQLObjectType)
        return self._some_of(kind, number, depth)

    def _some_of(self, kind: GraphQLObjectType, number: int, depth: int) -> str:
        open_ = [
            name for name, each in kind.fields.items() if depth or not is_composite_type(get_named_type(each.type))
        ]
        made = []
        for count, name in enumerate(self.rng.sample(open_, min(number, len(open_)))):
            field = kind.fields[name]
            paged = {"first", "last"} <= field.args.keys()
            page = f"{self.rng.choice(('first', 'last'))}: {self.rng.randint(1, 3)}" if paged else ""
            made.append(f"{name}{count}: {name}{self.arguments(field, page)} {self.selection(field, depth - 1)}")
        return " ".join(made)

    # Arguments

    def arguments(self, field: GraphQLField, more: str = "") -> str:
        given = [more] if more else []
        has_page = "first:" in more or "last:" in more
        for name, each in field.args.items():
            needed = isinstance(each.type, GraphQLNonNull)
            if (name in _LEFT_OUT and not needed and (has_page or name != "first")) or (
                not needed and self.rng.random() < 0.4
            ):
                continue
            with suppress(_TooDeepError):
                given.append(f"{name}: {self.value(each)}")
        if not given and any(name in field.args for name in ("id", "by")):
            given = [f"id: {self.rng.choice(_SCALARS['ID'])}"]
        return f"({', '.join(given)})" if given else ""

    def value(self, of: GraphQLArgument | GraphQLInputField, depth: int = 3) -> str:
        return self._value(of.type, depth)

    def _value(self, kind: Any, depth: int) -> str:
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            return f"[{', '.join(self._value(kind.of_type, depth) for _ in range(self.rng.choice((1, 1, 2))))}]"
        if isinstance(kind, GraphQLEnumType):
            return self.rng.choice(sorted(kind.values))
        if isinstance(kind, GraphQLInputObjectType):
            return self._object(kind, depth)
        found = self.rng.choice(_SCALARS.get(kind.name, TEXTS))
        return f'"{found}"' if kind.name == "ID" else found

    def _object(self, kind: GraphQLInputObjectType, depth: int) -> str:
        """An object of one or two fields. Raises `_TooDeepError` where all of them are objects."""
        names = [
            name
            for name, each in kind.fields.items()
            if depth > 0
            or is_leaf_type(get_named_type(each.type))
            or get_named_type(each.type).name.endswith("Filter")
        ]
        if not names:
            raise _TooDeepError
        is_one = kind.is_one_of or kind.name.endswith("OrderBy")
        chosen = self.rng.sample(names, 1 if is_one else min(len(names), self.rng.choice((1, 1, 1, 2))))
        return f"{{{', '.join(f'{name}: {self.value(kind.fields[name], depth - 1)}' for name in chosen)}}}"
