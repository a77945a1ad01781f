"""Rules for the oracle: calls are answered top-down, a table for each rule, binding of its places and source.

A component of the dependency graph is iterated naively until no table grows; what it calls below is complete before
it is looked at, so negation and aggregates see everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import combinations
from typing import Any

from adalog.datalog import ast
from adalog.datalog.values import Keyword, identity
from adalog.planner.scope.attribute_entities import with_attribute_entities
from tests import oracle
from tests.oracle import Derived, Row, TooMuchError, orderable, solve, unify
from tests.oracle_aggregates import aggregate

IDEMPOTENT = frozenset({"min", "max", "and", "or", "union", "choice"})
MOST_ROUNDS = 60
MOST_TUPLES = 5_000


class UnstratifiableError(Exception):
    """A rule depends on its own negation, or on an aggregate of itself."""


def answer(query: ast.Query, default: Any, args: Sequence[Any]) -> list[tuple[Any, ...]]:
    """`oracle.answer` for a query with rules; `args` without the argument of `%`."""
    query = _with_attribute_entities(query, default, args)
    program = Program(query.rules)
    where = tuple(program.linked(clause) for clause in query.where)
    program.prepare(called(where))
    inputs = tuple(each for each in query.inputs if not isinstance(each, ast.RulesInput))
    return oracle.answer(replace(query, where=where, inputs=inputs), default, args)


def _with_attribute_entities(query: ast.Query, default: Any, args: Sequence[Any]) -> ast.Query:
    """The planner's own reading of variables of attributes in other places, which `test_same_meaning` is about."""
    given = iter(args)
    sources: dict[str, Any] = {"$": default}
    for slot in query.inputs:
        if isinstance(slot, ast.BindingInput):
            next(given, None)
        elif isinstance(slot, ast.SourceInput) and slot.name != "$":
            sources[slot.name] = next(given, None)

    def is_ref(source: str, attribute: object) -> bool:
        return isinstance(attribute, Keyword) and sources[source].types.get(attribute) == "ref"

    relations = {name for name, source in sources.items() if not isinstance(source, oracle.Facts)}
    return with_attribute_entities(query, relations, is_ref)


@dataclass(frozen=True, eq=False)
class Call(Derived):
    """A rule call that knows its program."""

    program: Program
    call: ast.RuleCall

    @property
    def head(self) -> tuple[Any, ...]:
        return self.program.branches[self.call.name][0].head

    def binds(self) -> set[str]:
        required = len(self.program.branches[self.call.name][0].required)
        return oracle.needs(self.call.args[required:])

    def mentions(self) -> set[str]:
        return oracle.needs(self.call.args)

    def mode(self, bound: set[str]) -> frozenset[int]:
        """The places that are known before the call; an aggregate's place never is."""
        return frozenset(
            place
            for place, (term, slot) in enumerate(zip(self.call.args, self.head, strict=True))
            if isinstance(slot, ast.Var) and not isinstance(term, ast.Blank) and oracle.needs([term]) <= bound
        )

    def evaluable(self, bound: set[str]) -> bool:
        return self.program.evaluable(self.call.name, self.mode(bound))

    def extend(self, row: Row, sources: dict[str, Any]) -> Iterator[Row]:
        here = sources | {"$": sources[self.call.source.name]}
        for named in oracle.looked_up(self.call.args, row, here["$"]):
            terms = [self.term(term, named, here["$"]) for term in self.call.args]
            given = {
                place: named[term.name] if isinstance(term, ast.Var) else term.value
                for place in self.mode(set(row))
                for term in [terms[place]]
            }
            for values in self.program.tuples(self.call.name, given, here):
                grown: Row | None = named
                for term, value in zip(terms, values, strict=True):
                    grown = None if grown is None else unify(term, value, grown)
                if grown is not None:
                    yield grown

    @staticmethod
    def term(term: Any, row: Row, source: Any) -> Any:
        if not isinstance(term, ast.LookupRef):
            return term
        value = row[term.value.name] if isinstance(term.value, ast.Var) else term.value.value
        entity = source.entity((term.attribute.value, value))
        return ast.Const(entity, identity(entity))


