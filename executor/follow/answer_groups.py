"""The groups of an aggregate, moved by the rows that enter and leave them.

Counts, sums and averages of longs and doubles follow from numbers that a view keeps for a group from its first
change on: how many tuples, and their exact sums. Other aggregates are computed at both moments, and so are groups
whose keys hold values that the database does not have. Either way a group's values equal those of a fresh query, to
the last bit: sums are exact and rounded once, as in `executor.answer.aggregates`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog import exact
from adalog.datalog.aggregates import INVERTIBLE, Reduction
from adalog.datalog.ast import FindAggregate, FindColumn, FindVar, Var
from adalog.datalog.values import LONG_MAX, LONG_MIN
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Batch, Column, stack
from adalog.executor.kernels.group_kernels import group_rows
from adalog.planner.feeds import FEED
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import TAG_DOUBLE, tags_of

# Doubles are whole multiples of 2 to the minus this.
_SCALE: Final = 1074
# Groups whose numbers are kept; beyond that all are forgotten, and asked when they are touched again.
_MOST: Final = 1 << 18
_BYTES: Final = 400
# Sums of longs below this cannot wrap around.
_SAFE: Final = 1 << 62

Key = tuple[int, ...]
Row = tuple[int, ...]
"""The codes that a group shows."""

Ask = Callable[[Batch], Batch]
"""From groups, by the columns of their keys, to their tuples, with weights where a row stands for several."""


Tuples = Callable[[Batch, bool], Batch]
"""The same at the second or at the first of two moments."""


@dataclass(slots=True)
class Total:
    """The sum of some numbers: how many of them are longs and doubles, and the sums of each; `doubles` in units of
    2 ** -1074. `odd`: how many are neither, or not finite."""

    longs: int = 0
    long_count: int = 0
    doubles: int = 0
    double_count: int = 0
    odd: int = 0

    def moved(self, other: Total, sign: int) -> Total:
        """With another added to it, or taken from it."""
        return Total(
            self.longs + sign * other.longs,
            self.long_count + sign * other.long_count,
            self.doubles + sign * other.doubles,
            self.double_count + sign * other.double_count,
            self.odd + sign * other.odd,
        )

    def value(self, reduction: Reduction | None) -> int | float | None:
        """The sum or the average; None where it takes the values themselves to tell."""
        if self.odd or not LONG_MIN <= self.longs <= LONG_MAX:
            return None
        divisor = 1 if reduction is Reduction.SUM else self.long_count + self.double_count
        if not self.double_count:
            return self.longs if reduction is Reduction.SUM else exact.rounded(self.longs, divisor)
        return exact.rounded((self.longs << _SCALE) + self.doubles, divisor << _SCALE)


@dataclass(slots=True)
class Numbers:
    """What is kept of a group: its tuples, and the sums of some variables."""

    tuples: int
    totals: tuple[Total, ...]

    def moved(self, other: Numbers, sign: int) -> Numbers:
        """With the tuples of another, or without them."""
        totals = zip(self.totals, other.totals, strict=True)
        return Numbers(
            self.tuples + sign * other.tuples, tuple(mine.moved(theirs, sign) for mine, theirs in totals)
        )


@dataclass
class AnswerGroups:
    """`elements`: of the find spec. `keys`: the variables that tell groups apart."""

    elements: Sequence[FindColumn]
    keys: tuple[str, ...]
    summed: tuple[str, ...] = field(init=False)
    _plain: dict[str, int] = field(init=False)
    _numbers: dict[Key, Numbers] = field(default_factory=dict)
    # The groups of each feed, where there are feeds, and some that were forgotten since.
    _of: dict[int, set[Key]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        aggregates = [each for each in self.elements if isinstance(each, FindAggregate)]
        plain = ((each.var.name, i) for i, each in enumerate(self.elements) if not isinstance(each, FindAggregate))
        self._plain = dict(plain)
        self.follows = all(each.reduction in INVERTIBLE for each in aggregates)
        summed = (each.var.name for each in aggregates if each.reduction is not Reduction.COUNT)
        self.summed = tuple(dict.fromkeys(summed))

    def forget(self) -> None:
        """Forgets all groups: something happened that their numbers do not show."""
        self._numbers.clear()
        self._of.clear()

    def begin(self, ask: Ask, values: Scratch, cancel: Cancel) -> None:
        """Counts the one group of a query without keys now, which may take long, rather than in a step."""
        if self.follows and not self.keys:
            self._numbers[()] = self._counted(ask(Batch(1, {})), values, cancel).get((), self._nothing())

    def touched(self, *rows: Batch) -> Batch:
        if not self.keys:
            return Batch(1, {})
        columns = {name: np.concatenate([each.columns[name] for each in rows]) for name in self.keys}
        return Batch(sum(each.size for each in rows), columns).distinct()

    def can_follow(self, touched: Batch) -> bool:
        """Whether what is kept of these groups tells what they show."""
        return self.follows and not any(
            (Scratch.made_numbers(each) >= 0).any() for each in touched.columns.values()
        )

    def step(
        self, entered: Batch, left: Batch, tuples: Tuples, values: Scratch, cancel: Cancel
    ) -> tuple[dict[Key, Row], dict[Key, Row]]:
        """What the groups that these tuples entered and left showed before, and show now."""
        touched = self.touched(entered, left)
        if self.can_follow(touched):
            moved = self.moved(entered, left, lambda keys: tuples(keys, False), values, cancel)
            if moved is not None:
                return moved
        # Those among them whose numbers are kept move, too.
        for key in zip(*(touched.columns[name].tolist() for name in self.keys), strict=True):
            self._numbers.pop(key, None)
        before, after = (self._shown(tuples(touched, new), values, cancel) for new in (False, True))
        return before, after

    def _shown(self, rows: Batch, values: Scratch, cancel: Cancel) -> dict[Key, Row]:
        extra = [FindVar(Var(name)) for name in self.keys if name not in self._plain]
        columns = aggregated(rows, [*extra, *self.elements], values, cancel)
        places = {name: len(extra) + i for name, i in self._plain.items()}
        places |= {each.var.name: i for i, each in enumerate(extra)}
        return {
            tuple(row[places[name]] for name in self.keys): row[len(extra) :]
            for row in zip(*(column.tolist() for column in columns), strict=True)
        }

    def moved(
        self, entered: Batch, left: Batch, ask: Ask, values: Scratch, cancel: Cancel
    ) -> tuple[dict[Key, Row], dict[Key, Row]] | None:
        """What the touched groups showed before and show now, those that had and that have tuples; None where they
        have to be asked. `ask`: at the first moment."""
        changes = [self._counted(each, values, cancel) for each in (entered, left)]
        keys = list(dict.fromkeys((*changes[0], *changes[1])))
        if len(self._numbers) + len(keys) > _MOST:
            self.forget()
        unknown = [key for key in keys if key not in self._numbers]
        if unknown:
            self._learn(unknown, ask, values, cancel)
        before: dict[Key, Row] = {}
        after: dict[Key, Row] = {}
        for key in keys:
            numbers = known = self._numbers[key]
            for change, sign in zip(changes, (1, -1), strict=True):
                if key in change:
                    numbers = numbers.moved(change[key], sign)
            self._numbers[key] = numbers
            for shown, each in ((before, known), (after, numbers)):
                assert each.tuples >= 0, "more tuples left a group than it had"
                if each.tuples:
                    row = self._row(key, each, values)
                    if row is None:
                        self.forget()
                        return None
                    shown[key] = row
        return before, after

    def nbytes(self) -> int:
        return _BYTES * len(self._numbers)

    def drop(self, feed: int) -> None:
        for key in self._of.pop(feed, ()):
            self._numbers.pop(key, None)

    def _learn(self, unknown: Sequence[Key], ask: Ask, values: Scratch, cancel: Cancel) -> None:
        columns = zip(*unknown, strict=True) if self.keys else ()
        keys = {name: np.array(column, np.int64) for name, column in zip(self.keys, columns, strict=True)}
        found = self._counted(ask(Batch(len(unknown), keys)), values, cancel)
        has_feeds = self.keys[:1] == (FEED,)
        for key in unknown:
            self._numbers[key] = found.get(key, self._nothing())
            if has_feeds:
                self._of.setdefault(key[0], set()).add(key)

    def _nothing(self) -> Numbers:
        return Numbers(0, tuple(Total() for _ in self.summed))

    def _counted(self, rows: Batch, values: Scratch, cancel: Cancel) -> dict[Key, Numbers]:
        if not rows.size:
            return {}
        weight = rows.weight
        if not self.keys and not self.summed:
            return {(): Numbers(rows.size if weight is None else int(weight.sum()), ())}
        if weight is None:
            weight = np.ones(rows.size, np.int64)
        if self.keys:
            group, first = group_rows(stack(rows.columns[name] for name in self.keys), cancel.check)
            keys = list(zip(*(rows.columns[name][first].tolist() for name in self.keys), strict=True))
        else:
            group, keys = np.zeros(rows.size, np.int64), [()]
        tuples = np.zeros(len(keys), np.int64)
        np.add.at(tuples, group, weight)
        totals = [_totals(rows.columns[name], weight, group, len(keys), values) for name in self.summed]
        return {key: Numbers(int(tuples[i]), tuple(total[i] for total in totals)) for i, key in enumerate(keys)}

    def _row(self, key: Key, numbers: Numbers, values: Scratch) -> Row | None:
        shown: list[int] = []
        places = dict(zip(self.keys, key, strict=True))
        for element in self.elements:
            if not isinstance(element, FindAggregate):
                shown.append(places[element.var.name])
                continue
            value: int | float | None = numbers.tuples
            if element.reduction is not Reduction.COUNT:
                value = numbers.totals[self.summed.index(element.var.name)].value(element.reduction)
            if value is None:
                return None
            shown.append(values.intern(value))
        return tuple(shown)


def _totals(codes: Column, weight: Column, group: NDArray[np.int64], count: int, values: Scratch) -> list[Total]:
    """The sums of a column's numbers, group by group."""
    tags = tags_of(codes)
    totals = [Total() for _ in range(count)]
    long, double = tags == 0, tags == TAG_DOUBLE
    for i, number in zip(*_sums(codes[long], weight[long], group[long], count), strict=True):
        totals[i].longs = number
    for name, mask in (("long_count", long), ("double_count", double), ("odd", ~(long | double))):
        if mask.any():
            sizes = np.zeros(count, np.int64)
            np.add.at(sizes, group[mask], weight[mask])
            for i in np.flatnonzero(sizes).tolist():
                setattr(totals[i], name, int(sizes[i]))
    numbers = values.doubles(codes[double]).tolist() if double.any() else []
    for i, number, times in zip(group[double].tolist(), numbers, weight[double].tolist(), strict=True):
        if math.isfinite(number):
            numerator, denominator = number.as_integer_ratio()
            totals[i].doubles += times * (numerator << (_SCALE + 1 - denominator.bit_length()))
        else:
            totals[i].odd += times
    return totals


def _sums(codes: Column, weight: Column, group: NDArray[np.int64], count: int) -> tuple[list[int], list[int]]:
    """(groups, their sums) of longs."""
    if not len(codes):
        return [], []
    most = int(np.abs(codes).max()) * int(weight.sum())
    if most < _SAFE:
        sums = np.zeros(count, np.int64)
        np.add.at(sums, group, codes * weight)
        touched = np.flatnonzero(sums).tolist()
        return touched, sums[touched].tolist()
    found: dict[int, int] = {}
    for i, code, times in zip(group.tolist(), codes.tolist(), weight.tolist(), strict=True):
        found[i] = found.get(i, 0) + code * times
    return list(found), list(found.values())
