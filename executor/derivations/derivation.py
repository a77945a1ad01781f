"""Why a conjunction of clauses holds for a row: for each clause a witness, and for calls of rules what they follow
from in their turn; or the first clause that no row passes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.aggregates import GREATEST, LEAST
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.names import names_in
from adalog.datalog.values import Keyword, Value
from adalog.executor.derivations.bodies import Bodies, Row
from adalog.executor.derivations.chains import Call, Chains, step_of
from adalog.executor.derivations.heights import HEIGHT, calls_in
from adalog.executor.derivations.tabled import Tabled, height_of, table_of, with_source
from adalog.executor.derivations.texts import Texts
from adalog.executor.facts.facts import DerivedRelation, FactRows
from adalog.planner.scope.attribute_entities import is_tie, is_tied
from adalog.planner.scope.resolve import plain_value
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.layout import NIL

Reason = dict[str, Any]
# Rows among which one is looked for whose calls do not lead back to themselves, where facts have no heights.
_TRIED: Final = 32
# Calls within calls, and steps in all, that one answer shows.
_DEPTH: Final = 8
_STEPS: Final = 200
# Of these a group's value is that of one of its rows.
_OF_ONE: Final = (LEAST, GREATEST)


@dataclass(frozen=True)
class RuleBody:
    """The rule in whose body clauses stand: what `$` is in it, the rules of its recursion, whose facts are lower
    than its own, and the calls above."""

    source: str = "$"
    own: frozenset[str] = frozenset()
    above: frozenset[Call] = frozenset()


@dataclass
class Derivations:
    """`bodies`: runs clauses with the rules as they are written. `measured`: the rules whose facts have heights,
    each with the number of its recursion. `tables`: the facts of these that a derivation may need, the least height
    in the last column; by the names that `table_of` gives. `transitive`: the rules whose tables lack the facts
    between two inner points of a way, each with the rules that join it with itself."""

    bodies: Bodies
    texts: Texts
    measured: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, FactRows] = field(default_factory=dict)
    transitive: Mapping[str, Sequence[ast.Rule]] = field(default_factory=dict)
    _left: int = _STEPS
    _least: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = self.bodies
        self._rules: dict[str, list[ast.Rule]] = {}
        for rule in own.rules:
            self._rules.setdefault(rule.name, []).append(rule)
        self._unmeasured = {name for name in self._rules if name not in self.measured} if self.tables else set()
        tabled = self._tabled("$")
        rules = (
            replace(rule, name=table_of(name), clauses=tabled.clauses(rule.clauses))
            for name in self._unmeasured
            for rule in self._rules[name]
        )
        steps = (
            replace(rule, name=step_of(name, source), clauses=self._tabled(source).clauses(rule.clauses))
            for name, squares in self.transitive.items()
            for source in dict.fromkeys(("$", *own.databases, *own.relations))
            for rule in self._rules[name]
            if rule not in squares and table_of(name, source) in self.tables
        )
        facts = {name: DerivedRelation.of([held] if len(held) else []) for name, held in self.tables.items()}
        relations = {**own.relations, **facts}
        self._over_tables = replace(own, rules=(*own.rules, *rules, *steps), relations=relations, plans={})
        self._chains = Chains(self._over_tables)

    # What holds

    def steps(self, clauses: Sequence[ast.Clause], row: Row, within: RuleBody = RuleBody()) -> list[Reason] | None:
        """A witness for each of some clauses that hold for a row. None where a call leads back to one above it."""
        found = []
        for clause in clauses:
            if is_tie(clause):
                continue
            step = self._step(clause, row, within)
            if step is None:
                return None
            found.append(step)
        return found

    def shown(self, row: Row) -> dict[str, str]:
        """The values of variables as EDN."""
        return {name: write(value) for name, value in self._values(row).items() if not is_tied(name)}

    def derived(self, call: Call, height: int | None = None, above: frozenset[Call] = frozenset()) -> Reason | None:
        """A rule with a row that a call follows from. `height`: the code of the least height of the fact, if it has
        one. None where all rows that are tried lead back to calls above."""
        name, source, codes = call
        if table_of(name, source) in self.tables and name in self.transitive:
            return self._joined(call, above)
        number = self.measured.get(name) if height is not None else None
        own = frozenset(each for each, other in self.measured.items() if other == number)
        within = RuleBody(source, own, above | {call})
        # The lowest facts follow from rules outside the recursion, most of the others do not.
        outside = height is not None and height == self._lowest(table_of(name, source))
        rules = sorted(self._rules[name], key=lambda rule: outside is any(_own_calls(rule.clauses, own)))
        return self._first(rules, codes, height, within)

    def _joined(self, call: Call, above: frozenset[Call]) -> Reason | None:
        """The same of a transitive rule: a step of its other rules, or two halves of a way."""
        name, source, codes = call
        squares = self.transitive[name]
        middle = self._chains.middle(call)
        within = RuleBody(source, above=above | {call})
        if middle is None:
            return self._first([rule for rule in self._rules[name] if rule not in squares], codes, None, within)
        square = squares[0]
        row = dict(zip(names_in(square.clauses), (codes[0], middle, codes[1]), strict=True))
        below = self.steps(square.clauses, row, within)
        return None if below is None else self._by(square, row, below)

    def _first(
        self, rules: Sequence[ast.Rule], codes: Sequence[int], height: int | None, within: RuleBody
    ) -> Reason | None:
        """The first of some rules that has a row for the arguments of a call."""
        for rule in rules:
            given = _given(rule, codes)
            if given is None:
                continue
            if height is not None:
                given[HEIGHT] = height
            for row in self._rows(rule.clauses, given, within):
                below = self.steps(rule.clauses, row, within)
                if below is not None:
                    return self._by(rule, row, below)
        return None

    def _by(self, rule: ast.Rule, row: Row, steps: list[Reason]) -> Reason:
        return {"rule": self.texts.at(rule.position), "with": self.shown(row), "steps": steps}

    def _tabled(self, source: str) -> Tabled:
        return Tabled(self.tables, self._unmeasured, source)

    def _lowest(self, table: str) -> int:
        found = self._least.get(table)
        if found is None:
            found = self._least[table] = int(self.tables[table].columns[-1].min())
        return found

    def _step(self, clause: ast.Clause, row: Row, within: RuleBody) -> Reason | None:
        said: Reason = {"clause": self.texts.at(clause.position), **_place(clause.position)}
        self._left -= 1
        if self._left < 0:
            return {**said, "more": True}
        match clause:
            case ast.Pattern():
                return {**said, "fact": self._filled(clause, row), **self._datom(clause, row, within.source)}
            case ast.RuleCall():
                below = self._called(clause, row, within)
                return None if below is None else {**said, "fact": self._filled(clause, row), **below}
            case ast.Not() | ast.NotJoin():
                return {**said, "absent": True}
            case ast.And():
                steps = self.steps(clause.clauses, row, within)
                return None if steps is None else {**said, "steps": steps}
            case ast.Or() | ast.OrJoin():
                below = self._branch(clause, row, within)
                return None if below is None else {**said, **below}
            case _:
                return {**said, "fact": self._filled(clause, row)}

    def _branch(self, clause: ast.Or | ast.OrJoin, row: Row, within: RuleBody) -> Reason | None:
        """The first branch that the row passes."""
        seen, around = set(row), row
        if isinstance(clause, ast.OrJoin):
            seen, around = {each.name for each in (*clause.required, *clause.variables)}, {}
        for number, branch in enumerate(clause.branches, 1):
            if isinstance(clause, ast.Optional) and number > 1:
                return {"absent": True}
            names = {*seen.intersection(names_in(branch.clauses, inside_not=True)), HEIGHT}
            given = {name: code for name, code in row.items() if name in names and code != NIL}
            for found in self._rows(branch.clauses, given, within):
                steps = self.steps(branch.clauses, {**around, **found}, within)
                if steps is not None:
                    return {"branch": number, "with": self.shown(found), "steps": steps}
        return None

    def _called(self, clause: ast.RuleCall, row: Row, within: RuleBody) -> Reason | None:
        call, height = self._call(clause, row, within.source)
        if len(within.above) >= _DEPTH:
            return {"more": True}
        return None if call in within.above else self.derived(call, height, within.above)

    def _call(self, clause: ast.RuleCall, row: Row, source: str) -> tuple[Call, int | None]:
        """(a call with codes for all its arguments, the code of the least height of its fact if it has one)."""
        source = source if clause.source.name == "$" else clause.source.name
        codes = self._arguments(clause, row)
        table = table_of(clause.name, source)
        height = row.get(height_of(clause))
        if None not in codes:
            if height is None and table in self.tables and clause.name not in self.transitive:
                height = _least_height(self.tables[table], codes)
            return (clause.name, source, _whole(codes)), height
        names = [f"{HEIGHT} of place {number}" for number in range(len(codes))]
        given = {name: code for name, code in zip(names, codes, strict=True) if code is not None}
        places = tuple(map(ast.Var, names))
        asked: ast.Clause = ast.RuleCall(clause.name, places, ast.Source(source))
        if table in self.tables:
            asked = ast.Pattern(ast.Source(table), (*places, ast.Var(HEIGHT)))
        (found,) = self._over_tables.rows((asked,), given, 1, (HEIGHT,) if table in self.tables else ())
        return (clause.name, source, tuple(found[name] for name in names)), found.get(HEIGHT)

    def _arguments(self, clause: ast.RuleCall, row: Row) -> list[int | None]:
        """The codes of a call's arguments, None where the row has none."""
        constants = self.bodies.constants(clause)
        return [
            row.get(each.name) if isinstance(each, ast.Var) else constants.get(each.position)
            for each in clause.args
        ]

    def _rows(self, clauses: Sequence[ast.Clause], given: Row, within: RuleBody) -> list[dict[str, int]]:
        """Rows of what a body binds, whose calls read tables; the lowest one where calls have heights."""
        constants = {
            place: code for call in calls_in(clauses) for place, code in self.bodies.constants(call).items()
        }
        tabled = Tabled(self.tables, self._unmeasured, within.source, within.own, constants)
        asked = tabled.clauses(clauses)
        bound = names_in(asked)
        heights = {height_of(call) for call in _own_calls(clauses, within.own)}.intersection(bound)
        return self._over_tables.rows(
            asked, {**given, **tabled.given}, 1 if within.own else _TRIED, sorted(heights)
        )

    def _datom(self, clause: ast.Pattern, row: Row, source: str) -> Reason:
        """The datom that a pattern over a database matches; nothing for paths and lists."""
        source = source if clause.source.name == "$" else clause.source.name
        database = self.bodies.databases.get(source)
        terms = (*clause.terms, *[ast.Blank()] * 5)[:5]
        entity, name, value, transaction, added = (self._value(term, row) for term in terms)
        attribute = database.attribute(name) if database is not None and isinstance(name, Keyword) else None
        if database is None or attribute is None:
            return {}
        if entity is None:
            # Whichever comes first.
            asked = ast.Pattern(ast.Source(source), (ast.Var(HEIGHT), *terms[1:]))
            known = {each.name: row[each.name] for each in terms if isinstance(each, ast.Var) and each.name in row}
            (found,) = self._over_tables.rows((asked,), known, 1)
            entity = self._decoded(found[HEIGHT])
        components = (entity, name) if value is None else (entity, name, value)
        for datom in database.datoms("EAVT", components):
            if transaction in (None, datom.t, datom.t + TX_BASE) and added in (None, datom.added):
                return {"datom": {"e": datom.e, "a": write(name), "v": write(datom.v), "t": datom.t}}
        return {}

    def _value(self, term: ast.Term, row: Row) -> Any:
        if isinstance(term, ast.Var):
            return self._decoded(row[term.name]) if term.name in row else None
        if isinstance(term, ast.Const) or (isinstance(term, ast.LookupRef) and isinstance(term.value, ast.Const)):
            return plain_value(term)
        return None

    def _decoded(self, code: int) -> Any:
        return self.bodies.run.values.decode(code)

    def _filled(self, clause: ast.Clause, row: Row) -> str | None:
        return self.texts.filled(clause.position, self._values(row))

    def _values(self, row: Row) -> dict[str, Value]:
        return {name: self._decoded(code) for name, code in row.items() if not name.startswith(HEIGHT)}

    # What does not hold

    def failing(self, clauses: Sequence[ast.Clause], given: Row, within: RuleBody = RuleBody()) -> Reason | None:
        """The first clause that no row passes together with those before it, with why if it calls a rule with
        arguments that are known; None if all of them pass."""
        known = given
        for number in range(1, len(clauses) + 1):
            asked = tuple(with_source(each, within.source) for each in clauses[:number])
            try:
                found = self.bodies.rows(asked, given, 2)
            except AdalogError as error:
                if error.code is not Code.UNBOUND_VARIABLE:
                    raise
                # A later clause binds what this one needs.
                continue
            if not found:
                return self._failed(clauses[number - 1], known, within)
            known = found[0] if len(found) == 1 else given
        return None

    def _failed(self, clause: ast.Clause, given: Row, within: RuleBody) -> Reason:
        """`given`: the only row of the clauses before, or what is given where they have several."""
        said: Reason = {"clause": self.texts.at(clause.position), **_place(clause.position)}
        said["with"] = self.shown({name: code for name, code in given.items() if code != NIL})
        if not isinstance(clause, ast.RuleCall):
            return said
        codes = self._arguments(clause, given)
        source = within.source if clause.source.name == "$" else clause.source.name
        if None not in codes:
            call = clause.name, source, _whole(codes)
            if call not in within.above and len(within.above) < _DEPTH:
                said["fails"] = self.failures(call, within.above)
        return said

    def failures(self, call: Call, above: frozenset[Call] = frozenset()) -> list[Reason]:
        """For each rule of a call that does not hold the clause that nothing passes."""
        name, source, codes = call
        within = RuleBody(source, above=above | {call})
        found: list[Reason] = []
        for rule in self._rules[name]:
            self._left -= 1
            said: Reason = {"rule": self.texts.at(rule.position)}
            given = _given(rule, codes)
            if self._left < 0:
                found.append({**said, "more": True})
            elif given is None:
                found.append({**said, "why": "its head has one variable for arguments that differ"})
            else:
                failed = self.failing(rule.clauses, given, within)
                found.append({**said, **(failed or {"why": "what holds of it leads back to itself"})})
        return found


def _least_height(facts: FactRows, codes: Sequence[int | None]) -> int:
    """Of a fact that there is."""
    *columns, heights = facts.columns
    there = np.ones(len(heights), np.bool_)
    for column, code in zip(columns, codes, strict=True):
        there &= column == code
    return int(heights[there].min())


def _own_calls(clauses: Sequence[ast.Clause], own: Container[str]) -> Iterator[ast.RuleCall]:
    return (call for call in calls_in(clauses) if call.name in own)


def _given(rule: ast.Rule, codes: Sequence[int]) -> dict[str, int] | None:
    """The codes of the variables of a rule's head, but for aggregates whose value no row has; None if the arguments
    of a call differ where the head has one variable."""
    given: dict[str, int] = {}
    for place, code in zip(rule.places, codes, strict=True):
        if isinstance(place, ast.FindAggregate):
            if place.name not in _OF_ONE or place.args:
                continue
            place = place.var
        if given.setdefault(place.name, code) != code:
            return None
    return given


def _whole(codes: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(code for code in codes if code is not None)


def _place(position: Position | None) -> Reason:
    return {} if position is None else {"line": position.line, "column": position.column}
