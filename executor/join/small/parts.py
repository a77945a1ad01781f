"""What an extender is in the program of a small join: a record of numbers, and a place that each run asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from adalog.executor.kernels.small_join import EQUAL, JOIN, KEYS, PAIRS, ROWS

Slots = Mapping[str, int]
"""The slot of each variable that is bound, the level's own among them."""


class Place(Protocol):
    """Numbers in memory, and what keeps them there."""

    @property
    def place(self) -> int:
        """Where they are."""


Placed = Callable[[], Place | None]
"""Asks for what a part reads now; None if it cannot be read through places."""


@dataclass(frozen=True, slots=True)
class Part:
    """As of `kernels.small_join`. `order`: the slots of the levels of a relation above this one. `sort`: the number
    of a relation among those that the same call of a kernel derives. `inner`: a join's records."""

    kind: int
    value: int
    slot: int = -1
    constant: int = 0
    place: int = 0
    placed: Placed | None = None
    order: Sequence[int] = ()
    sort: int = -1
    inner: Sequence[InnerRecord] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing in the prefix narrows its values, of which there may be many: those that the same call
        derives are few."""
        return self.kind == KEYS or (self.kind == ROWS and not self.order and self.sort < 0)

    @staticmethod
    def pairs(trie: Placed, value: int, key: int, *, constant: bool) -> Part:
        """The values of a key: that in a slot, or a constant."""
        return Part(PAIRS, value, -1 if constant else key, key if constant else 0, placed=trie)

    @staticmethod
    def keys(trie: Placed, value: int) -> Part:
        return Part(KEYS, value, placed=trie)

    @staticmethod
    def rows(levels: Placed, value: int, order: Sequence[int]) -> Part:
        return Part(ROWS, value, constant=len(order), placed=levels, order=order)

    @staticmethod
    def derived(sort: int, value: int, order: Sequence[int]) -> Part:
        """As `rows`, of a relation that is derived in the same call."""
        return Part(ROWS, value, constant=len(order), order=order, sort=sort)

    @staticmethod
    def equal(value: int, other: int, *, constant: bool, never: int) -> Part:
        """The value in another slot, or a constant. never: a code that equals nothing."""
        return Part(EQUAL, value, -1 if constant else other, other if constant else 0, never)

    @staticmethod
    def join(records: Sequence[InnerRecord]) -> Part:
        """Whether the join of a `not` has a match."""
        return Part(JOIN, -1, len(records), inner=records)


Grouped = tuple[Part, int]
"""A check and its group: 0, or the number of a `not` among those of its level."""


@dataclass(frozen=True, slots=True)
class InnerRecord:
    """A level of the join of a `not`, or with slot -1 what it checks before the first one."""

    slot: int
    ranges: Sequence[Part]
    checks: Sequence[Grouped]


class Encoded(ABC):
    """An extender that may be a part of a small join's program."""

    @abstractmethod
    def part(self, variable: str, slots: Slots) -> Part | None:
        """What it is at a level, or at START; None if only its methods know."""
