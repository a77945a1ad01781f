"""Which variables clauses mention, by their written names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from adalog.datalog import ast
from adalog.datalog.errors import Position


def names_in(clauses: Iterable[ast.Clause], *, inside_not: bool = False) -> dict[str, Position | None]:
    """The variables that clauses mention, in order, each with its first place; those of a `not` only on request."""
    found: dict[str, Position | None] = {}

    def add(term: object) -> None:
        if isinstance(term, ast.Var):
            found.setdefault(term.name, term.position)
        elif isinstance(term, ast.LookupRef):
            add(term.value)
        elif isinstance(term, ast.Expression):
            for argument in term.args:
                add(argument)

    for clause in clauses:
        match clause:
            case ast.Pattern():
                for term in clause.terms:
                    add(term)
            case ast.Predicate() | ast.RuleCall():
                for argument in clause.args:
                    add(argument)
            case ast.Function():
                for part in (*clause.args, *targets(clause.binding)):
                    add(part)
            case ast.And():
                found = names_in(clause.clauses, inside_not=inside_not) | found
            case ast.Or():
                for branch in clause.branches:
                    found = names_in(branch.clauses, inside_not=inside_not) | found
            case ast.OrJoin():
                for variable in (*clause.required, *clause.variables):
                    add(variable)
            case ast.Not():
                found = names_in(clause.clauses if inside_not else (), inside_not=True) | found
            case ast.NotJoin():
                for variable in clause.variables if inside_not else ():
                    add(variable)
            case _:
                assert_never(clause)
    return found


def bound_by(clause: ast.Clause) -> frozenset[str]:
    """The variables to which a clause can give a value other than nil."""
    match clause:
        case ast.Predicate() | ast.Not() | ast.NotJoin() | ast.Optional():
            return frozenset()
        case ast.Function():
            return frozenset(each.name for each in targets(clause.binding) if isinstance(each, ast.Var))
        case ast.And():
            return frozenset().union(*map(bound_by, clause.clauses))
        case ast.Or():
            return _by_all(clause.branches)
        case ast.OrJoin():
            listed = {each.name for each in (*clause.required, *clause.variables)}
            return _by_all(clause.branches) & listed
        case _:
            return frozenset(names_in([clause]))


def _by_all(branches: Iterable[ast.And]) -> frozenset[str]:
    """What every branch can bind."""
    first, *others = map(bound_by, branches)
    return first.intersection(*others)


def sources_in(clauses: Iterable[ast.Clause]) -> Iterator[str]:
    """The names of the sources whose patterns clauses have."""
    for clause in clauses:
        match clause:
            case ast.Pattern():
                yield clause.source.name
            case ast.And() | ast.Not() | ast.NotJoin():
                yield from sources_in(clause.clauses)
            case ast.Or() | ast.OrJoin():
                yield from sources_in(clause.branches)
            case _:
                pass


def called(clauses: Iterable[ast.Clause]) -> list[str]:
    """The names of the rules that clauses call, those within a `not` included."""
    found: list[str] = []
    for clause in clauses:
        match clause:
            case ast.RuleCall():
                found.append(clause.name)
            case ast.And() | ast.Not() | ast.NotJoin():
                found += called(clause.clauses)
            case ast.Or() | ast.OrJoin():
                found += called(clause.branches)
            case _:
                pass
    return found


def targets(binding: ast.Binding) -> tuple[ast.Var | ast.Blank, ...]:
    """What a binding binds, blanks included."""
    if isinstance(binding, ast.ScalarBinding | ast.CollectionBinding):
        return (binding.target,)
    return binding.targets


def variables_of(call: ast.Expression) -> Iterator[ast.Var]:
    """The variables of a call and of those within it, one for each place."""
    for each in call.args:
        if isinstance(each, ast.Expression):
            yield from variables_of(each)
        elif isinstance(each, ast.Var):
            yield each
