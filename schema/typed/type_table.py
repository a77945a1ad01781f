"""GraphQL types by name, each made when it is first looked at; and a schema over them.

A surface of a thousand attributes has thousands of types, and graphql-core's own schema makes all of them at once.
A document needs a few, so a new surface can be asked after milliseconds. Introspection makes the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from graphql import GraphQLNamedType, GraphQLObjectType, GraphQLSchema
from graphql.type.schema import InterfaceImplementations

from adalog.schema.typed.model import Model
from adalog.schema.typed.roots import TYPED_MODEL

Maker = Callable[[], GraphQLNamedType]


class TypeTable(Mapping[str, GraphQLNamedType]):
    """Types by name: shared ones, and own ones. Thread-safe: each is made once."""

    def __init__(self, shared: Mapping[str, GraphQLNamedType]) -> None:
        self._shared = shared
        self._makers: dict[str, Maker] = {}
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()

    def add(self, name: str, make: Maker) -> None:
        assert name not in self, f"two types are named {name}"
        self._makers[name] = make

    def release(self) -> None:
        """Takes the own types apart, which refer to each other in circles: many thousands of objects, for which the
        garbage collector would stop all threads. Nothing may use them any more."""
        self._makers = {}
        while self._made:
            vars(self._made.popitem()[1]).clear()

    def __getitem__(self, name: str) -> Any:
        made = self._made.get(name) or self._shared.get(name)
        if made is None:
            make = self._makers[name]
            with self._lock:
                made = self._made.get(name)
                if made is None:
                    made = self._made[name] = make()
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._makers or name in self._shared

    def __iter__(self) -> Iterator[str]:
        yield from self._shared
        yield from self._makers

    def __len__(self) -> int:
        return len(self._shared) + len(self._makers)


class TableSchema(GraphQLSchema):
    """A schema whose types are in a table; valid by construction."""

    type_map: TypeTable  # type: ignore[assignment]

    def __init__(
        self, base: GraphQLSchema, table: TypeTable, model: Model, implementations: Mapping[str, list[str]]
    ) -> None:
        """base: whose directives are taken over. implementations: the objects of each interface, by name."""
        # In place of graphql-core's constructor, which would walk over all types.
        self.assume_valid = True
        self._validation_errors = []
        self.description = base.description
        self.extensions = {**base.extensions, TYPED_MODEL: model}
        self.ast_node = None
        self.extension_ast_nodes = ()
        self.query_type = table["Query"]
        self.mutation_type = table["Mutation"]
        self.subscription_type = table["Subscription"]
        self.directives = base.directives
        self.type_map = table
        self._sub_type_map = {name: set(objects) for name, objects in implementations.items()}
        self._objects = implementations

    def get_implementations(self, interface_type: Any) -> InterfaceImplementations:
        names = self._objects.get(interface_type.name, ())
        objects: list[GraphQLObjectType] = [self.type_map[name] for name in names]
        return InterfaceImplementations(objects=objects, interfaces=[])
