"""Clauses whose calls of rules read tables of their facts, in place of deriving these once more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from adalog.datalog import ast
from adalog.datalog.errors import Position
from adalog.datalog.values import identity
from adalog.executor.derivations.heights import HEIGHT, calls_in

_TABLE: Final = "$facts of "
_ZERO: Final = ast.Const(0, identity(0))

Node = TypeVar("Node")


def table_of(name: str, source: str = "$") -> str:
    """The table of a rule's facts where `$` is this source. It is also the name of a rule without a table whose own
    calls read tables."""
    return _TABLE + (name if source == "$" else f"{name}@{source}")


def height_of(call: ast.RuleCall) -> str:
    """The variable of the height of a call's fact."""
    place = call.position
    return f"{HEIGHT} of {call.name}" if place is None else f"{HEIGHT} {place.origin} {place.line} {place.column}"


def with_source(node: Node, source: str) -> Node:
    """Clauses in which `$` is a source."""
    return node if source == "$" else _mapped(node, source)


def _mapped(node: Any, source: str) -> Any:
    if isinstance(node, ast.Source):
        return replace(node, name=source) if node.name == "$" else node
    if isinstance(node, tuple):
        return tuple(_mapped(each, source) for each in node)
    if not is_dataclass(node) or isinstance(node, ast.Query | Position | type):
        return node
    parts = {each.name: _mapped(getattr(node, each.name), source) for each in fields(node) if each.init}
    return replace(node, **parts)


class Tabled:
    """Rewrites clauses in which `$` is `source`. `tables`: of rules; `rules`: those without a table whose calls
    read tables. `own`: the rules of the recursion whose facts are to be lower than HEIGHT. `constants`: their
    codes, by where they stand in calls; what they are given for is in `given`."""

    def __init__(
        self,
        tables: Collection[str],
        rules: Collection[str],
        source: str,
        own: Collection[str] = (),
        constants: Mapping[Position | None, int] | None = None,
    ) -> None:
        self._tables = tables
        self._rules = rules
        self._source = source
        self._own = own
        self._constants = constants or {}
        self.given: dict[str, int] = {}

    def clauses(self, clauses: Iterable[ast.Clause]) -> tuple[ast.Clause, ...]:
        made: list[ast.Clause] = []
        for clause in clauses:
            made += self._clause(clause)
        return tuple(made)

    def _clause(self, clause: ast.Clause) -> list[ast.Clause]:
        match clause:
            case ast.RuleCall():
                return self._call(clause)
            case ast.And():
                return [replace(clause, clauses=self.clauses(clause.clauses))]
            case ast.Or() | ast.OrJoin() if not isinstance(clause, ast.Optional):
                return [self._or(clause)]
            case _:
                return [with_source(clause, self._source)]

    def _or(self, clause: ast.Or | ast.OrJoin) -> ast.Clause:
        branches = tuple(replace(each, clauses=self.clauses(each.clauses)) for each in clause.branches)
        if all(each.name not in self._own for each in calls_in(clause.branches)):
            return replace(clause, branches=branches)
        # Every branch has the same variables.
        height = ast.Var(HEIGHT)
        known = ast.Predicate("<=", (_ZERO, height))
        branches = tuple(replace(each, clauses=(*each.clauses, known)) for each in branches)
        made = replace(clause, branches=branches)
        return replace(made, variables=(*made.variables, height)) if isinstance(made, ast.OrJoin) else made

    def _call(self, call: ast.RuleCall) -> list[ast.Clause]:
        source = self._source if call.source.name == "$" else call.source.name
        table = table_of(call.name, source)
        terms = self._terms(call)
        if terms is not None and table in self._tables:
            if call.name not in self._own:
                return [ast.Pattern(ast.Source(table), (*terms, ast.Blank()), position=call.position)]
            height = ast.Var(height_of(call))
            return [
                ast.Pattern(ast.Source(table), (*terms, height), position=call.position),
                ast.Predicate("<", (height, ast.Var(HEIGHT)), position=call.position),
            ]
        if source == "$" and call.name in self._rules:
            return [replace(call, name=table_of(call.name))]
        return [replace(call, source=replace(call.source, name=source))]

    def _terms(self, call: ast.RuleCall) -> Sequence[ast.Term] | None:
        """The call's arguments with variables for constants; None where the code of one is not known."""
        terms: list[ast.Term] = []
        for term in call.args:
            if not isinstance(term, ast.Const | ast.LookupRef):
                terms.append(term)
                continue
            code = self._constants.get(term.position)
            if code is None:
                return None
            name = f"{HEIGHT} constant {len(self.given)}"
            self.given[name] = code
            terms.append(ast.Var(name))
        return terms
