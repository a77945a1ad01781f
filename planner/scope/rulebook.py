"""What the planner knows of a query's rules before any variable is looked at: which are called, which recur.

Rules that neither recur nor aggregate are written into the place of their call; the others become relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from adalog.datalog import ast
from adalog.datalog.aggregates import IDEMPOTENT
from adalog.datalog.errors import AdalogError, Code
from adalog.planner.scope.strata import RuleDependency, components, forbidden_cycle

# Clauses that a call may be replaced by: beyond that a rule is evaluated once for all its calls.
_INLINE = 48


@dataclass(frozen=True)
class RuleBook:
    """The rules that a query reaches, by name. `inlined`: those written into the place of their call;
    `component`: those of one number depend on each other."""

    branches: Mapping[str, tuple[ast.Rule, ...]]
    inlined: frozenset[str]
    component: Mapping[str, int]

    def recurs(self, rule: ast.Rule) -> bool:
        """Whether a rule calls itself, if only by way of others."""
        home = self.component[rule.name]
        return any(self.component[call.name] == home for call, _ in _calls(rule.clauses))

    def squares(self, name: str) -> tuple[ast.Rule, ...]:
        """The rules that say that a rule is transitive, as `[(p ?x ?y) (p ?x ?z) (p ?z ?y)]`, if none of its others
        calls itself. They say the same as one more step of the others does."""
        squares = tuple(rule for rule in self.branches[name] if _is_square(rule))
        others = (rule for rule in self.branches[name] if rule not in squares)
        return () if any(map(self.recurs, others)) else squares

    @staticmethod
    def of(query: ast.Query) -> RuleBook:
        """Prunes rules that nothing calls. Raises UNSTRATIFIABLE with the cycle spelled out."""
        branches: dict[str, list[ast.Rule]] = {}
        for rule in query.rules:
            branches.setdefault(rule.name, []).append(rule)
        reached = _reached(query.where, branches)
        dependencies = [each for name in reached for rule in branches[name] for each in _dependencies(rule)]
        found = components(reached, dependencies)
        cycle = forbidden_cycle(found, dependencies)
        if cycle is not None:
            raise _unstratifiable(cycle, branches)
        recursive = {each.reader for each in dependencies if each.reader == each.read}
        recursive.update(name for each in found if len(each) > 1 for name in each)
        return RuleBook(
            {name: tuple(branches[name]) for name in reached},
            frozenset(_inlined([name for each in found for name in each], branches, recursive)),
            {name: i for i, each in enumerate(found) for name in each},
        )


def _calls(clauses: Iterable[ast.Clause], within: str = "") -> Iterator[tuple[ast.RuleCall, str]]:
    """Each call, and what has to see all of the rule: `not`, `optional`, or nothing. `within`: that of the
    clauses."""
    for clause in clauses:
        match clause:
            case ast.RuleCall():
                yield clause, within
            case ast.And():
                yield from _calls(clause.clauses, within)
            case ast.Optional():
                yield from _calls(clause.clauses, "optional")
            case ast.Or() | ast.OrJoin():
                for branch in clause.branches:
                    yield from _calls(branch.clauses, within)
            case ast.Not() | ast.NotJoin():
                yield from _calls(clause.clauses, "not")
            case ast.Pattern() | ast.Predicate() | ast.Function():
                pass
            case _:
                assert_never(clause)


def _reached(where: Iterable[ast.Clause], branches: Mapping[str, list[ast.Rule]]) -> list[str]:
    waiting = [call.name for call, _ in _calls(where)]
    reached: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = None
            waiting.extend(call.name for rule in branches[name] for call, _ in _calls(rule.clauses))
    return list(reached)


def _dependencies(rule: ast.Rule) -> Iterator[RuleDependency]:
    seeing_all = next((f"({name} …)" for name in rule.aggregates if name and name not in IDEMPOTENT), "")
    for call, within in _calls(rule.clauses):
        yield RuleDependency(rule.name, call.name, within or seeing_all)


def _unstratifiable(cycle: tuple[RuleDependency, ...], branches: Mapping[str, list[ast.Rule]]) -> AdalogError:
    first = cycle[0]
    steps = " → ".join([first.reader, *(f"{each.barrier} {each.read}".lstrip() for each in cycle)])
    if first.barrier == "not":
        why = "its own negation: whether it holds would depend on it not holding"
    elif first.barrier == "optional":
        why = "an optional around its own call: whether that gives nil would depend on all that it gives"
    else:
        hint = f"in a recursion use {', '.join(sorted(IDEMPOTENT))}"
        why = f"its own {first.barrier}, which must see all its tuples first; {hint}"
    message = f"the rule {first.reader} depends on {why}: {steps}"
    return AdalogError(Code.UNSTRATIFIABLE, message, branches[first.reader][0].position)


def _inlined(order: list[str], branches: Mapping[str, list[ast.Rule]], recursive: set[str]) -> Iterator[str]:
    """In the order of `order`, in which a rule comes after those it calls."""
    sizes: dict[str, int] = {}
    for name in order:
        rules = branches[name]
        if name in recursive or any(any(rule.aggregates) for rule in rules):
            continue
        size = sum(
            _size(rule.clauses) + sum(sizes.get(call.name, 0) for call, _ in _calls(rule.clauses)) for rule in rules
        )
        if size <= _INLINE:
            sizes[name] = size
            yield name


def _size(clauses: Iterable[ast.Clause]) -> int:
    total = 0
    for clause in clauses:
        match clause:
            case ast.And() | ast.Not() | ast.NotJoin():
                total += _size(clause.clauses)
            case ast.Or() | ast.OrJoin():
                total += sum(_size(branch.clauses) for branch in clause.branches)
            case _:
                total += 1
    return total


def _is_square(rule: ast.Rule) -> bool:
    """`[(p ?x ?y) (p ?x ?z) (p ?z ?y)]`, as transitivity is written."""
    if len(rule.clauses) != 2 or rule.required or any(rule.aggregates) or len(rule.head) != 2:
        return False
    first, second = rule.clauses
    if not (isinstance(first, ast.RuleCall) and isinstance(second, ast.RuleCall)):
        return False
    if {first.name, second.name} != {rule.name} or {first.source.name, second.source.name} != {"$"}:
        return False
    x, y = rule.head
    z = first.args[1]
    return isinstance(z, ast.Var) and len({x, y, z}) == 3 and first.args == (x, z) and second.args == (z, y)
