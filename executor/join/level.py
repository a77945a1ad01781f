"""A level of a join: the variable that it binds, what is kept after it, and what was counted there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch
from adalog.executor.join.protocol import Check, ExactCount, Extender
from adalog.executor.join.ranges import RangeExtender

BUDGET: Final = 1 << 19
"""Extensions that one chunk may make, unless a single prefix makes more."""


@dataclass(frozen=True, slots=True)
class Level:
    """What binding one variable comes to. `keep`: the variables needed afterwards (None: all). `merge`: rows may be
    equal after dropping, so make them distinct. `counted`: the variable itself is only counted, so its values need
    not be written out."""

    variable: str
    keep: frozenset[str] | None = None
    merge: bool = False
    counted: bool = False


@dataclass(slots=True)
class LevelCounts:
    """What explain analyze shows of a level: rows in, candidates looked at, rows out, seconds. skipped: extensions
    that were counted and not written out, as one of each prefix is enough."""

    prefixes: int = 0
    candidates: int = 0
    rows: int = 0
    seconds: float = 0.0
    skipped: int = 0


@dataclass(eq=False, slots=True)
class BoundLevel:
    """A level with the parts of the join's body that take part in it: those with ranges, and the others. `kept`:
    the columns kept after it, states of `or`s among them (None: all). `counts_alone`: the variable is only counted,
    by a part that knows without writing values. Threads share it and change only `counts`."""

    level: InitVar[Level]
    parts: InitVar[tuple[list[RangeExtender], list[Extender]]]
    kept: frozenset[str] | None
    counts: LevelCounts
    budget: int
    check: Callable[[], None]
    variable: str = field(init=False)
    counted: bool = field(init=False)
    drops: bool = field(init=False)
    is_ranged: bool = field(init=False)
    counts_alone: bool = field(init=False)
    ranged: list[RangeExtender] = field(init=False)
    others: list[Extender] = field(init=False)

    def __post_init__(self, level: Level, parts: tuple[list[RangeExtender], list[Extender]]) -> None:
        self.variable, self.counted = level.variable, level.counted
        self.ranged, self.others = parts
        self.is_ranged = bool(self.ranged) and all(isinstance(part, Check) for part in self.others)
        taking = [*self.ranged, *self.others]
        self.counts_alone = self.counted and len(taking) == 1 and isinstance(taking[0], RangeExtender | ExactCount)
        self.drops = self.kept is not None and level.variable not in self.kept

    def only_asks(self, batch: Batch, checks: Sequence[Extender]) -> bool:
        """Whether a value only has to exist: nothing reads it, here or later, and nothing is counted."""
        return self.drops and not checks and batch.weight is None


def chunks(sizes: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Ranges of at least one row, whose sizes add up to at most so many. Rows of size 0 may be left out."""
    ends = np.cumsum(sizes)
    start, n = 0, len(sizes)
    while start < n:
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
        if int(ends[stop - 1]) > before:
            yield start, stop
        start = stop
