"""A view of rows that are cut from a whole by `:order-by`, `:limit` and `:offset`, or that show entities by pulls.

The rows of the whole, without window and pulls, are followed by a maintained view of their own. Those that are
shown are kept as codes, in a window with some rows on either side: the whole is asked again only where too many of
them are used up. Feeds that show the same rows share them, whatever each pulls of them: `pulled_rows` makes of what
became of the rows what each feed is told.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from adalog.datalog.errors import AdalogError, Code, limit_exceeded, unavailable
from adalog.datalog.pull import PullPattern
from adalog.executor.answer.columns import order_keys
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.reads import reads_of_pull, touched_attributes
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.presentation.kept_rows import KeptRows, Window, among, own_codes
from adalog.executor.follow.presentation.pulled_changes import PulledChanges
from adalog.executor.follow.presentation.pulled_rows import PulledRows, RowMoves, StepPulls
from adalog.executor.follow.undated import (
    GuardedPulling,
    GuardMoves,
    UndatedQuestion,
    argument_key,
    question_of_rows,
)
from adalog.executor.follow.view import Change, Interest
from adalog.executor.join.batch import Column
from adalog.executor.pull.steps import PullNode, PullResolver
from adalog.executor.question.inputs import numbered
from adalog.executor.question.question import Question
from adalog.planner.maintenance import Maintenance
from adalog.planner.windows import all_rows, page_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.codes import Scratch

# Refusals that are no matter of one feed.
_OF_ALL: Final = (Code.CANCELLED, Code.TIMEOUT, Code.RATE_LIMITED)


def all_rows_of(question: Question) -> Question:
    """The question for all rows of which this one shows some, without their pulls."""
    query = all_rows(question.query)
    # Plans are kept by the text, which a comment tells apart.
    request = replace(question.request, query=f"{question.text} ;all", max_rows=None, ordered=False)
    return replace(question, request=request, outline=replace(question.outline, query=query))


@dataclass(slots=True)
class _SharedRows:
    """The rows that feeds show whose arguments for them are equal. number: as the whole knows them. question: for
    them. rows: as of the view's moment; None where they have to be asked."""

    number: int
    question: UndatedQuestion
    window: Window | None
    rows: KeptRows | None = None
    feeds: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Feed:
    question: UndatedQuestion
    patterns: Sequence[PullPattern]
    shared: _SharedRows
    pulled: PulledRows


