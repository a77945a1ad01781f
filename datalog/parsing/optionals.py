"""`(optional clause …)`: what each shares with the clauses around it, and which variables it alone binds.

Those may be nil. Built-ins and `:find` take nil; patterns and all clauses of clauses do not, and refuse them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.errors import Code, Position
from adalog.datalog.names import bound_by, names_in
from adalog.datalog.parsing.forms import UnknownNameError

_CLAUSES: Final = {
    ast.Pattern: "another data pattern",
    ast.RuleCall: "the call of a rule",
    ast.Optional: "another optional",
    ast.Or: "an or",
    ast.OrJoin: "an or-join",
    ast.Not: "a not",
    ast.NotJoin: "a not-join",
}


def query_with_optionals(
    clauses: Sequence[ast.Clause], given: Iterable[str], asked: Iterable[str]
) -> tuple[tuple[ast.Clause, ...], frozenset[str]]:
    """(the clauses of a `:where` with their optionals written out, the variables that may be nil). `given`: the
    variables of `:in`; `asked`: those that other sections of the query mention."""
    return _written_out(clauses, frozenset(given), frozenset(asked), {})


def rule_with_optionals(rule: ast.Rule) -> ast.Rule:
    """The rule with the optionals of its body written out."""
    heads = {_variable(each).name: "the head of a rule" for each in rule.head}
    heads |= {each.name: "the :with of a rule" for each in rule.with_}
    given = frozenset(each.name for each in rule.required)
    return replace(rule, clauses=_written_out(rule.clauses, given, frozenset(heads), heads)[0])


def _variable(place: ast.Var | ast.FindAggregate) -> ast.Var:
    return place if isinstance(place, ast.Var) else place.var


def _written_out(
    clauses: Sequence[ast.Clause], outside: frozenset[str], asked: frozenset[str], leaving: Mapping[str, str]
) -> tuple[tuple[ast.Clause, ...], frozenset[str]]:
    """`outside`: the variables that clauses around these bind. `asked`: those that anything else around them
    mentions. `leaving`: where variables of these clauses stand outside of them, if nil cannot stand there."""
    if not any(map(_has_optional, clauses)):
        return tuple(clauses), frozenset()
    clauses = tuple(_conjuncts(clauses))
    binders = [bound_by(each) for each in clauses]
    found: list[ast.Clause] = []
    nils: set[str] = set()
    for place, each in enumerate(clauses):
        others = (*clauses[:place], *clauses[place + 1 :])
        known = outside.union(*binders[:place], *binders[place + 1 :])
        around = asked.union(names_in(others, inside_not=True))
        if isinstance(each, ast.Optional):
            each = _optional(each, known, around)
            _check(each, others, leaving)
            nils.update(variable.name for variable in each.variables)
        found.append(_clause(each, known, around))
    return tuple(found), frozenset(nils)


def _clause(clause: ast.Clause, known: frozenset[str], asked: frozenset[str]) -> ast.Clause:
    match clause:
        case ast.Or():
            leaving = dict.fromkeys(names_in((clause,), inside_not=True), _CLAUSES[ast.Or])
            branches = (_branch(each, known, asked, leaving) for each in clause.branches)
            return replace(clause, branches=tuple(branches))
        case ast.OrJoin() if not isinstance(clause, ast.Optional):
            listed = frozenset(each.name for each in (*clause.required, *clause.variables))
            leaving = dict.fromkeys(listed, "the variables of an or-join")
            branches = (_branch(each, known & listed, listed, leaving) for each in clause.branches)
            return replace(clause, branches=tuple(branches))
        case ast.Not():
            return replace(clause, clauses=_written_out(clause.clauses, known, asked, {})[0])
        case ast.NotJoin():
            inside = known.intersection(each.name for each in clause.variables)
            return replace(clause, clauses=_written_out(clause.clauses, inside, inside, {})[0])
        case _:
            return clause


def _branch(branch: ast.And, known: frozenset[str], asked: frozenset[str], leaving: Mapping[str, str]) -> ast.And:
    return replace(branch, clauses=_written_out(branch.clauses, known, asked.union(leaving), leaving)[0])


def _optional(clause: ast.Optional, known: frozenset[str], asked: frozenset[str]) -> ast.Optional:
    """`known`: the variables that other clauses bind; `asked`: those that anything else mentions."""
    clauses, _ = _written_out(clause.clauses, known, asked, {})
    shared = _variables(name for name in names_in(clauses, inside_not=True).items() if name[0] in known)
    own = _variables(name for name in names_in(clauses).items() if name[0] in asked - known)
    return ast.Optional.of(clauses, shared, own, clause.position)


def _variables(names: Iterable[tuple[str, Position | None]]) -> tuple[ast.Var, ...]:
    return tuple(ast.Var(name, position=position) for name, position in names)


def _check(optional: ast.Optional, others: Sequence[ast.Clause], leaving: Mapping[str, str]) -> None:
    """Raises QUERY_INVALID for a variable of an optional that stands where nil cannot."""
    for each in optional.variables:
        if each.name in leaving:
            raise misplaced(each.name, leaving[each.name], each.position)
        for other in others:
            places = names_in((other,), inside_not=True)
            if each.name in places and type(other) in _CLAUSES:
                raise misplaced(each.name, _CLAUSES[type(other)], places[each.name])
    if names_in(optional.clauses).keys() <= {each.name for each in optional.required}:
        _check_tied(optional, [each for each in others if not isinstance(each, ast.Optional)])


def _check_tied(optional: ast.Optional, others: Sequence[ast.Clause]) -> None:
    """An optional without variables of its own changes no row, so that it ties no clauses to others."""
    names = [(names_in((each,), inside_not=True), each) for each in others]
    first, *more = [each.name for each in optional.required] or [""]
    tied, grown = {first}, True
    while grown:
        mine = set(tied).union(*(each for each, _ in names if not tied.isdisjoint(each)))
        tied, grown = mine, len(mine) > len(tied)
    for name in more:
        for places, other in names:
            if name in places and name not in tied and type(other) in _CLAUSES:
                raise misplaced(name, _CLAUSES[type(other)], places[name])


def misplaced(name: str, where: str, position: Position | None) -> UnknownNameError:
    """The refusal of a variable that only an optional binds."""
    message = (
        f"{name} of an optional may be nil, which cannot stand in {where}: use coalesce, as in "
        f"[(coalesce {name} 0) ?x], or put what reads {name} into the optional, too"
    )
    return UnknownNameError(Code.QUERY_INVALID, message, position)


def _conjuncts(clauses: Iterable[ast.Clause]) -> Iterator[ast.Clause]:
    for each in clauses:
        if isinstance(each, ast.And):
            yield from _conjuncts(each.clauses)
        else:
            yield each


def _has_optional(clause: ast.Clause) -> bool:
    match clause:
        case ast.Optional():
            return True
        case ast.And() | ast.Not() | ast.NotJoin():
            return any(map(_has_optional, clause.clauses))
        case ast.Or() | ast.OrJoin():
            return any(map(_has_optional, clause.branches))
        case _:
            return False
