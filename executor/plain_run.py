"""Runs of a question whose like was run before: what does not depend on its arguments is looked up at once.

Taken where one call of the small join's kernel makes all rows of a plan that shows them as they come. Saves the way
through plan, choice of the engine, driver and collector. What turns out otherwise is run as any question is.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.datalog.ast import FindPull, FindVar
from adalog.executor.answer.result import Result
from adalog.executor.answer.shown import shown_result
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.kept_joins import KeptJoins
from adalog.executor.evaluation.local import DISTINCT_BYTES
from adalog.executor.join.batch import Batch
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.prediction import EstimatedWork
from adalog.executor.question.question import Question
from adalog.planner.model.plan import Options, Plan
from adalog.store.snapshot.snapshot import Snapshot

_PLAIN_BYTES: Final = 2_000
# Runs that came to nothing after which a plan is not tried again.
_PATIENCE: Final = 4


@dataclass(slots=True)
class PlainRun:
    """A plan that one call of the small join's kernel runs, with what its answers show.

    `state`: of the snapshots that the plan is for. `given`: the variables of the arguments. `shown`: of the
    columns. `left`: how often it may still come to nothing.
    """

    plan: Plan
    work: EstimatedWork
    state: Hashable
    options: Options
    given: tuple[str, ...]
    shown: tuple[str, ...]
    kept: frozenset[str]
    left: int = _PATIENCE

    @staticmethod
    def of(question: Question, plan: Plan, work: EstimatedWork) -> PlainRun | None:
        """The plain run of a question's text; None where the plan needs the usual way."""
        query, find, options = plan.query, plan.query.find, question.request.options
        given = tuple(each.binding.target.name for each in query.inputs[1:])  # type: ignore[union-attr]
        shown = [each.var.name for each in find.elements if isinstance(each, FindVar | FindPull)]
        if (
            plan.options != options
            or len(shown) < len(find.columns)
            or len(shown) < len(find.elements)
            or query.with_
            or query.order_by
            or query.computes_rows
            or query.window != (0, None)
            or plan.weighted
            or plan.multiplicity is not None
            or plan.sharing is not None
            or plan.program.strata
            or plan.constants
            or plan.pulled
            or not plan.levels
            or not plan.entities.isdisjoint(given)
        ):
            return None
        return PlainRun(
            plan, work, state_of(question.snapshot), options, given, tuple(shown), frozenset(plan.answer)
        )

    def suits(self, question: Question) -> bool:
        """Whether a plain question of the same text has this plan, and its rows in any order."""
        request = question.request
        return (
            self.left > 0
            and not request.ordered
            and request.engine != "SPARK"
            and type(question.snapshot) is Snapshot
            and self.state == state_of(question.snapshot)
            and (self.options is request.options or self.options == request.options)
        )

    def rows(self, question: Question, run: QueryRun, joins: KeptJoins) -> Batch | None:
        """The distinct rows of a question that suits; None where it has to be run as any question is."""
        plan, values, cancel = self.plan, run.values, run.cancel
        bound = joins.lend(plan, question.databases, run)
        if bound is None:
            return None
        try:
            codes, start = question.snapshot.codes, {}
            for name, value in zip(self.given, question.args, strict=True):
                code = codes.lookup(value)
                start[name] = np.array([values.intern(value) if code is None else code], np.int64)
            small = None if bound.join is None else bound.join.begun(Batch(1, start), counted=False)
        finally:
            joins.give_back(bound)
        most = question.request.max_rows
        if small is None or (most is not None and small[0].size > most):
            if SMALL_JOIN.is_ready:
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
        return rows.distinct(cancel.check) if plan.distinct else rows

    def result(self, question: Question, rows: Batch, run: QueryRun, started: float) -> Result:
        codes = [rows.columns[name] for name in self.shown]
        t, databases, cancel = question.snapshot.t, question.databases, run.cancel
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

    def keep(self, question: Question, plan: Plan, work: EstimatedWork) -> None:
        """Takes in the plan with which a plain question was run."""
        known = self._known.get(question.text)
        if known is None or known.plan is not plan:
            plain = PlainRun.of(question, plan, work)
            if plain is not None:
                self._known.put(question.text, plain, _PLAIN_BYTES + len(question.text))


def state_of(snapshot: Snapshot) -> Hashable:
    return snapshot.statistics_epoch, snapshot.schema.key, snapshot.is_history
