"""Calls that only sums and means read: computed from the distinct tuples, after the join, as columns of numbers.

In the join each of their values would get a code of its own, which costs far more than to compute it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from adalog.datalog.aggregates import Reduction
from adalog.datalog.ast import Const, FindAggregate
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions.binding import CallBinding
from adalog.executor.expressions.calls import Results
from adalog.executor.expressions.number_columns import ARITHMETIC
from adalog.planner.model import logical
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.plan import Plan
from adalog.planner.scope.resolve import plain_value

# The cost of a plan from which on a clause's call is worth binding the join anew for each run.
_MANY: Final = 2e4

LateCalls = Mapping[str, logical.FunctionAtom]
"""By the variables that aggregates take."""


@dataclass(frozen=True, slots=True)
class _Running:
    run: QueryRun


def without_late_calls(plan: Plan) -> tuple[Plan, LateCalls]:
    """The plan of a join without the calls that can wait, and these."""
    query = plan.query
    if not query.find.has_aggregates or plan.multiplicity is not None:
        return plan, {}
    calls = [each for each in plan.body.items if isinstance(each, logical.FunctionAtom)]
    if not calls or query.order_elements:
        return plan, {}
    summed: set[str] = set()
    others = {each.name for each in query.with_}
    for column in query.find.columns:
        is_sum = isinstance(column, FindAggregate) and column.reduction in (Reduction.SUM, Reduction.MEAN)
        (summed if is_sum else others).add(column.var.name)
    late = {
        item.out: item
        for item in calls
        if item.out in summed - others - {*plan.given} and _is_arithmetic(item) and _can_wait(item, plan)
    }
    read: set[str] = set()
    for item in plan.body.items:
        read |= logical.variables(item) - {name for name, each in late.items() if each is item}
    late = {name: item for name, item in late.items() if name not in read}
    if not late:
        return plan, late
    read = {name for item in late.values() for name in item.mentions}
    levels, bound = [], {*plan.given}
    for level in plan.levels:
        if level.variable not in late:
            bound.add(level.variable)
            # A weighted join drops what is only counted beside.
            keep = None if level.keep is None else level.keep - late.keys() | (read & bound)
            levels.append(replace(level, keep=keep))
    body = logical.AndNode(tuple(each for each in plan.body.items if each not in late.values()))
    kept = tuple(name for name in plan.answer if name not in late)
    kept += tuple(sorted({name for item in late.values() for name in _arguments(item)}.difference(kept)))
    return replace(plan, body=body, levels=tuple(levels), answer=kept), late


def _can_wait(atom: logical.FunctionAtom, plan: Plan) -> bool:
    """Whether the tuples of the answer are as many with its arguments in place of its result.

    Those of an aggregate's expression are in the answer. Those of a clause have to be determined by it, as all
    variables are where rows have weights, and never nil, which would drop the row: as where its arguments are
    stored values, and constants that are not nil.
    """
    if atom.keeps_nil:
        return frozenset(atom.mentions) <= frozenset(plan.answer)
    if not plan.weighted or plan.cost < _MANY or atom.after:
        return False
    if any(isinstance(term, Const) and term.value is None for term in atom.args):
        return False
    patterns = [each for each in plan.body.items if isinstance(each, logical.DatomAtom)]
    return _arguments(atom) <= {term for each in patterns for term in (each.entity, each.value)}


def _arguments(atom: logical.FunctionAtom) -> frozenset[str]:
    """The variables among the arguments."""
    return frozenset(term for term in atom.args if isinstance(term, str))


def _is_arithmetic(atom: logical.FunctionAtom) -> bool:
    """Whether it is computed from numbers alone, one step within another."""
    if atom.tree is None:
        return atom.name in ARITHMETIC
    waiting = [atom.tree]
    while waiting:
        tree = waiting.pop()
        if tree.name not in ARITHMETIC:
            return False
        waiting += (each for each in tree.args if isinstance(each, CallTree))
    return True


def bound_calls(late: LateCalls, run: QueryRun) -> dict[str, Results]:
    """The calls, to be applied to batches of tuples."""
    made = {}
    for name, atom in late.items():
        calls = CallBinding(
            atom.args, lambda term: run.values.intern(plain_value(term)), _no_database, _Running(run)
        )
        made[name] = calls.results(atom.tree or CallTree(atom.name, tuple(range(len(atom.args))), atom.position))
    return made


def _no_database(source: str) -> NoReturn:
    raise AssertionError(f"arithmetic looks into no database, nor into {source}")
