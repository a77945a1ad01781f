"""Runs of a question whose like was run before: what does not depend on its arguments is looked up at once.

Taken where one call of a kernel of small joins makes all rows of a plan that shows them as they come, with what its
rules derive. Saves the way through plan, choice of the engine, driver and collector. What turns out otherwise is
run as any question is.

After such a run nothing but the arguments' codes is new to the next one on the same snapshot: that is `SettledRun`,
which the snapshot keeps. It needs no question, flag or budget, as it takes less time and memory than these watch.
On a later snapshot of the same schema only the places in tries are others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adalog.datalog.ast import FindPull, FindVar, Query, Var
from adalog.executor.answer.columns import order_keys
from adalog.executor.answer.result import Result, sorted_rows
from adalog.executor.answer.shown import shown_result
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.kept_joins import BoundJoin, KeptJoins
from adalog.executor.evaluation.local import DISTINCT_BYTES
from adalog.executor.evaluation.small_rules import SettledRules
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.small.settled import SettledJoin
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.prediction import EstimatedWork
from adalog.executor.question.cost import VALUE_COST
from adalog.executor.question.plain_questions import PlainText
from adalog.executor.question.question import Question
from adalog.executor.turns.brief_work import BRIEF_COST
from adalog.planner.model.plan import Options, Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Codes, Scratch

_PLAIN_BYTES: Final = 2_000
# Runs that came to nothing after which a plan is not tried again.
_PATIENCE: Final = 4
# Cells of a settled run, and rows that it sorts or that are pulled.
_FEW_CELLS: Final = 4_000
_FEW_ROWS: Final = 256
# A settled run that comes to nothing more often than once in some times is not tried any more.
_CREDIT: Final = 32
_LOSS: Final = 8
_PYTHON_TYPES: Final[dict[str, type]] = {"string": str, "long": int, "boolean": bool}
_LONGS: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class RowWindow:
    """`offset`, and `limit`, which may be None; or the places of the arguments that are these."""

    offset: int = 0
    limit: int | None = None
    offset_place: int | None = None
    limit_place: int | None = None

    @staticmethod
    def of(query: Query) -> RowWindow:
        """`query`: its numbers may be variables."""
        places = {each.binding.target.name: place for place, each in enumerate(query.inputs[1:])}  # type: ignore[union-attr]
        offset, limit = query.offset, query.limit
        return RowWindow(
            0 if isinstance(offset, Var) else offset,
            0 if isinstance(limit, Var) else limit,
            places[offset.name] if isinstance(offset, Var) else None,
            places[limit.name] if isinstance(limit, Var) else None,
        )

    @property
    def places(self) -> frozenset[int]:
        """The arguments that are numbers of rows."""
        return frozenset(each for each in (self.offset_place, self.limit_place) if each is not None)

    def numbers(self, args: Sequence[Any]) -> tuple[int, int | None] | None:
        """(the first row that is shown, the first one after it that is not); None for numbers that are refused."""
        offset = self.offset if self.offset_place is None else args[self.offset_place]
        limit = self.limit if self.limit_place is None else args[self.limit_place]
        if type(offset) is not int or offset < 0 or (limit is not None and (type(limit) is not int or limit < 0)):
            return None
        return offset, None if limit is None else offset + limit


_ALL: Final = (0, None)

GivenCodes = tuple[Sequence[int], tuple[int, int | None]]
"""The codes with which a join begins, and the rows of its answer that are shown."""


@dataclass(eq=False, slots=True)
class SettledRun:
    """A plain run on one snapshot. `source`: the name of `$`. `types`: of the arguments as Python has them.
    `shown`: the slots of the columns. `shape`: of the answer. `has_pulls`: columns are entities to be pulled.
    `takes_one`: the answer has one of the rows. `is_distinct`: rows are to be made distinct here. `most`: rows that
    it may have. `values_cost`: what reading the arguments may cost, in the planner's unit."""

    join: SettledJoin | SettledRules
    run: PlainRun
    source: str
    types: Sequence[type]
    shown: Sequence[int]
    shape: str
    is_distinct: bool
    has_pulls: bool
    takes_one: bool
    most: int
    values_cost: float

    @staticmethod
    def of(run: PlainRun, settled: SettledJoin | SettledRules) -> SettledRun | None:
        """None where arguments have types of which JSON has no values, or the run may be long. `settled`: the run's
        join."""
        plain, find = run.plain, run.plan.query.find
        types = [_PYTHON_TYPES.get(each) for each in plain.types]
        known = [each for each in types if each is not None]
        if len(known) < len(types) or run.work.cost >= BRIEF_COST:
            return None
        is_distinct, has_pulls = run.plan.distinct, any(isinstance(each, FindPull) for each in find.elements)
        if is_distinct and settled.slots.keys() == set(run.shown):
            settled.merge()
            is_distinct = False
        most = _FEW_CELLS // len(run.shown)
        return SettledRun(
            settled,
            run,
            plain.source,
            known,
            [settled.slots[name] for name in run.shown],
            "maps" if find.keys else find.shape,
            is_distinct,
            has_pulls,
            find.takes_one,
            min(most, _FEW_ROWS) if has_pulls or run.order else most,
            BRIEF_COST - run.work.cost,
        )

    def given(self, snapshot: Snapshot, args: Sequence[Any]) -> GivenCodes | None:
        """What arguments are as JSON has them; None where they have to be looked at, or it is tried no more."""
        if len(args) != len(self.types) or self.run.credit <= 0:
            return None
        found, cost = [], 0.0
        for value, wanted in zip(args, self.types, strict=True):
            if type(value) is not wanted or (wanted is int and value not in _LONGS):
                return None
            cost += VALUE_COST * (2 + len(value) // 50 if type(value) is str else 2)
            code = snapshot.codes.lookup(value)
            if code is None:
                return None
            found.append(code)
        window = self.run.window.numbers(args)
        if window is None or cost >= self.values_cost:
            return None
        joined = self.run.joined
        return (found if len(joined) == len(found) else [found[place] for place in joined]), window

    def columns(self, given: GivenCodes, codes: Codes, most: int) -> Sequence[Column] | None:
        """The codes of the distinct rows that are shown, by column; None where it takes more than a moment to make
        them, or there are more than `most`. `codes`: of the snapshot."""
        prefix, window = given
        found = self.join.columns(prefix, self.shown, min(most, self.most))
        if found is None:
            self.lost()
            return None
        self.run.was_brief()
        shown: Sequence[Column] = found
        if self.is_distinct and len(found[0]) > 1:
            rows = dict.fromkeys(zip(*(column.tolist() for column in found), strict=True))
            if len(rows) < len(found[0]):
                shown = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
        if self.takes_one and len(shown[0]) > 1:
            # Which of them is chosen as for any question.
            self.lost()
            return None
        if self.run.order and len(shown[0]) > 1:
            places = sorted_rows(shown, codes, self.run.order, window[1])
            shown = [column[places] for column in shown]
        return shown if window == _ALL else [column[slice(*window)] for column in shown]

    def lost(self) -> None:
        """A run came to nothing, or its rows did."""
        self.run.credit -= _LOSS

    def result(self, snapshot: Snapshot, columns: Sequence[Column]) -> Result:
        """The answer that has these rows."""
        databases, values = {self.source: snapshot}, Scratch(snapshot.codes)
        return shown_result(
            self.run.plan, columns, values, t=snapshot.t, engine="LOCAL", started=0.0, databases=databases
        )


@dataclass(eq=False, slots=True)
class PlainRun:
    """A plan that one call of a kernel of small joins runs, with what its answers show.

    `state`: of the snapshots that the plan is for. `given`: the variables of the arguments that the join begins
    with, which are `joined` among these. `shown`: of the columns. `order`: of the rows, as of `order_keys`.
    `left`: how often it may still come to nothing, or to so many rows that it was slower than any other way.
    `credit`: the same of its settled runs, on all snapshots. `settles`: whether there was one.
    """

    plain: PlainText
    plan: Plan
    work: EstimatedWork
    state: Hashable
    options: Options
    given: tuple[str, ...]
    joined: tuple[int, ...]
    shown: tuple[str, ...]
    kept: frozenset[str]
    window: RowWindow
    order: Sequence[tuple[int, bool]]
    left: int = _PATIENCE
    credit: int = _CREDIT
    settles: bool = False

    @staticmethod
    def of(question: Question, plain: PlainText, plan: Plan, work: EstimatedWork) -> PlainRun | None:
        """The plain run of a question's text; None where the plan needs the usual way."""
        # The plan's query has the numbers of one request for those of rows.
        query, find, options = question.query, plan.query.find, question.request.options
        window = RowWindow.of(query)
        names = [each.binding.target.name for each in query.inputs[1:]]  # type: ignore[union-attr]
        joined = tuple(place for place in range(len(names)) if place not in window.places)
        given = tuple(names[place] for place in joined)
        shown = [each.var.name for each in find.elements if isinstance(each, FindVar | FindPull)]
        if (
            plan.options != options
            or len(shown) < len(find.columns)
            or len(shown) < len(find.elements)
            or query.with_
            or query.hides_order
            or query.computes_rows
            # Which rows are shown depends on how they are made.
            or ((query.limit is not None or query.offset != 0) and not query.order_by)
            or plan.weighted
            or plan.multiplicity is not None
            or plan.sharing is not None
            or any(each.aggregates for each in plan.program.relations)
            or plan.constants
            or plan.pulled
            or not plan.levels
            or not plan.entities.isdisjoint(given)
        ):
            return None
        return PlainRun(
            plain,
            plan,
            work,
            state_of(question.snapshot),
            options,
            given,
            joined,
            tuple(shown),
            frozenset(plan.answer),
            window,
            order_keys(query),
        )

    def suits(self, question: Question) -> bool:
        """Whether a plain question of the same text has this plan, and its rows in any order."""
        request = question.request
        return (
            not request.ordered
            and request.engine != "SPARK"
            and self.is_for(question.snapshot)
            and (self.options is request.options or self.options == request.options)
        )

    def is_for(self, snapshot: Snapshot) -> bool:
        """Whether the plan is right for a snapshot, and worth a try."""
        return self.left > 0 and type(snapshot) is Snapshot and self.state == state_of(snapshot)

    def settled_on(self, snapshot: Snapshot, joins: KeptJoins) -> SettledRun | None:
        """The run on a snapshot of the same schema, where one on an earlier snapshot was settled and its join is
        kept."""
        plain = self.plain
        if not self.settles or self.credit <= 0 or plain.schema is not snapshot.schema or not self.is_for(snapshot):
            return None
        if snapshot.is_past or not snapshot.is_plain:
            return None
        run = QueryRun(Scratch(snapshot.codes))
        join = joins.settled(self.plan, {plain.source: snapshot}, self.given, run)
        return None if join is None else SettledRun.of(self, join)

    def was_brief(self) -> None:
        """A run made few rows."""
        if self.credit < _CREDIT:
            self.credit += 1

    def rows(self, question: Question, run: QueryRun, joins: KeptJoins) -> Batch | None:
        """The distinct rows of a question that suits; None where it has to be run as any question is."""
        plan, values, cancel, args = self.plan, run.values, run.cancel, question.args
        if self.window.numbers(args) is None:
            return None
        bound = joins.lend(plan, question.databases, run)
        if bound is None:
            return None
        is_new = bound.is_new
        try:
            codes, start = question.snapshot.codes, {}
            for name, place in zip(self.given, self.joined, strict=True):
                value = args[place]
                code = codes.lookup(value)
                start[name] = np.array([values.intern(value) if code is None else code], np.int64)
            small = bound.begun(Batch(1, start))
            if small is not None and not run.strict:
                self._settle(question, bound)
        finally:
            joins.give_back(bound)
        most = question.request.max_rows
        if small is None or (most is not None and small[0].size > most):
            # Each excision has joins bound anew, and the first run of one comes to nothing.
            if SMALL_JOIN.is_ready and not is_new:
                self.left -= 1
            return None
        rows, depth = small
        if not rows.size:
            return Batch(0, {name: np.empty(0, np.int64) for name in plan.answer})
        if depth < len(plan.levels):
            self.left -= 1
            return None
        rows = rows.only(self.kept)
        held = rows.nbytes
        cancel.budget.take(held + (held + DISTINCT_BYTES * rows.size if plan.distinct else 0))
        rows = rows.distinct(cancel.check) if plan.distinct else rows
        if rows.size > 1 and plan.query.find.takes_one:
            self.left -= 1
            return None
        if rows.size * len(self.shown) <= _FEW_CELLS:
            self.was_brief()
        return rows

    def _settle(self, question: Question, join: BoundJoin) -> None:
        """Keeps the run for others on the same snapshot."""
        snapshot, text = question.snapshot, question.text
        if text in snapshot.attached or snapshot.is_past or not snapshot.is_plain:
            return
        settled = join.settled(self.given)
        run = None if settled is None else SettledRun.of(self, settled)
        self.settles = run is not None
        snapshot.attach(text, run)

    def result(self, question: Question, rows: Batch, run: QueryRun, started: float) -> Result:
        codes = [rows.columns[name] for name in self.shown]
        t, databases, cancel = question.snapshot.t, question.databases, run.cancel
        window = self.window.numbers(question.args)
        if self.order and rows.size > 1:
            order = sorted_rows(codes, run.values, self.order, None if window is None else window[1], cancel)
            codes = [column[order] for column in codes]
        if window is not None and window != _ALL:
            codes = [column[slice(*window)] for column in codes]
        result = shown_result(
            self.plan, codes, run.values, t=t, engine="LOCAL", started=started, databases=databases
        )
        result.question = question
        result.waited_ms, result.lane = cancel.waited * 1000, cancel.lane
        return result


class PlainRuns:
    """The plain runs of an engine, by the texts of their questions. Thread-safe; bounded by bytes."""

    def __init__(self, nbytes: int) -> None:
        self._known: LruCache[str, PlainRun] = LruCache(nbytes)

    def of(self, question: Question) -> PlainRun | None:
        """What runs a plain question; None where it is run as any question is."""
        known = self._known.get(question.text)
        return known if known is not None and known.suits(question) else None

    def keep(self, question: Question, plain: PlainText, plan: Plan, work: EstimatedWork) -> None:
        """Takes in the plan with which a plain question was run."""
        known = self._known.get(question.text)
        if known is None or known.plan.body is not plan.body:
            run = PlainRun.of(question, plain, plan, work)
            if run is not None:
                self._known.put(question.text, run, _PLAIN_BYTES + len(question.text))

    def settled(self, text: str, snapshot: Snapshot, joins: KeptJoins) -> SettledRun | None:
        """The settled run of a text on a newer snapshot than it had, which keeps it; None where a question of the
        text is to be run."""
        known = self._known.get(text)
        settled = None if known is None else known.settled_on(snapshot, joins)
        if settled is not None:
            snapshot.attach(text, settled)
        return settled


def state_of(snapshot: Snapshot) -> Hashable:
    return snapshot.statistics_epoch, snapshot.schema.key, snapshot.is_history
