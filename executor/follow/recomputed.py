"""A view that keeps its answers: it asks again and compares. Exact for every query, at the cost of asking it.

Rows are compared as they are shown: by their codes where these are the database's own, else by the identity of
their values. Two entities whose maps are equal show one row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from adalog.datalog.ast import FindPull, SourceInput
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import identity
from adalog.executor.answer.result import PulledColumn, Result, ResultColumn
from adalog.executor.answer.types import type_of
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.reads import Reads, reads_of, reads_of_pull, touched_attributes
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, Interest
from adalog.executor.join.batch import Column as Codes
from adalog.executor.join.batch import stack
from adalog.executor.kernels.group_kernels import group_rows
from adalog.executor.pull.find import pattern_of
from adalog.executor.question.arguments import BasisArgument
from adalog.executor.question.question import Question
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT, POLICY_ATTRIBUTES

RECOMPUTED: Final = "recomputed and compared"

PASSING: Final = (Code.CANCELLED, Code.RATE_LIMITED)
"""Refusals that say nothing about the question, which may be asked again as it was."""


@dataclass(slots=True)
class _Feed:
    question: UndatedQuestion
    answer: Result


@dataclass(slots=True)
class RecomputedView:
    """The view of any question. `question`: the question that it was made for."""

    question: UndatedQuestion
    engine: QueryEngine
    intact: bool = True
    _feeds: dict[int, _Feed] = field(default_factory=dict)

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        """The attributes that the query reads of every database that moves with `$` or forgets; `:db/ident`, since
        any keyword may name an entity."""
        followed = [feed.question for feed in self._feeds.values()] or [self.question]
        reads = reads_of(self.question.query).sources
        found: set[int] = {IDENT}
        visible, deciding = self.question.visible, list[Interest]()
        if visible is not None:
            decided_by = visible.read(at)
            if decided_by is None:
                return [Interest(None)]
            found |= decided_by - frozenset(POLICY_ATTRIBUTES)
            deciding = [Interest(each, names=True) for each in POLICY_ATTRIBUTES]
        for question in followed:
            for name, snapshot in _moving(question, at):
                # No deadline: few arguments are looked at.
                pulled = _pulled(question.at(at, lambda: None), name)
                for read in (reads.get(name, Reads()), *pulled):
                    ids = touched_attributes(at, read, question.lookups())
                    if ids is None:
                        return [Interest(None)]
                    found |= ids if snapshot is at else ids | at.origin.forgetful
        return [
            *deciding,
            *(Interest(each) for each in sorted(found - frozenset(POLICY_ATTRIBUTES) if deciding else found)),
        ]

    def decided_at(self, now: Snapshot) -> None:
        """Has the policies and facts of a raw snapshot decide what is visible, whatever moment it steps to."""
        for feed in self._feeds.values():
            feed.question = feed.question.decided_at(now)

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        if question.query.is_limited:
            # The same rows each time, where the text leaves it open which.
            question = replace(question, request=replace(question.request, ordered=True))
        self._feeds[feed] = _Feed(question, _kept(question.answer(self.engine, at, cancel)))

    def drop(self, feed: int) -> None:
        self._feeds.pop(feed, None)

    def answer(self, feed: int) -> Result:
        return self._feeds[feed].answer

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        changes: dict[int, Change | AdalogError] = {}
        self.intact = False
        for number, feed in self._feeds.items():
            try:
                answer = feed.question.answer(self.engine, tick.new, cancel)
                change = changed(feed.answer, answer, cancel.check)
                if change is not None and feed.question.query.is_limited:
                    change = with_order(change, feed.answer, answer)
            except AdalogError as error:
                if error.code in PASSING:
                    raise
                changes[number] = error
                continue
            feed.answer = _kept(answer)
            if change is not None:
                changes[number] = change
        self.intact = True
        return changes

    def nbytes(self) -> int:
        return sum(_nbytes(feed.answer) for feed in self._feeds.values())

    def spare(self) -> int:
        return 0

    def lighten(self) -> None:
        """Its answers are all that it has."""


def changed(old: Result, new: Result, check: Callable[[], None]) -> Change | None:
    """The rows that only one of two answers shows, or None where both show the same."""
    group, first = group_rows(stack([_places(old, new, i) for i in range(len(old.columns))]), check)
    was, now = np.zeros(len(first), np.bool_), np.zeros(len(first), np.bool_)
    was[group[: len(old)]] = True
    now[group[len(old) :]] = True
    came, went = now & ~was, was & ~now
    if not came.any() and not went.any():
        return None
    return Change(rows_of(new, np.sort(first[came]) - len(old), new.t), rows_of(old, np.sort(first[went]), new.t))


def with_order(change: Change, old: Result, new: Result) -> Change:
    """The change of a page, with the new order of its first column where that is another one."""
    before, after = (each.codes_of(0, 0, len(each)) for each in (old, new))
    return change if np.array_equal(before, after) else replace(change, order=after)


def distinct(result: Result, check: Callable[[], None]) -> Result:
    """The answer with each row that it shows once: entities whose maps are equal show one."""
    if not result.pulled:
        return result
    if result.decoded:
        codes = [result.codes_of(i, 0, len(result)) for i in range(len(result.columns))]
        result = replace(result, codes=codes, decoded=())
    nothing = rows_of(result, np.empty(0, np.int64), result.t)
    _, first = group_rows(stack([_places(result, nothing, i) for i in range(len(result.columns))]), check)
    if len(first) == len(result):
        return result
    return replace(rows_of(result, np.sort(first), result.t), columns=tuple(result.columns))


def rows_of(result: Result, rows: Codes, t: int) -> Result:
    codes = [column[rows] for column in result.codes]
    pulled = {i: PulledColumn(0, [each.maps[row] for row in rows.tolist()]) for i, each in result.pulled.items()}
    columns = tuple(
        column if i in pulled else ResultColumn(column.name, type_of(codes[i]))
        for i, column in enumerate(result.columns)
    )
    return replace(result, columns=columns, codes=codes, size=len(rows), pulled=pulled, t=t)


def _places(old: Result, new: Result, column: int) -> Codes:
    """One number for each row of both answers, equal where a column shows the same value."""
    if not old.pulled and not new.pulled and not _made_up(old, column) and not _made_up(new, column):
        return np.concatenate((old.codes[column], new.codes[column]))
    known: dict[Hashable, int] = {}
    shown = (*old.column(column), *new.column(column))
    return np.array([known.setdefault(identity(value), len(known)) for value in shown], np.int64)


def _made_up(result: Result, column: int) -> bool:
    """Whether a column holds values that the database did not hold when it was made."""
    return bool((result.values.made_numbers(result.codes[column]) >= 0).any())


def _kept(result: Result) -> Result:
    """An answer to be kept: without what it was computed from."""
    return replace(result, codes=[np.ascontiguousarray(column) for column in result.codes], question=None)


_MAP_BYTES = 400


def _nbytes(result: Result) -> int:
    columns = sum(column.nbytes for column in result.codes)
    made_up = 100 * len(result.values.made())
    return columns + made_up + _MAP_BYTES * sum(len(each.maps) for each in result.pulled.values())


# What it reads


def _moving(question: UndatedQuestion, at: Snapshot) -> list[tuple[str, Snapshot]]:
    """The databases that may look different after the next transaction."""
    moving = []
    for place, (each, value) in enumerate(question.matched()):
        if not isinstance(each, SourceInput):
            continue
        if place == 0:
            moving.append((each.name, at))
        elif isinstance(value, BasisArgument):
            # What lies in the past by itself stays, but for what keeps no history.
            opened = value.open(at)
            if opened.t >= at.t or opened.origin.forgetful:
                moving.append((each.name, opened))
    return moving


def _pulled(question: Question, source: str) -> Iterator[Reads]:
    """What pulls read of a source."""
    for element in question.query.find.elements:
        if isinstance(element, FindPull):
            pattern = pattern_of(element, question.query, question.args)
            found = reads_of_pull(pattern, element.source.name).sources.get(source)
            if found is not None:
                # What a pull takes may be a lookup ref as a value.
                found.unique = True
                yield found
