"""Rules of a policy for many viewers at once: each rule has one argument more, the number of a viewer, and so have
the rows of claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.names import names_in
from adalog.datalog.parsing.policy_rules import with_calls

VIEWER: Final = ast.Var("?viewer of it")


class NotRewritableError(Exception):
    """Viewers are to be asked one by one, each over its guarded snapshot."""


def of_viewers(
    rules: Iterable[ast.Rule], prefix: str, sources: Mapping[str, str], own: tuple[ast.Var, ...]
) -> tuple[ast.Rule, ...]:
    """A policy's rules under names that begin with `prefix`. `sources`: new names of those of claims. `own`: the
    first arguments of all, the viewer or none. Raises NotRewritableError for rules that can fail: an error denies a
    row, and must not end the query."""
    return tuple(_renamed(rule, prefix, sources, own) for rule in rules)


def joined_by_viewer(clause: ast.NotJoin | ast.OrJoin) -> ast.NotJoin | ast.OrJoin:
    """The clause with the viewer among the variables that it shares, if something in it reads claims."""
    if isinstance(clause, ast.NotJoin):
        mentions = VIEWER.name in names_in(clause.clauses, inside_not=True)
        return replace(clause, variables=(*clause.variables, VIEWER)) if mentions else clause
    mentions = any(VIEWER.name in names_in(each.clauses, inside_not=True) for each in clause.branches)
    return replace(clause, required=(*clause.required, VIEWER)) if mentions else clause


def _renamed(rule: ast.Rule, prefix: str, sources: Mapping[str, str], own: tuple[ast.Var, ...]) -> ast.Rule:
    """A policy's rule under a name of its own, calling the others by theirs. `own`: the first arguments of all."""

    def called(call: ast.RuleCall) -> ast.Clause:
        return replace(call, name=f"{prefix} {call.name}", args=(*own, *call.args))

    clauses = tuple(_with_sources(with_calls(each, called), sources, own) for each in rule.clauses)
    return replace(rule, name=f"{prefix} {rule.name}", required=(*own, *rule.required), clauses=clauses)


def _with_sources(clause: ast.Clause, sources: Mapping[str, str], own: tuple[ast.Var, ...]) -> ast.Clause:
    def each_with(clauses: tuple[ast.Clause, ...]) -> tuple[ast.Clause, ...]:
        return tuple(_with_sources(each, sources, own) for each in clauses)

    match clause:
        case ast.Pattern(source=source):
            found = sources.get(source.name)
            return (
                clause if found is None else replace(clause, source=ast.Source(found), terms=(*own, *clause.terms))
            )
        case ast.Predicate() | ast.Function():
            if _can_fail(clause):
                raise NotRewritableError
            return clause
        case ast.And() | ast.Not():
            return replace(clause, clauses=each_with(clause.clauses))
        case ast.NotJoin():
            return joined_by_viewer(replace(clause, clauses=each_with(clause.clauses)))
        case ast.Or():
            branches = tuple(replace(each, clauses=each_with(each.clauses)) for each in clause.branches)
            if not own:
                return replace(clause, branches=branches)
            shared = tuple(map(ast.Var, names_in([clause])))
            return joined_by_viewer(ast.OrJoin((), shared, branches, position=clause.position))
        case ast.OrJoin():
            branches = tuple(replace(each, clauses=each_with(each.clauses)) for each in clause.branches)
            return joined_by_viewer(replace(clause, branches=branches))
        case ast.RuleCall():
            return clause


def _can_fail(call: ast.Predicate | ast.Function | ast.Expression) -> bool:
    """Whether an error of a call could end the query."""
    known = BUILTINS.get(call.name)
    if known is None or not known.is_total or known.needs_database:
        return True
    return any(_can_fail(each) for each in call.args if isinstance(each, ast.Expression))
