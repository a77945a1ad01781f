"""Checks a derivation that `why` shows against the rules as they are written: the premises of each step are the
clauses of one rule for its row, and each leaf is a datom or a clause that holds by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adalog.datalog import ast
from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.names import names_in
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot

Reason = Mapping[str, Any]
Row = Mapping[str, Any]
"""The values of variables."""


class WrongDerivationError(AssertionError):
    pass


@dataclass
class DerivationChecker:
    """`rules`: those given for `%`, if the query's text has none. `databases`: by the names of their sources.
    `cut`: how many steps were shown without what they follow from."""

    pool: Pool
    text: str
    databases: Mapping[str, Snapshot]
    rules: str | None = None
    cut: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.query = parse_query(self.text, self.rules)

    def check(self, reason: Reason) -> None:
        self.require(reason["holds"] is True and reason["steps"] is not None, reason)
        self.steps(self.query.where, reason["steps"], values(reason["with"]), "$", ())

    def steps(
        self, clauses: Sequence[ast.Clause], found: Sequence[Reason], row: Row, source: str, above: tuple[Any, ...]
    ) -> None:
        self.require(len(clauses) == len(found), found)
        for clause, step in zip(clauses, found, strict=True):
            place = clause.position
            self.require(place is None or (step["line"], step["column"]) == (place.line, place.column), step)
            if step.get("more"):
                self.cut += 1
            else:
                self.step(clause, step, row, source, above)

    def step(self, clause: ast.Clause, step: Reason, row: Row, source: str, above: tuple[Any, ...]) -> None:
        match clause:
            case ast.Pattern():
                self.pattern(clause, step, row, named(clause.source, source))
            case ast.RuleCall():
                self.call(clause, step, row, named(clause.source, source), above)
            case ast.And():
                self.steps(clause.clauses, step["steps"], row, source, above)
            case ast.Optional() if step.get("absent"):
                pass
            case ast.Or() | ast.OrJoin():
                branch = clause.branches[step["branch"] - 1]
                inner = values(step["with"])
                shared = names_in(branch.clauses)
                if isinstance(clause, ast.OrJoin):
                    shared = {each.name: None for each in (*clause.required, *clause.variables)}
                for name in shared:
                    self.require(name not in row or name not in inner or same(row[name], inner[name]), step)
                self.steps(branch.clauses, step["steps"], inner, source, above)
            case _:
                self.by_itself(clause, step, row, source)

    def pattern(self, clause: ast.Pattern, step: Reason, row: Row, source: str) -> None:
        database = self.databases.get(source)
        terms = clause.terms
        if database is None or len(terms) < 2 or not isinstance(terms[1], ast.Const):
            return
        attribute = terms[1].value
        if database.attribute(attribute) is None:
            return  # A path.
        shown = step["datom"]
        e, v, t = shown["e"], read(shown["v"]), shown["t"]
        for term, value in zip((terms[0], *terms[2:3]), (e, v), strict=False):
            self.require(self.fits(term, value, row, database), step)
        datoms = database.datoms("EAVT", (e, attribute))
        self.require(any((d.t, write(d.v)) == (t, shown["v"]) for d in datoms), step)

    def call(self, clause: ast.RuleCall, step: Reason, row: Row, source: str, above: tuple[Any, ...]) -> None:
        inner = values(step["with"])
        places = [(each["line"], each["column"]) for each in step["steps"]]
        rules = [
            rule
            for rule in self.query.rules
            if rule.name == clause.name and places == [(p.line, p.column) for p in map(position_of, rule.clauses)]
        ]
        self.require(len(rules) == 1, step)
        (rule,) = rules
        arguments = []
        for place, term in zip(rule.places, clause.args, strict=True):
            if isinstance(place, ast.FindAggregate):
                arguments.append(None)
                continue
            self.require(place.name in inner, step)
            arguments.append(write(inner[place.name]))
            self.require(self.fits(term, inner[place.name], row, self.databases.get(source)), step)
        fact = clause.name, source, tuple(arguments)
        self.require(fact not in above or any(rule.aggregates), step)
        self.steps(rule.clauses, step["steps"], inner, source, (*above, fact))

    def by_itself(self, clause: ast.Clause, step: Reason, row: Row, source: str) -> None:
        """Asks the engine for a clause with its row, as a query of its own."""
        names = [name for name in names_in([clause], inside_not=True) if name in row]
        if source not in self.databases or any(row[name] is None for name in names):
            return
        whole = len(names) == len(names_in([clause], inside_not=True))
        others = [each for each in self.databases if each != "$"]
        text = (
            f"[:find (count ?one) :in $ % {' '.join([*others, *names])} :where [(ground 1) ?one] {step['clause']}]"
        )
        args = [self.rules_text, *(self.databases[each] for each in others), *(row[name] for name in names)]
        try:
            found = self.pool.run(QueryRequest(text, args, self.databases[source])).rows()
        except AdalogError as error:
            # A variable that only clauses around a negation bind is not among what is shown of it.
            if error.code is Code.UNBOUND_VARIABLE and not whole:
                return
            raise
        self.require(bool(found), step)

    @property
    def rules_text(self) -> str:
        if self.rules is not None:
            return self.rules
        forms = list(read(self.text))
        keys = [write(each) for each in forms]
        return keys[keys.index(":rules") + 1] if ":rules" in keys else "[]"

    def fits(self, term: ast.Term, value: Any, row: Row, database: Snapshot | None) -> bool:
        """Whether a value may stand where a clause has a term."""
        match term:
            case ast.Var():
                return term.name not in row or same(row[term.name], value)
            case ast.Const():
                if isinstance(term.value, Keyword) and database is not None and database.entid(term.value) == value:
                    return True
                return same(term.value, value)
            case _:
                return True

    @staticmethod
    def require(holds: bool, shown: Any) -> None:
        if not holds:
            raise WrongDerivationError(shown)


def values(shown: Mapping[str, str]) -> Row:
    return {name: read(text) for name, text in shown.items()}


def named(source: ast.Source, default: str) -> str:
    """The source that a clause reads where `$` is `default`."""
    return default if source.name == "$" else source.name


def position_of(clause: ast.Clause) -> Position:
    assert clause.position is not None
    return clause.position


def same(one: Any, other: Any) -> bool:
    return bool(one == other) or write(one) == write(other)
