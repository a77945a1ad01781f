"""The terms of the query language: what stands in a place of a clause. For `datalog.ast`, which has the rest.

Frozen dataclasses that compare and hash without their positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adalog.datalog.errors import Position


def position_field() -> Any:
    """The field of where in its text something stands, which is no part of what it is."""
    return field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, its name as written (`?x`, or a plain symbol `person`)."""

    name: str
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Blank:
    """`_`: a fresh variable that nothing else sees."""

    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Const:
    """A literal value, as `datalog.edn` reads it. `key` is its typed identity: 1, 1.0 and true differ."""

    value: Any = field(compare=False)
    key: Any = field(repr=False)
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class LookupRef:
    """`[:person/email "x"]` or `[:person/email ?x]` where an entity is expected."""

    attribute: Const
    value: Const | Var
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Source:
    """A database or relation by name: `$` or `$name`."""

    name: str = "$"
    position: Position | None = position_field()


Term = Var | Blank | Const | LookupRef


@dataclass(frozen=True, slots=True)
class Expression:
    """A call whose value is an argument: `(* ?price (- 1 ?discount))`."""

    name: str
    args: tuple[Argument, ...]
    position: Position | None = position_field()


Argument = Term | Source | Expression
