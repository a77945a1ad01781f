"""Patterns over paths, `[?a :person/friend+ ?b]`, as calls of generated rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.names import names_in
from adalog.datalog.values import Keyword, identity
from adalog.planner.model.paths import PathName

PathOf = Callable[[str, object], PathName | None]
"""What a name in the place of an attribute is as a path in a source, if it is one."""


def with_closures(query: ast.Query, relations: frozenset[str], path_of: PathOf) -> ast.Query:
    """The query with calls of rules for patterns over paths, and with these rules. `relations`: the sources that
    are lists of tuples."""
    rewriting = _Rewriting(relations, path_of)
    bindings = (each.binding for each in query.inputs if isinstance(each, ast.BindingInput))
    given = frozenset(name for each in bindings for name in _bound(each))
    where = rewriting.clauses(query.where, given)
    rules = tuple(
        replace(rule, clauses=rewriting.clauses(rule.clauses, frozenset(each.name for each in rule.required)))
        for rule in query.rules
    )
    return replace(query, where=where, rules=(*rules, *rewriting.rules.values()))


def _bound(binding: ast.Binding) -> Iterable[str]:
    return names_in([ast.Function("identity", (), binding)])


@dataclass
class _Rewriting:
    """`rules`: those of the paths so far, by name and place among the rules of the name."""

    relations: frozenset[str]
    path_of: PathOf
    rules: dict[tuple[str, int], ast.Rule] = field(default_factory=dict)

    def clauses(self, clauses: Iterable[ast.Clause], outside: frozenset[str]) -> tuple[ast.Clause, ...]:
        """`outside`: the variables that clauses around these can bind."""
        clauses = tuple(clauses)
        names = [names_in((each,)).keys() for each in clauses]
        return tuple(
            self.clause(each, outside.union(*names[:place], *names[place + 1 :]))
            for place, each in enumerate(clauses)
        )

    def clause(self, clause: ast.Clause, outside: frozenset[str]) -> ast.Clause:
        match clause:
            case ast.Pattern():
                return self.pattern(clause, outside)
            case ast.And():
                return replace(clause, clauses=self.clauses(clause.clauses, outside))
            case ast.Not() | ast.NotJoin():
                return replace(clause, clauses=self.clauses(clause.clauses, outside))
            case ast.Or() | ast.OrJoin():
                branches = (replace(e, clauses=self.clauses(e.clauses, outside)) for e in clause.branches)
                return replace(clause, branches=tuple(branches))
            case _:
                return clause

    def pattern(self, clause: ast.Pattern, outside: frozenset[str]) -> ast.Clause:
        name = clause.source.name
        attribute = clause.terms[1] if len(clause.terms) > 1 and name not in self.relations else None
        path = self.path_of(name, attribute.value) if isinstance(attribute, ast.Const) else None
        if path is None or not isinstance(attribute, ast.Const):
            return clause
        if len(clause.terms) > 3:
            message = f"a path such as {attribute.value} has no transaction: write [?a {attribute.value} ?b]"
            raise AdalogError(Code.QUERY_INVALID, message, clause.position)
        start, end = clause.terms[0], clause.terms[2] if len(clause.terms) > 2 else ast.Blank()
        rule = self.several(path.step)
        if path.reflexive:
            backward = _is_free(start, outside)
            if backward and _is_free(end, outside):
                why = "a path of no step leads from anything to itself"
                message = f"{why}: bind one end of {attribute.value} in another clause"
                raise AdalogError(Code.UNBOUND_VARIABLE, message, clause.position)
            rule = self.any_number(path.step, backward=backward)
            if backward:
                start, end = end, start
        return ast.RuleCall(rule, (start, end), clause.source, position=clause.position)

    def several(self, step: Keyword) -> str:
        """The rule of one step or more."""
        name, (a, b, c) = f"{step}+", map(ast.Var, ("?a", "?b", "?c"))
        one = _pattern(a, step, b)
        self.rules[name, 0] = ast.Rule(name, (), (a, b), (one,))
        more = (_pattern(a, step, c), ast.RuleCall(name, (c, b), ast.Source()))
        self.rules[name, 1] = ast.Rule(name, (), (a, b), more)
        return name

    def any_number(self, step: Keyword, *, backward: bool) -> str:
        """The rule of any number of steps from, or `backward` to, its first argument."""
        name, (a, b) = f"{step}*{' backward' if backward else ''}", map(ast.Var, ("?a", "?b"))
        ends = (b, a) if backward else (a, b)
        self.rules[name, 0] = ast.Rule(name, (a,), (b,), (ast.Function("identity", (a,), ast.ScalarBinding(b)),))
        self.rules[name, 1] = ast.Rule(name, (a,), (b,), (ast.RuleCall(self.several(step), ends, ast.Source()),))
        return name


def _is_free(term: ast.Term, outside: frozenset[str]) -> bool:
    return isinstance(term, ast.Blank) or (isinstance(term, ast.Var) and term.name not in outside)


def _pattern(start: ast.Var, step: Keyword, end: ast.Var) -> ast.Pattern:
    return ast.Pattern(ast.Source(), (start, ast.Const(step, identity(step)), end))
