"""What a pull pattern says, as data: which attributes of an entity to show, how, and how deep.

Frozen, with positions that do not count when two are compared. Nothing here knows a schema: what an attribute is,
the executor asks the snapshot that it pulls from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from adalog.datalog.errors import Position
from adalog.datalog.terms import Const
from adalog.datalog.values import Keyword

DEFAULT_LIMIT: Final = 1000
DB_ID: Final = Keyword("db/id")


@dataclass(frozen=True, slots=True)
class Recursion:
    """`{:person/friend 3}` or, without a depth, `{:person/friend ...}`: the pattern around it again."""

    depth: int | None


@dataclass(frozen=True, slots=True)
class Xform:
    """`:xform str`: the name of a built-in of one argument."""

    name: str
    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class PullAttribute:
    """One attribute of a pattern, with its options; `attribute` is `:ns/attr` for `:ns/_attr`, too.

    key: under which the value is shown. limit: of what has many values, None for no limit. sub: the pattern of the
    entities that it refers to.
    """

    attribute: Keyword
    reverse: bool
    key: Const
    limit: int | None = DEFAULT_LIMIT
    default: Const | None = None
    xform: Xform | None = None
    sub: PullPattern | Recursion | None = None
    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)


class QueryInPattern(Protocol):
    """What a pattern knows of a query in it: a `datalog.ast.Query`."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What it takes."""


@dataclass(frozen=True, slots=True)
class PullQuery:
    """`(q "comments" [:find … :in $ ?issue …])`: what a query finds for the entity that the map shows, under `key`.
    The first variable of its `:in` is that entity, the others are variables of the `:in` of the query around it."""

    key: Const
    query: QueryInPattern
    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __hash__(self) -> int:
        # The whole query takes as long as running a small one, and few of a pattern share a key.
        return hash(self.key)


@dataclass(frozen=True, slots=True)
class PullPattern:
    """`[* :person/name {:person/friend [:person/name]} (q "friends" [:find (count ?x) . …])]`"""

    wildcard: bool
    attributes: tuple[PullAttribute, ...]
    queries: tuple[PullQuery, ...] = ()
    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)

    def all_queries(self) -> Iterator[PullQuery]:
        """Those of patterns within, too, but not what these queries pull."""
        yield from self.queries
        for each in self.attributes:
            if isinstance(each.sub, PullPattern):
                yield from each.sub.all_queries()
