"""Rules that also say how high the lowest derivation of each of their facts is.

A fact of height n follows from facts of smaller heights, so a derivation that goes down by heights ends. Rules that
aggregate have no heights: the value of a group follows from all of its rows.

Source: Zhao, Subotić and Scholz, "Debugging large-scale Datalog: a scalable provenance evaluation strategy", 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.aggregates import LEAST
from adalog.datalog.values import identity
from adalog.planner.scope.rulebook import RuleBook

# No variable of a text has a space.
HEIGHT: Final = "? height"


@dataclass(frozen=True)
class Heights:
    """`measured`: the rules whose facts have heights, with the number of the recursion that each is part of."""

    measured: dict[str, int]

    @staticmethod
    def of(query: ast.Query) -> Heights:
        book = RuleBook.of(query)
        rules = [(book.component[name], rule) for name, branches in book.branches.items() for rule in branches]
        recursive = {number for number, rule in rules if book.recurs(rule)}
        aggregated = {number for number, rule in rules if any(rule.aggregates)}
        return Heights({name: each for name, each in book.component.items() if each in recursive - aggregated})

    def added(self, query: ast.Query) -> ast.Query:
        """The query whose measured rules have one more place, the least height."""
        rules = tuple(map(self._rule, query.rules))
        return replace(query, where=_with_blanks(query.where, self.measured), rules=rules)

    def _rule(self, rule: ast.Rule) -> ast.Rule:
        if rule.name not in self.measured:
            return replace(rule, clauses=_with_blanks(rule.clauses, self.measured))
        own = {name for name, number in self.measured.items() if number == self.measured[rule.name]}
        counting = _Counting(own, self.measured)
        clauses, heights = counting.clauses(rule.clauses)
        height = ast.Var(HEIGHT)
        return replace(
            rule,
            args=(*rule.args, ast.FindAggregate(LEAST, (), height)),
            clauses=(*clauses, *_above(heights, height)),
        )


@dataclass
class _Counting:
    """Gives the calls of one recursion a variable more, for their heights."""

    own: set[str]
    measured: Iterable[str]
    made: int = 0

    def clauses(self, clauses: Sequence[ast.Clause]) -> tuple[list[ast.Clause], list[ast.Var]]:
        """(the clauses, the variables of their heights)."""
        counted: list[ast.Clause] = []
        heights: list[ast.Var] = []
        for clause in clauses:
            made, more = self._clause(clause)
            counted.append(made)
            heights += more
        return counted, heights

    def _clause(self, clause: ast.Clause) -> tuple[ast.Clause, list[ast.Var]]:
        match clause:
            case ast.RuleCall() if clause.name in self.own:
                height = self._fresh()
                return replace(clause, args=(*clause.args, height)), [height]
            case ast.And():
                inner, heights = self.clauses(clause.clauses)
                return replace(clause, clauses=tuple(inner)), heights
            case ast.Or() | ast.OrJoin() if not isinstance(clause, ast.Optional) and self._calls(clause):
                height = self._fresh()
                branches = []
                for branch in clause.branches:
                    inner, heights = self.clauses(branch.clauses)
                    branches.append(replace(branch, clauses=(*inner, *_highest(heights, height))))
                made = replace(clause, branches=tuple(branches))
                if isinstance(made, ast.OrJoin):
                    made = replace(made, variables=(*made.variables, height))
                return made, [height]
            case _:
                return _with_blanks((clause,), self.measured)[0], []

    def _calls(self, clause: ast.Or | ast.OrJoin) -> bool:
        return any(each.name in self.own for each in calls_in(clause.branches))

    def _fresh(self) -> ast.Var:
        self.made += 1
        return ast.Var(f"{HEIGHT} {self.made}")


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


def _highest(heights: Sequence[ast.Var], out: ast.Var) -> tuple[ast.Clause, ...]:
    """What gives a variable the greatest of some heights; of none 0."""
    if not heights:
        return (ast.Function("ground", (ast.Const(0, identity(0)),), ast.ScalarBinding(out)),)
    if len(heights) == 1:
        return (ast.Function("identity", (heights[0],), ast.ScalarBinding(out)),)
    return (ast.Function("max", tuple(heights), ast.ScalarBinding(out)),)


def _above(heights: Sequence[ast.Var], out: ast.Var) -> tuple[ast.Clause, ...]:
    """What gives a variable the height above some; above none 0."""
    if not heights:
        return _highest(heights, out)
    below = ast.Var(f"{HEIGHT} below")
    return (*_highest(heights, below), ast.Function("inc", (below,), ast.ScalarBinding(out)))


def _with_blanks(clauses: Iterable[ast.Clause], measured: Iterable[str]) -> tuple[ast.Clause, ...]:
    """Clauses whose calls of measured rules leave the height open."""
    made: list[ast.Clause] = []
    for clause in clauses:
        match clause:
            case ast.RuleCall() if clause.name in measured:
                made.append(replace(clause, args=(*clause.args, ast.Blank())))
            case ast.And() | ast.Not() | ast.NotJoin():
                made.append(replace(clause, clauses=_with_blanks(clause.clauses, measured)))
            case ast.Or() | ast.OrJoin():
                branches = (replace(each, clauses=_with_blanks(each.clauses, measured)) for each in clause.branches)
                made.append(replace(clause, branches=tuple(branches)))
            case _:
                made.append(clause)
    return tuple(made)
