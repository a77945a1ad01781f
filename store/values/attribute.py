"""An attribute as the schema declares it: a value, made anew whenever the schema changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from adalog.datalog.values import TX_BASE as TX_BASE
from adalog.datalog.values import Keyword, Symbol

# Entity ids: users' own below, then what has an ident (the first thousand are built in), then one entity for each
# transaction.
SCHEMA_BASE: Final = TX_BASE >> 1
FIRST_OWN_IDENT: Final = SCHEMA_BASE + 1000

# Versions that did not look gave every new entity this id once a client had chosen the one before.
MERGED: Final = SCHEMA_BASE

VALUE_TYPES: Final = frozenset(
    {"long", "bigint", "double", "float", "bigdec", "string", "keyword", "symbol", "boolean"}
    | {"instant", "uuid", "uri", "bytes", "duration", "ref", "tuple"}
)

Cardinality = Literal["one", "many"]
Uniqueness = Literal["value", "identity"]


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """What attributes can have in common. value_type: a name of VALUE_TYPES, or None until the first use decides it
    (open schema only). tuple_attrs: of a composite tuple, what it is made of. preds: what its values have to
    satisfy, each a built-in predicate or the ident of a stored query."""

    value_type: str | None = None
    cardinality: Cardinality = "one"
    unique: Uniqueness | None = None
    component: bool = False
    index: bool = False
    no_history: bool = False
    tuple_types: tuple[str, ...] | None = None
    tuple_type: str | None = None
    tuple_attrs: tuple[Keyword, ...] | None = None
    preds: tuple[Symbol, ...] = ()

    @property
    def tuple_of(self) -> tuple[object, ...]:
        """What the tuples are made of, however it is declared."""
        return self.tuple_attrs, self.tuple_types, self.tuple_type


PLAIN: Final = AttributeKind()


@lru_cache(1024)
def shared(kind: AttributeKind) -> AttributeKind:
    """An equal kind, the same object for every caller: thousands of attributes have a few kinds."""
    return kind


@dataclass(frozen=True, slots=True)
class Attribute:
    """id: the entity id. ident_code: the ident keyword's code."""

    id: int
    ident: Keyword
    ident_code: int
    kind: AttributeKind = PLAIN
    doc: str | None = None

    @property
    def is_ref(self) -> bool:
        """Whether its values are entity ids."""
        return self.kind.value_type == "ref"

    @property
    def refers(self) -> bool:
        """Whether its values name entities: as refs, or in tuples that are written by hand."""
        kind = self.kind
        return (
            kind.value_type == "ref"
            or kind.tuple_type == "ref"
            or (kind.tuple_types is not None and "ref" in kind.tuple_types)
        )

    @property
    def is_many(self) -> bool:
        return self.kind.cardinality == "many"
