"""How high the facts of recursive rules are: a fact follows from facts that are lower, so a derivation ends.

The height of a fact is the round in which semi-naive evaluation derived it. Rules that aggregate have no heights:
the value of a group follows from all of its rows.

Source: Zhao, Subotić and Scholz, "Debugging large-scale Datalog: a scalable provenance evaluation strategy", 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from adalog.datalog import ast
from adalog.planner.scope.rulebook import RuleBook

# No variable of a text has a space.
HEIGHT: Final = "? height"


def measured(query: ast.Query) -> dict[str, int]:
    """The rules whose facts have heights, each with the number of the recursion that it is part of."""
    book = RuleBook.of(query)
    rules = [(book.component[name], rule) for name, branches in book.branches.items() for rule in branches]
    recursive = {number for number, rule in rules if book.recurs(rule)}
    aggregated = {number for number, rule in rules if any(rule.aggregates)}
    return {name: each for name, each in book.component.items() if each in recursive - aggregated}


def transitive(query: ast.Query) -> dict[str, tuple[ast.Rule, ...]]:
    """The rules that a plan derives one step at a time though the text joins them with themselves, each with those
    of its rules that do."""
    book = RuleBook.of(query)
    return {name: squares for name in book.branches if (squares := book.squares(name))}


def calls_in(clauses: Iterable[ast.Clause]) -> Iterator[ast.RuleCall]:
    """The calls outside negations."""
    for clause in clauses:
        match clause:
            case ast.RuleCall():
                yield clause
            case ast.And():
                yield from calls_in(clause.clauses)
            case ast.Or() | ast.OrJoin() if not isinstance(clause, ast.Optional):
                yield from calls_in(clause.branches)
            case _:
                pass
