"""The answers to many questions of one view at one moment, by one evaluation whose arguments are relations.

Each answer equals that of the question by itself, to the last bit. A refusal of the evaluation says nothing about
a single question: the caller then asks one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from adalog.datalog.errors import unavailable
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.engine import QueryEngine
from adalog.executor.evaluation.local import run_join, shape_result
from adalog.executor.follow.result_changes import by_feed
from adalog.executor.join.batch import Batch, Column
from adalog.executor.question.inputs import Inputs, bind_inputs, constant_codes, sizes_of
from adalog.executor.question.question import Question
from adalog.planner.feeds import SCALARS
from adalog.planner.model.plan import Engine as Place
from adalog.store.values.codes import Scratch


def answers_together(engine: QueryEngine, questions: Sequence[Question], cancel: Cancel) -> list[Result | None]:
    """The answers to questions that share a maintained view with arguments, at the one snapshot that all of them
    have; None for one that has more rows than it may.

    With memory that `cancel` was lent. Raises what the evaluation is refused, LIMIT_EXCEEDED also where all
    together have more rows than one may, and BACKEND_UNAVAILABLE where it is no work for this engine.
    """
    started = time.perf_counter()
    first = questions[0]
    request, snapshot = first.request, first.snapshot
    planned = engine.compiler.compile_together(first, _sizes(questions), cancel)
    plan, scalars = planned.plan, planned.scalars
    place, reason = engine.choose(first, plan)
    if place is not Place.LOCAL:
        raise unavailable(f"each has to be asked by itself: {reason}")
    values = Scratch(snapshot.codes, take=cancel.budget.take)
    cancel.expect(plan.cost + sum(question.arguments_cost for question in questions))
    bound = [bind_inputs(plan, question.args, snapshot, values, cancel.check) for question in questions]
    constants = {name: np.array([code], np.int64) for name, code in constant_codes(plan, snapshot, values).items()}
    relations = _relations(bound, first.relations, scalars, cancel.check)
    run = QueryRun(values, cancel, engine.means.strict, engine.means.threads)
    inputs = Inputs(Batch(1, constants), relations, bound[0].databases)
    rows = run_join(plan, inputs, run, most=request.max_rows).rows
    found, nothing = by_feed(rows), rows.slice(0, 0)
    shown = replace(plan, query=first.query)
    answers: list[Result | None] = []
    for number, question in enumerate(questions):
        cancel.check()
        own, ordered, most = found.get(number, nothing), question.request.ordered, question.request.max_rows
        answer = shape_result(
            shown,
            own,
            values,
            cancel,
            t=snapshot.t,
            engine=str(place),
            started=started,
            ordered=ordered,
            databases=questions[number].databases,
        )
        answers.append(answer if most is None or len(answer) <= most else None)
    return answers


def _sizes(questions: Sequence[Question]) -> dict[str, int]:
    """The tuples of all relations: of arguments together, of the lists that all have in common once."""
    sizes = sizes_of(questions[0].query, questions[0].args)
    for question in questions[1:]:
        for name, size in sizes_of(question.query, question.args).items():
            if name not in question.relations:
                sizes[name] += size
    return {**sizes, SCALARS: len(questions)}


def _relations(
    bound: Sequence[Inputs], lists: frozenset[str], scalars: Sequence[str] | None, check: Callable[[], None]
) -> dict[str, list[Column]]:
    """The arguments of all, each row with the number of its question in front, and the lists of the first."""
    found = {name: columns for name, columns in bound[0].relations.items() if name in lists}
    for name in bound[0].relations.keys() - lists:
        found[name] = _numbered([inputs.relations[name] for inputs in bound], check)
    if scalars is not None:
        given = [(number, inputs.start) for number, inputs in enumerate(bound) if inputs.start is not None]
        numbers = np.array([number for number, _ in given], np.int64)
        found[SCALARS] = [numbers, *(_joined([start.columns[name] for _, start in given]) for name in scalars)]
    return found


def _numbered(parts: Sequence[Sequence[Column]], check: Callable[[], None]) -> list[Column]:
    """The distinct rows of all parts, each with its part's number in front."""
    sizes = [len(columns[0]) for columns in parts]
    columns = [np.repeat(np.arange(len(parts)), sizes), *map(_joined, zip(*parts, strict=True))]
    distinct = Batch(sum(sizes), {str(i): column for i, column in enumerate(columns)}).distinct(check)
    return list(distinct.columns.values())


def _joined(columns: Sequence[Column]) -> Column:
    return np.concatenate(columns) if columns else np.empty(0, np.int64)
