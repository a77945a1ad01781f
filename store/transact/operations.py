"""What a transaction asks for, one datom at a time, before its tempids have ids; and how it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from adalog.datalog.errors import Code, Position
from adalog.store.values.attribute import Attribute

# Indexes that lead from the transaction to the offending part; a map counts its keys and values one by one.
Path = tuple[int, ...]

# Where an effect's (attribute, entity, value code) was written.
Paths = Callable[[tuple[int, int, int]], Path]

# In a path: what follows is not in the text, as a function made it.
PRODUCED: Final = -1

CURRENT_TX: Final = "datomic.tx"


class Tempid(str):
    """The name of an entity that this transaction may make. Names the user did not give begin with NUL."""

    __slots__ = ()


# An entity, or a ref value: an id or a tempid. Values of other types are always codes.
Term = int | Tempid


class Add(NamedTuple):
    """`[:db/add e a v]`"""

    e: Term
    a: Attribute
    v: Term
    path: Path


class Retract(NamedTuple):
    """`[:db/retract e a v]`; v is None for all values."""

    e: Term
    a: Attribute
    v: Term | None
    path: Path


class RetractEntity(NamedTuple):
    """`[:db/retractEntity e]`"""

    e: Term
    path: Path


class Cas(NamedTuple):
    """`[:db/cas e a old new]`; None is absence."""

    e: Term
    a: Attribute
    old: int | None
    new: Term | None
    path: Path


class Update(NamedTuple):
    """`[:db.fn/inc e a n]` and its like: a new value from what held before. operand: a number, a term or None."""

    function: Literal["inc", "toggle", "default"]
    e: Term
    a: Attribute
    operand: Any
    path: Path


class Ensure(NamedTuple):
    """`{:db/ensure spec}`: the entity has to be as another entity says."""

    e: Term
    spec: int
    path: Path


Operation = Add | Retract | RetractEntity | Cas | Update | Ensure


@dataclass
class RefusedTransaction(Exception):
    """A transaction that cannot be; the path says which of its forms is to blame, `inside` where in a string."""

    code: Code
    message: str
    path: Path = ()
    inside: Position | None = None


def invalid(message: str, path: Path, inside: Position | None = None) -> RefusedTransaction:
    """The refusal of a form that means nothing."""
    return RefusedTransaction(Code.TX_INVALID, message, path, inside)