class KeptRowsView:
    """`source`: the database that moves."""

    def __init__(self, question: Question, engine: QueryEngine, maintenance: Maintenance, source: str) -> None:
        self._question = UndatedQuestion.of(question)
        # Of the rows: the first elements of what the whole shows.
        rows = question_of_rows(question)
        self._rows = rows.query
        self._width = len(rows.query.find.elements)
        self._engine = engine
        self._source = source
        self._whole = MaintainedView(all_rows_of(rows), engine, maintenance, source)
        self._numbers = itertools.count(1)
        # By the arguments for them, and by the texts of questions.
        self._shared: dict[Hashable, _SharedRows] = {}
        self._pulled: dict[str, PulledRows] = {}
        self._pulled_by(question)
        self._feeds: dict[int, _Feed] = {}
        self._nodes: dict[PullPattern, PullNode] = {}
        self._schema_key = -1
        self._intact = True

    @property
    def intact(self) -> bool:
        return self._intact and all(view.intact for view in self._views())

    def _views(self) -> Iterator[MaintainedView]:
        yield self._whole
        for pulled in self._pulled.values():
            yield from pulled.queries.views

    # Feeds

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        """Those of the whole and of queries in patterns, and the attributes that pulls read."""
        found = dict.fromkeys(interest for view in self._views() for interest in view.interests(at))
        followed = [(feed.pulled, feed.patterns) for feed in self._feeds.values()]
        if not followed:
            first = self._question.at(at, lambda: None)
            pulled = self._pulled_by(first)
            followed = [(pulled, pulled.patterns(first))]
        each_once = dict.fromkeys((each, of.pulls_entities) for of, patterns in followed for each in patterns)
        for pattern, pulls_entities in each_once:
            read = reads_of_pull(pattern, self._source).sources[self._source]
            # What a pull takes may be an ident or a lookup ref as a value.
            read.unique |= not pulls_entities
            attributes = touched_attributes(at, read)
            if attributes is None:
                return [Interest(None)]
            if not pulls_entities:
                attributes.add(IDENT)
            found.update(dict.fromkeys(map(Interest, sorted(attributes))))
        return list(found)

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        asked = question.at(at, cancel.check)
        # A set of rows, the same each time where the text leaves it open which.
        limited = question.query.is_limited
        question = replace(question, request=replace(question.request, ordered=limited))
        pulled = self._pulled_by(asked)
        patterns = pulled.patterns(asked)
        shared = self._shared_by(question_of_rows(asked), at, cancel)
        self._feeds[feed] = _Feed(question, patterns, shared, pulled)
        pulled.feeds.add(feed)
        shared.feeds.add(feed)
        pulled.queries.add(feed, question, at, cancel)

    def _pulled_by(self, question: Question) -> PulledRows:
        pulled = self._pulled.get(question.text)
        if pulled is None:
            body = self._whole.maintenance.body
            pulled = self._pulled[question.text] = PulledRows(question, self._engine, self._source, body)
        return pulled

    def _shared_by(self, asked: Question, at: Snapshot, cancel: Cancel) -> _SharedRows:
        if asked.query != self._rows:
            raise unavailable("the query shows other rows than others that it was followed with", retryable=True)
        key = tuple(map(argument_key, asked.request.args))
        shared = self._shared.get(key)
        if shared is None:
            window, limited = None, asked.query.is_limited
            if limited:
                start, stop = numbered(asked.query, asked.args).window
                window = Window(start, stop, tuple(order_keys(asked.query)))
            question = UndatedQuestion.of(asked)
            question = replace(question, request=replace(question.request, ordered=limited))
            shared = _SharedRows(next(self._numbers), question, window)
            shared.rows = self._asked(shared, at, cancel)
            self._shared[key] = shared
            self._whole.add(shared.number, UndatedQuestion.of(all_rows_of(asked)), at, cancel)
        return shared

    def drop(self, feed: int) -> None:
        dropped = self._feeds.pop(feed, None)
        if dropped is not None:
            for view in dropped.pulled.queries.views:
                view.drop(feed)
            dropped.pulled.feeds.remove(feed)
            dropped.shared.feeds.remove(feed)
        for key, shared in [each for each in self._shared.items() if not each[1].feeds]:
            self._whole.drop(shared.number)
            del self._shared[key]
        # One is left, so that feeds that come and go with other arguments need no other plan.
        unused = [text for text, pulled in self._pulled.items() if not pulled.feeds]
        for text in unused[: len(self._pulled) - 1]:
            del self._pulled[text]

    def nbytes(self) -> int:
        rows = sum(shared.rows.nbytes() for shared in self._shared.values() if shared.rows is not None)
        return sum(view.nbytes() for view in self._views()) + rows

    def spare(self) -> int:
        return sum(view.spare() for view in self._views())

    def lighten(self) -> None:
        for view in self._views():
            view.lighten()

    def _asked(self, shared: _SharedRows, at: Snapshot, cancel: Cancel) -> KeptRows:
        """Rows at a moment."""
        question = shared.question.at(at, cancel.check)
        if shared.window is None:
            most, question = question.request.max_rows, all_rows_of(question)
            question = replace(question, request=replace(question.request, max_rows=most))
            return KeptRows.of(self._engine.rows(question, cancel), None)
        start, stop = shared.window.kept
        request = replace(question.request, query=f"{question.text} ;rows {start} to {stop}")
        query = page_of(numbered(question.query, question.args), start, stop)
        question = replace(question, request=request, outline=replace(question.outline, query=query))
        return KeptRows.of(self._engine.rows(question, cancel), shared.window)

    # A step

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        if tick.old.key == tick.new.key:
            return {}
        moved = self._whole.step(tick, cancel)
        self._intact = False
        answers = {text: pulled.queries.step(tick, cancel) for text, pulled in self._pulled.items()}
        outcomes: dict[int, Change | AdalogError] = {}
        with self._engine.memory.lent(cancel):
            nodes, resolver = self._nodes_at(tick.new), PullResolver(tick.new, strict=False)
            # For patterns without queries: for all feeds of which nothing else is visible, and for each other one.
            still = PulledChanges(tick, resolver, lambda asked: None)
            moving: dict[GuardMoves, PulledChanges] = {}

            def plain(pulling: GuardedPulling | None) -> PulledChanges:
                moves = None if pulling is None else pulling.moves
                moved = None if moves is None else moves.entities
                if moves is None or moved is None or not len(moved):
                    return still
                if moves not in moving:
                    moving[moves] = PulledChanges(tick, resolver, lambda asked: None, moved)
                return moving[moves]

            for shared in self._shared.values():
                moves = self._moves(shared, moved.get(shared.number), tick, cancel)
                for number in shared.feeds:
                    cancel.check()
                    if isinstance(moves, AdalogError):
                        outcomes[number] = moves
                        continue
                    feed = self._feeds[number]
                    of, found = (feed.question, feed.patterns), answers[feed.question.request.query]
                    changes = plain(feed.question.pulling)
                    pulled = StepPulls(number, *of, changes, nodes, feed.pulled.queries, found, cancel)
                    try:
                        change = feed.pulled.change(moves, pulled, cancel)
                    except AdalogError as error:
                        if error.code in _OF_ALL:
                            raise
                        outcomes[number] = error
                        continue
                    if change is not None:
                        outcomes[number] = change
        self._intact = True
        return outcomes

    def _moves(
        self, shared: _SharedRows, moved: Change | AdalogError | None, tick: Moments, cancel: Cancel
    ) -> RowMoves | AdalogError:
        try:
            if isinstance(moved, AdalogError):
                raise moved
            before = self._asked(shared, tick.old, cancel) if shared.rows is None else shared.rows
            if moved is not None:
                return self._moved(shared, before, moved, tick, cancel)
        except AdalogError as error:
            if error.code in _OF_ALL:
                raise
            shared.rows = None
            return error
        shared.rows = before
        every = np.arange(before.shown.start, min(before.shown.stop, len(before)))
        return RowMoves(before, before, every[:0], every[:0], every)

    def _moved(
        self, shared: _SharedRows, before: KeptRows, moved: Change, tick: Moments, cancel: Cancel
    ) -> RowMoves:
        own = Scratch(tick.new.codes)
        columns, added, removed = (
            own_codes(each, values, own)
            for each, values in (
                (before.columns, before.values),
                (_columns(moved.added), moved.added.values),
                (_columns(moved.removed), moved.removed.values),
            )
        )
        before = replace(before, columns=columns, values=own)
        after = before.moved(added, removed, own, cancel)
        if after is None:
            after = self._asked(shared, tick.new, cancel)
            if (Scratch.made_numbers(np.concatenate(after.columns)) >= 0).any():
                after = replace(after, columns=own_codes(after.columns, after.values, own))
            after = replace(after, values=own)
        shared.rows = after
        most = shared.question.request.max_rows
        if most is not None and after.window is None and len(after) > most:
            raise limit_exceeded(
                f"the query has more than {most:,} rows by now; narrow it, aggregate, or use :limit"
            )
        was, now = (np.arange(len(each))[each.shown] for each in (before, after))
        old, new = (
            [column[places] for column in each.columns[: self._width]]
            for each, places in ((before, was), (after, now))
        )
        if after.window is None:
            # Rows that entered stand at the end.
            stays = len(after) - len(added[0])
            left = np.flatnonzero(among(old, removed, cancel))
            return RowMoves(before, after, left, now[stays:], now[:stays])
        stay = among(new, old, cancel)
        order = None if np.array_equal(old[0], new[0]) else new[0]
        return RowMoves(before, after, was[~among(old, new, cancel)], now[~stay], now[stay], order)

    def _nodes_at(self, at: Snapshot) -> Callable[[PullPattern], PullNode]:
        """What patterns are under the schema of a moment, which is remembered."""
        if at.schema.key != self._schema_key:
            self._nodes, self._schema_key = {}, at.schema.key
        known, resolver = self._nodes, PullResolver(at, strict=False)

        def node(pattern: PullPattern) -> PullNode:
            found = known.get(pattern)
            if found is None:
                found = known[pattern] = resolver.node(pattern)
            return found

        return node


def _columns(result: Result) -> list[Column]:
    return [result.codes_of(i, 0, len(result)) for i in range(len(result.columns))]
