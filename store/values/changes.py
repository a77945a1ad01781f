"""What a transaction changes, as codes: what it asserts and retracts, and what it takes away as though it had never
been."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adalog.store.values.arrays import Bools, CodeColumn, Int64s, are_of
from adalog.store.values.bootstrap import TX_INSTANT
from adalog.store.values.datom import ShownParts, Telling, nothing_to_tell
from adalog.store.values.excised.placeholders import NumberRun


class Effect(NamedTuple):
    """One datom's coming or going: entity, the attribute's entity, the value's code."""

    e: int
    a: int
    v: int
    added: bool


@dataclass(frozen=True, eq=False)
class Scope:
    """The datoms that were asserted before transaction `before`, with their retractions. entities: sorted; None:
    of all. attributes: their entities; None: all but `:db/txInstant`. with_refs: those of other entities that refer
    to one of the entities as well. ended: only those that were also retracted before that transaction."""

    entities: Int64s | None
    attributes: frozenset[int] | None
    before: int
    with_refs: bool = False
    ended: bool = False

    def has(self, attribute: int) -> bool:
        """Whether datoms of the attribute may be in it."""
        return attribute != TX_INSTANT if self.attributes is None else attribute in self.attributes

    def takes(self, e: CodeColumn, v: CodeColumn, t: Int64s, ends: Int64s | None, *, is_ref: bool) -> Bools:
        """Which datoms of an attribute that it `has` are in it. t: of their assertion; ends: of their retraction,
        None where they hold."""
        if self.ended and ends is None:
            return np.zeros(len(e), np.bool_)
        early = np.asarray((ends if self.ended and ends is not None else t) < self.before)
        if self.entities is None:
            return early
        of = are_of(e, self.entities)
        return early & (of | are_of(v, self.entities) if self.with_refs and is_ref else of)

    def packed(self) -> list[Any]:
        entities = None if self.entities is None else self.entities.astype("<i8").tobytes()
        attributes = None if self.attributes is None else sorted(self.attributes)
        return [entities, attributes, self.before, self.with_refs, self.ended]

    @staticmethod
    def unpacked(said: Sequence[Any]) -> Scope:
        entities, attributes, before, with_refs, ended = said
        return Scope(
            None if entities is None else np.frombuffer(entities, "<i8"),
            None if attributes is None else frozenset(attributes),
            before,
            with_refs,
            ended,
        )


@dataclass(frozen=True, eq=False)
class Excision:
    """What an excision takes away. Every process that reads it takes that away, whatever it knew before; of what
    there was it says nothing. t: its transaction. renamed: the numbers of values that nothing uses any more, which
    get placeholders by the seed. count: how many datoms went. previous: the excision before it, 0 for none."""

    t: int
    scopes: Sequence[Scope]
    renamed: Sequence[NumberRun] = ()
    seed: int = 0
    count: int = 0
    previous: int = 0

    @property
    def known_until(self) -> int:
        """The transaction that a state has to have read to have this excision applied: retractions up to there may
        be gone from the log. 0 if it may be applied to any state."""
        return max((scope.before - 1 for scope in self.scopes if scope.ended), default=0)

    @property
    def is_retention(self) -> bool:
        """Whether it takes retracted values alone."""
        return all(scope.ended for scope in self.scopes)

    def ended_before(self, attribute: int) -> int:
        """The transaction before which retracted values of an attribute go; 0 if none do."""
        return max((scope.before for scope in self.scopes if scope.ended and scope.has(attribute)), default=0)

    def takes(
        self,
        attribute: int,
        e: CodeColumn,
        v: CodeColumn,
        t: Int64s,
        ends: Int64s | None = None,
        *,
        is_ref: bool,
    ) -> Bools | None:
        """Which datoms of an attribute go, None for none. t: of their assertion; ends: of their retraction, None
        where they hold."""
        own = [scope for scope in self.scopes if scope.has(attribute)]
        if not own:
            return None
        gone = np.zeros(len(e), np.bool_)
        for scope in own:
            gone |= scope.takes(e, v, t, ends, is_ref=is_ref)
        return gone if gone.any() else None

    def packed(self) -> dict[str, Any]:
        """As `pack` takes it."""
        return {
            "t": self.t,
            "scopes": [scope.packed() for scope in self.scopes],
            "renamed": [item for run in self.renamed for item in run],
            "seed": self.seed,
            "count": self.count,
            "previous": self.previous,
        }

    @staticmethod
    def unpacked(said: Mapping[str, Any]) -> Excision:
        runs = said["renamed"]
        return Excision(
            said["t"],
            [Scope.unpacked(each) for each in said["scopes"]],
            [NumberRun(*each) for each in zip(runs[::3], runs[1::3], runs[2::3], strict=True)],
            said["seed"],
            said["count"],
            said["previous"],
        )


@dataclass(frozen=True, slots=True)
class Resolved:
    """A transaction's effects, its instant in milliseconds, and the ids of the tempids that the user named.

    new: the ids of its new entities and those after them, (first, end), which nothing has. diagnostics: what is
    suspicious about it, found out when it is asked for. shown: what the viewer sees of it; None: everything.
    scopes: what it excises; None where it is no excision.
    """

    effects: list[Effect]
    instant: int
    tempids: dict[str, int]
    new: tuple[int, int]
    diagnostics: Telling = nothing_to_tell
    shown: ShownParts | None = None
    scopes: Sequence[Scope] | None = None


@dataclass(frozen=True, eq=False)
class BulkColumn:
    """New datoms of one attribute: entities and value codes, sorted, distinct. added: which of them are assertions;
    None: all."""

    attribute: int
    e: NDArray[np.int64]
    v: NDArray[np.int64]
    added: NDArray[np.bool_] | None = None
