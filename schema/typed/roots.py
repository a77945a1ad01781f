"""What a typed root field is, for the executor that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from adalog.schema.typed.model import TypeModel

RootKind = Literal[
    "one", "list", "connection", "node", "nodes", "create", "upsert", "update", "delete", "update_many",
    "delete_many", "live_one", "live_list", "warnings", "schema_changed",
]  # fmt: skip

TYPED: Final = "adalog.typed"
"""The key of a field's `extensions` under which its TypedRoot is."""


@dataclass(frozen=True, slots=True)
class TypedRoot:
    """kind: what the field does. model: its type; None for fields of all types."""

    kind: RootKind
    model: TypeModel | None = None
