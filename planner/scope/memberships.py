"""`[(in ?x [1 2])]` as what proposes values: a list that a join begins with, rather than a test of each value.

A constant list is bound like `[(ground [1 2]) [?x ...]]`. Where other clauses bind the variable, too, the list has
each number in every type that `in` finds equal; where nothing else does, the values as they are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.names import bound_by
from adalog.datalog.values import LONG_MAX, LONG_MIN, NUMERIC, BigInt, EdnSet, Float, Value, identity, type_name

# A longer list costs more to look each value up in than to test it.
_MOST: Final = 1_000
_DIGITS: Final = 300


def with_proposed_members(query: ast.Query) -> ast.Query:
    """The query with lists that propose their members, in its clauses and in the bodies of its rules."""
    bindings = (each.binding for each in query.inputs if isinstance(each, ast.BindingInput))
    given = frozenset(name for each in bindings for name in bound_by(ast.Function("identity", (), each)))
    rules = []
    for rule in query.rules:
        heads = frozenset(each.var.name if isinstance(each, ast.FindAggregate) else each.name for each in rule.head)
        rules.append(replace(rule, clauses=_rewritten(rule.clauses, frozenset(), heads)))
    return replace(query, where=_rewritten(query.where, given, frozenset()), rules=tuple(rules))


def _rewritten(
    clauses: Sequence[ast.Clause], bound: frozenset[str], perhaps: frozenset[str]
) -> tuple[ast.Clause, ...]:
    """`bound`: the variables that clauses around these bind. `perhaps`: those that a caller may bind."""
    binders = [_names(each.variables) if isinstance(each, ast.Optional) else bound_by(each) for each in clauses]
    return tuple(
        _clause(each, bound.union(*binders[:place], *binders[place + 1 :]), perhaps)
        for place, each in enumerate(clauses)
    )


def _clause(clause: ast.Clause, bound: frozenset[str], perhaps: frozenset[str]) -> ast.Clause:
    match clause:
        case ast.Predicate(name="in", args=(ast.Var() as variable, among)):
            members = _members(among, variable.name in bound, variable.name in perhaps)
            if members is None:
                return clause
            binding = ast.CollectionBinding(variable, position=clause.position)
            return ast.Function(*members, binding, position=clause.position)
        case ast.And():
            return replace(clause, clauses=_rewritten(clause.clauses, bound, perhaps))
        case ast.Or():
            branches = (replace(e, clauses=_rewritten(e.clauses, bound, perhaps)) for e in clause.branches)
            return replace(clause, branches=tuple(branches))
        case ast.Optional():
            shared = _names(clause.required)
            clauses = _rewritten(clause.clauses, bound & shared, perhaps & shared)
            return ast.Optional.of(clauses, clause.required, clause.variables, clause.position)
        case ast.OrJoin():
            listed = _names((*clause.required, *clause.variables))
            inside, called = bound & listed, perhaps | (listed - bound)
            branches = (replace(e, clauses=_rewritten(e.clauses, inside, called)) for e in clause.branches)
            return replace(clause, branches=tuple(branches))
        case _:
            # What a not tests is bound outside of it.
            return clause


def _names(variables: Iterable[ast.Var]) -> frozenset[str]:
    return frozenset(each.name for each in variables)


def _members(
    among: ast.Argument, is_bound: bool, may_be_bound: bool
) -> tuple[str, tuple[ast.Argument, ...]] | None:
    """The call that gives the members, and its arguments; None where the test has to stay."""
    if isinstance(among, ast.Var):
        return None if is_bound or may_be_bound else ("identity", (among,))
    if not isinstance(among, ast.Const) or not isinstance(among.value, tuple | EdnSet):
        return None
    items = list(among.value)
    if is_bound and len(items) > _MOST:
        return None
    # NaN equals nothing.
    items = [each for each in items if each == each]
    if any(type_name(each) in NUMERIC for each in items):
        if (may_be_bound and not is_bound) or any(_is_vast(each) for each in items):
            return None
        items = [same for each in items for same in _equal(each)] if is_bound else items
    members = tuple({identity(each): each for each in items if each is not None}.values())
    return "ground", (ast.Const(members, identity(members), position=among.position),)


def _equal(value: Value) -> Iterator[Any]:
    """The number in each type that has it; any other value as it is."""
    yield value
    if type_name(value) not in NUMERIC:
        return
    double = float(value)
    if math.isfinite(double):
        exact = Decimal(value)
        if exact == exact.to_integral_value():
            if LONG_MIN <= exact <= LONG_MAX:
                yield int(exact)
            yield BigInt(int(exact))
        yield exact
    if double == value:
        # 0 is -0.0, too.
        for each in (double, -double) if double == 0 else (double,):
            yield each
            if _fits_float(each):
                yield Float(each)


def _fits_float(number: float) -> bool:
    with np.errstate(over="ignore"):
        return float(np.float32(number)) == number


def _is_vast(value: Value) -> bool:
    """Whether a number has so many digits that its other types cost much."""
    if isinstance(value, Decimal):
        return not -_DIGITS < value.adjusted() < _DIGITS
    return isinstance(value, int) and value.bit_length() > 3 * _DIGITS
