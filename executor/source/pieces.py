"""A large answer divided among tasks: each runs the join from its share of the prefixes, as with `engine: SPARK`.

Every task opens the folder itself, where values may have other codes, so prefixes travel as values.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adalog.datalog import edn
from adalog.datalog.errors import invalid_argument
from adalog.executor.answer.result import Result
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.engine import Means, QueryEngine
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.local import collector_for, shape_result
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.driver import Driver
from adalog.executor.question.inputs import bind_inputs
from adalog.executor.question.question import Question, Questions
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.shares import are_apart, divided, is_rows
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.codes import Scratch

_PLAN_BYTES: Final = 1 << 20
_MOST: Final = 256
_INLINE: Final = (0, layout.TAG_BOOLEAN, layout.TAG_INSTANT)


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """A query with EDN of a vector of its arguments."""

    query: str
    args: str

    def of(self, snapshot: Snapshot, cancel: Cancel) -> Question:
        args = edn.read(self.args)
        if type(args) is not tuple:
            raise invalid_argument(f"args is {self.args}; it is EDN of a vector of arguments")
        return Questions(_PLAN_BYTES).of(QueryRequest(self.query, args), snapshot, cancel)

    def answered(self, snapshot: Snapshot) -> Result:
        cancel = Cancel()
        return QueryEngine(Means(1, None, strict=False), Memory(), _PLAN_BYTES).run(
            self.of(snapshot, cancel), cancel
        )


@dataclass(frozen=True)
class AnswerPiece:
    """Prefixes with the first `depth` variables of the plan: numbers that are the same everywhere, or values."""

    plan: Plan
    depth: int
    prefixes: dict[str, Int64s | list[Any]]

    def answered(self, query: SourceQuery, snapshot: Snapshot) -> Result:
        started, cancel = time.perf_counter(), Cancel()
        plan = self.plan
        with Memory().lent(cancel):
            values = Scratch(snapshot.codes, take=cancel.budget.take)
            inputs = bind_inputs(plan, query.of(snapshot, cancel).args, snapshot, values, cancel.check)
            run = QueryRun(values, cancel, strict=False)
            join = Binding(plan, inputs.databases, inputs.relations, run, derive=derived).join()
            collector = collector_for(plan, None, cancel)
            if join is not None:
                Driver(join, collector, cancel).run(self._batch(values), self.depth)
            return shape_result(
                plan, collector.rows(), values, cancel, t=snapshot.t, engine="LOCAL", started=started, ordered=False
            )

    def _batch(self, values: Scratch) -> Batch:
        columns = {
            name: np.array([values.intern(each) for each in own], np.int64) if isinstance(own, list) else own
            for name, own in self.prefixes.items()
        }
        return Batch(len(next(iter(columns.values()))), columns)


def pieces(query: SourceQuery, snapshot: Snapshot, rows: int) -> Sequence[AnswerPiece]:
    """Disjoint pieces of about so many rows each, by estimate; none if the answer is small or cannot be divided:
    pieces might have equal rows, or it is more than the rows of a join."""
    cancel = Cancel()
    question = query.of(snapshot, cancel)
    plan = Compiler(LruCache(_PLAN_BYTES)).compile(question, cancel=cancel)
    wanted = min(_MOST, round(plan.rows / rows))
    if wanted < 2 or not is_rows(plan) or plan.program.strata:
        return ()
    with Memory().lent(cancel):
        values = Scratch(snapshot.codes, take=cancel.budget.take)
        inputs = bind_inputs(plan, question.args, snapshot, values, cancel.check)
        if inputs.start is None:
            return ()
        shares = divided(plan, inputs, inputs.start, QueryRun(values, cancel, strict=False), wanted).shares
        if not are_apart(plan, shares) or not all(share.prefixes.columns for share in shares):
            return ()
        sent = ({name: _sent(own, values) for name, own in share.prefixes.columns.items()} for share in shares)
        return [AnswerPiece(plan, share.depth, columns) for share, columns in zip(shares, sent, strict=True)]


def _sent(codes: Column, values: Scratch) -> Int64s | list[Any]:
    return codes if np.isin(layout.tags_of(codes), _INLINE).all() else values.decode_many(codes)
