"""What a root field of the typed surface is: set in its GraphQLField's extensions, read where it is executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from adalog.schema.typed.model import TypeModel

RootKind = Literal[
    "one", "list", "connection", "node", "nodes",
    "create", "upsert", "update", "delete", "update_many", "delete_many",
    "live_one", "live_list",
]  # fmt: skip

MUTATIONS: Final = frozenset(("create", "upsert", "update", "delete", "update_many", "delete_many"))

TYPED_ROOT: Final = "adalog.typed"
"""The key of a field's extensions under which its `TypedRoot` stands."""

TYPED_MODEL: Final = "adalog.model"
"""The key of a GraphQLSchema's extensions under which the `Model` stands that it was made from."""


@dataclass(frozen=True, slots=True)
class TypedRoot:
    """kind: what is done. model: the type of the entities; None for `node` and `nodes`."""

    kind: RootKind
    model: TypeModel | None = None
