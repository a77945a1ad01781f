"""Variables of attributes in the places of entities: `[?e ?a ?v] [?a :db/doc ?d]`.

Such a variable is the attribute's keyword throughout its scope, so that each pattern that has it in the place of an
entity gets a variable of its own, and the scope one pattern that ties the two: `[(entid ?a) :db/ident ?a]`. A scope
is a query's `:where`, a rule's body, a branch of an `or-join`, a `not-join`: what passes a variable on by a list
passes the keyword on. Variables that stand in a `not` alone are a scope of their own, since they exist only there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.names import names_in
from adalog.datalog.values import Keyword, identity

IsRef = Callable[[str, object], bool]
"""Whether a source has refs under an attribute's name."""

_IDENT: Final = Keyword("db/ident")
# No symbol has a space in it, so that no variable of a query is meant.
_ENTITY: Final = "(entid "


def with_attribute_entities(query: ast.Query, relations: Set[str], is_ref: IsRef) -> ast.Query:
    """`relations`: the sources that are lists of tuples, whose places mean nothing."""
    where = _Scope.of(query.where, frozenset(), relations, is_ref)
    rules = tuple(
        replace(rule, clauses=_Scope.of(rule.clauses, frozenset(), relations, is_ref)) for rule in query.rules
    )
    return replace(query, where=where, rules=rules)


def is_tied(variable: str) -> bool:
    """Whether a variable is the entity of an attribute, which no text names."""
    return variable.startswith(_ENTITY)


def is_tie(clause: ast.Clause) -> bool:
    """Whether a clause ties the entity of an attribute to it, which no text does."""
    match clause:
        case ast.Pattern(terms=(ast.Var(name), _, ast.Var(position=position))):
            return is_tied(name) and clause.position == position
        case _:
            return False


@dataclass
class _Scope:
    """`attributes`: the variables that stand for attributes. `shared`: those that do not stand in a `not` alone.
    `entities`: the patterns that tie the attributes' entities."""

    attributes: frozenset[str]
    shared: Set[str]
    relations: Set[str]
    is_ref: IsRef
    entities: dict[str, ast.Pattern] = field(default_factory=dict)

    @staticmethod
    def of(
        clauses: Sequence[ast.Clause], outside: frozenset[str], relations: Set[str], is_ref: IsRef
    ) -> tuple[ast.Clause, ...]:
        """`outside`: the variables that stand for attributes where the scope's list has them from."""
        shared = outside.union(names_in(clauses))
        attributes = outside.union(shared.intersection(_attributes(clauses, relations)))
        scope = _Scope(attributes, shared, relations, is_ref)
        changed = tuple(scope.clause(each) for each in clauses)
        return (*scope.entities.values(), *changed)

    def clause(self, clause: ast.Clause) -> ast.Clause:
        match clause:
            case ast.Pattern():
                return self.pattern(clause)
            case ast.And():
                return replace(clause, clauses=self.clauses(clause.clauses))
            case ast.Not():
                return replace(clause, clauses=self.scope(clause.clauses, self.shared))
            case ast.Or():
                branches = (replace(each, clauses=self.clauses(each.clauses)) for each in clause.branches)
                return replace(clause, branches=tuple(branches))
            case ast.OrJoin():
                listed = _names((*clause.required, *clause.variables))
                branches = (replace(each, clauses=self.scope(each.clauses, listed)) for each in clause.branches)
                return replace(clause, branches=tuple(branches))
            case ast.NotJoin():
                return replace(clause, clauses=self.scope(clause.clauses, _names(clause.variables)))
            case _:
                return clause

    def clauses(self, clauses: Sequence[ast.Clause]) -> tuple[ast.Clause, ...]:
        return tuple(self.clause(each) for each in clauses)

    def scope(self, clauses: Sequence[ast.Clause], listed: Set[str]) -> tuple[ast.Clause, ...]:
        return _Scope.of(clauses, self.attributes & listed, self.relations, self.is_ref)

    def pattern(self, clause: ast.Pattern) -> ast.Pattern:
        name = clause.source.name
        if name in self.relations:
            return clause
        terms = list(clause.terms)
        terms[0] = self.entity(terms[0], name)
        if len(terms) > 2 and isinstance(terms[1], ast.Const) and self.is_ref(name, terms[1].value):
            terms[2] = self.entity(terms[2], name)
        return replace(clause, terms=tuple(terms))

    def entity(self, term: ast.Term, source: str) -> ast.Term:
        if not isinstance(term, ast.Var) or term.name not in self.attributes:
            return term
        name = f"{_ENTITY}{term.name})" if source == "$" else f"{_ENTITY}{source} {term.name})"
        entity = ast.Var(name, position=term.position)
        tie = (entity, ast.Const(_IDENT, identity(_IDENT)), term)
        self.entities[name] = ast.Pattern(ast.Source(source), tie, position=term.position)
        return entity


def _names(variables: Sequence[ast.Var]) -> frozenset[str]:
    return frozenset(each.name for each in variables)


def _attributes(clauses: Sequence[ast.Clause], relations: Set[str]) -> Iterator[str]:
    """The variables of a scope that stand in the place of an attribute."""
    for clause in clauses:
        match clause:
            case ast.Pattern():
                name = clause.source.name
                if len(clause.terms) > 1 and isinstance(clause.terms[1], ast.Var) and name not in relations:
                    yield clause.terms[1].name
            case ast.And():
                yield from _attributes(clause.clauses, relations)
            case ast.Not():
                yield from _attributes(clause.clauses, relations)
            case ast.Or():
                for branch in clause.branches:
                    yield from _attributes(branch.clauses, relations)
            case ast.OrJoin():
                listed = _names((*clause.required, *clause.variables))
                for branch in clause.branches:
                    found = _attributes(branch.clauses, relations)
                    yield from listed.intersection(found)
            case ast.NotJoin():
                found = _attributes(clause.clauses, relations)
                yield from _names(clause.variables).intersection(found)
            case _:
                pass