@dataclass
class Table:
    """The tuples found for one binding; of a rule with aggregates, one for each group."""

    name: str
    given: dict[int, Any]
    sources: dict[str, Any]
    rows: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    complete: bool = False


class Program:
    """The rules of a query by name."""

    def __init__(self, rules: Iterable[ast.Rule]) -> None:
        self.branches: dict[str, list[ast.Rule]] = {}
        for rule in rules:
            self.branches.setdefault(rule.name, []).append(rule)
        for name, branches in self.branches.items():
            self.branches[name] = [
                replace(rule, clauses=tuple(self.linked(clause) for clause in rule.clauses)) for rule in branches
            ]
        self.component: dict[str, int] = {}
        self.refused: set[tuple[str, frozenset[int]]] = set()
        self.tables: dict[Any, Table] = {}
        self.running: list[tuple[int, list[Table]]] = []

    def linked(self, node: Any) -> Any:
        """The clause with every rule call in it replaced by a `Call`."""
        if isinstance(node, ast.RuleCall):
            return Call(self, node)
        if isinstance(node, tuple):
            return tuple(map(self.linked, node))
        if is_dataclass(node) and isinstance(node, ast.And | ast.Or | ast.OrJoin | ast.Not | ast.NotJoin):
            return replace(node, **{f.name: self.linked(getattr(node, f.name)) for f in fields(node)})
        return node

    def prepare(self, names: set[str]) -> None:
        """Strata, and which bindings of the reachable rules can be evaluated."""
        below = {name: self.reached(self.calls(name)) for name in self.reached(names)}
        for number, name in enumerate(below):
            same = {other for other in below[name] if name in below[other]}
            self.component.setdefault(name, number)
            self.component |= dict.fromkeys(same, self.component[name])
        for name in self.component:
            for rule in self.branches[name]:
                others = denied(rule.clauses) if idempotent(rule.head) else called(rule.clauses)
                if any(self.component[other] == self.component[name] for other in others):
                    raise UnstratifiableError(name)
        self._refuse()

    def calls(self, name: str) -> set[str]:
        return called(tuple(clause for rule in self.branches[name] for clause in rule.clauses))

    def reached(self, names: set[str]) -> set[str]:
        """The rules that these call, directly or not, and they themselves."""
        found: set[str] = set()
        while names - found:
            found |= names
            names = set().union(*map(self.calls, names))
        return found

    def _refuse(self) -> None:
        """Takes away bindings under which a rule has no order, until none is left to take."""
        grown = True
        while grown:
            grown = False
            for name in self.component:
                places = range(len(self.branches[name][0].head))
                for mode in (frozenset(m) for n in range(len(places) + 1) for m in combinations(places, n)):
                    if (name, mode) not in self.refused and not self._orderable(name, mode):
                        self.refused.add((name, mode))
                        grown = True

    def _orderable(self, name: str, mode: frozenset[int]) -> bool:
        for rule in self.branches[name]:
            names = {variable(slot) for slot in rule.head}
            bound = {variable(rule.head[place]) for place in mode}
            if not set(range(len(rule.required))) <= mode or not orderable(rule.clauses, bound, names):
                return False
            if not names <= bound.union(*map(oracle.binds, rule.clauses)):
                return False
        return True

    def evaluable(self, name: str, mode: frozenset[int]) -> bool:
        return (name, mode) not in self.refused

    def tuples(self, name: str, given: dict[int, Any], sources: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The tuples known so far, all of them where the rule is of a component below."""
        known = tuple(sorted((place, identity(value)) for place, value in given.items()))
        key = (name, known, id(sources["$"]))
        component = self.component[name]
        inside = self.running[-1] if self.running else (None, [])
        if key not in self.tables:
            self.tables[key] = Table(name, given, sources)
            if inside[0] == component:
                inside[1].append(self.tables[key])
        table = self.tables[key]
        if not table.complete and inside[0] != component:
            self._complete(component, table)
        return list(table.rows.values())

    def _complete(self, component: int, table: Table) -> None:
        tables = [table]
        self.running.append((component, tables))
        try:
            self._iterate(tables, lambda _: True)
            if any(map(self._aggregates, tables)):
                # What rules derived from values that were not the last does not hold.
                for each in tables:
                    each.rows = each.rows if self._aggregates(each) else {}
                self._iterate(tables, lambda each: not self._aggregates(each))
        finally:
            self.running.pop()
        for each in tables:
            each.complete = True

    def _iterate(self, tables: list[Table], grows: Callable[[Table], bool]) -> None:
        for _ in range(MOST_ROUNDS):
            number = len(tables)
            grown = [self._grow(each) for each in list(tables) if grows(each)]
            if not any(grown) and len(tables) == number:
                return
        raise TooMuchError

    def _aggregates(self, table: Table) -> bool:
        return any(isinstance(slot, ast.FindAggregate) for slot in self.branches[table.name][0].head)

    def _grow(self, table: Table) -> bool:
        """One round of a table: whether it changed."""
        found = {
            key_of(values): values for rule in self.branches[table.name] for values in self._derive(rule, table)
        }
        head = self.branches[table.name][0].head
        if self._aggregates(table):
            found = aggregated(head, [*found.values(), *(table.rows.values() if idempotent(head) else ())])
        else:
            found = table.rows | found
        changed = {k: key_of(v) for k, v in found.items()} != {k: key_of(v) for k, v in table.rows.items()}
        table.rows = found
        if sum(len(each.rows) for each in self.tables.values()) > MOST_TUPLES:
            raise TooMuchError
        return changed

    def _derive(self, rule: ast.Rule, table: Table) -> Iterator[tuple[Any, ...]]:
        row: Row | None = {}
        for place, value in table.given.items():
            row = None if row is None else unify(rule.head[place], value, row)
        if row is None:
            return
        names = [variable(slot) for slot in rule.head]
        for grown in solve(rule.clauses, [row], set(names), table.sources):
            yield tuple(grown[name] for name in names)


def variable(slot: Any) -> str:
    return slot.var.name if isinstance(slot, ast.FindAggregate) else slot.name


def key_of(values: Iterable[Any]) -> Any:
    return tuple(map(identity, values))


def idempotent(head: Iterable[Any]) -> bool:
    return all(isinstance(slot, ast.Var) or slot.name in IDEMPOTENT for slot in head)


def aggregated(head: Sequence[Any], tuples: Sequence[tuple[Any, ...]]) -> dict[Any, tuple[Any, ...]]:
    """One tuple for each group of distinct tuples."""
    plain = [place for place, slot in enumerate(head) if isinstance(slot, ast.Var)]
    groups: dict[Any, list[tuple[Any, ...]]] = {}
    for values in {key_of(values): values for values in tuples}.values():
        groups.setdefault(key_of(values[place] for place in plain), []).append(values)
    return {
        group: tuple(
            members[0][place]
            if isinstance(slot, ast.Var)
            else aggregate(slot.name, [values[place] for values in members])
            for place, slot in enumerate(head)
        )
        for group, members in groups.items()
    }


def called(node: Any) -> set[str]:
    """The rules that clauses call."""
    if isinstance(node, Call):
        return {node.call.name}
    parts = node if isinstance(node, tuple) else inner(node)
    return set().union(*map(called, parts))


def denied(node: Any) -> set[str]:
    """The rules that clauses call inside a `not`."""
    if isinstance(node, ast.Not | ast.NotJoin):
        return called(node)
    parts = node if isinstance(node, tuple) else inner(node)
    return set().union(*map(denied, parts))


def inner(clause: Any) -> tuple[Any, ...]:
    return tuple(getattr(clause, "clauses", ())) + tuple(getattr(clause, "branches", ()))
