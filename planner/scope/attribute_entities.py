"""Variables of attributes in the places of entities: `[?e ?a ?v] [?a :db/doc ?d]`.

Such a variable is the attribute's keyword throughout its scope, so that each pattern that has it in the place of an
entity gets a variable of its own, and the scope one pattern that ties the two: `[(entid ?a) :db/ident ?a]`. A scope
is a query's `:where`, a rule's body, a branch of an `or-join`, a `not-join`: what passes a variable on by a list
passes the keyword on. Variables that stand in a `not` alone are a scope of their own, since they exist only there.
So is each branch of an `or` for a variable that stands for an attribute in branches alone, and for no entity beside
them: one branch says nothing of what another finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
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
        attributes = outside.union(shared.intersection(_attributes(clauses, relations, is_ref)))
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
                return self.disjunction(clause)
            case ast.OrJoin():
                listed = _names((*clause.required, *clause.variables))
                branches = (replace(each, clauses=self.scope(each.clauses, listed)) for each in clause.branches)
                return replace(clause, branches=tuple(branches))
            case ast.NotJoin():
                return replace(clause, clauses=self.scope(clause.clauses, _names(clause.variables)))
            case _:
                return clause

    def disjunction(self, clause: ast.Or) -> ast.Clause:
        found = (_attributes(each.clauses, self.relations, self.is_ref) for each in clause.branches)
        if self.attributes.issuperset(chain.from_iterable(found)):
            branches = (replace(each, clauses=self.clauses(each.clauses)) for each in clause.branches)
            return replace(clause, branches=tuple(branches))
        names = names_in((clause,))
        branches = (replace(each, clauses=self.scope(each.clauses, names.keys())) for each in clause.branches)
        variables = tuple(ast.Var(name, position=position) for name, position in names.items())
        return ast.OrJoin((), variables, tuple(branches), position=clause.position)

    def clauses(self, clauses: Sequence[ast.Clause]) -> tuple[ast.Clause, ...]:
        return tuple(self.clause(each) for each in clauses)

    def scope(self, clauses: Sequence[ast.Clause], listed: Set[str]) -> tuple[ast.Clause, ...]:
        return _Scope.of(clauses, self.attributes & listed, self.relations, self.is_ref)

    def pattern(self, clause: ast.Pattern) -> ast.Pattern:
        name = clause.source.name
        if name in self.relations:
            return clause
        terms = list(clause.terms)
        for place in _entity_places(self.is_ref, clause):
            terms[place] = self.entity(terms[place], name)
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


def _attributes(clauses: Sequence[ast.Clause], relations: Set[str], is_ref: IsRef) -> set[str]:
    """The variables of a scope that stand for attributes in it."""
    found, items = set[str](), tuple(_conjuncts(clauses))
    for item in items:
        if not isinstance(item, ast.Or | ast.OrJoin):
            found.update(_standing((item,), relations, _attribute_places))
    for item in items:
        if isinstance(item, ast.Or | ast.OrJoin):
            within = set(_standing((item,), relations, _attribute_places)) - found
            others = tuple(each for each in items if each is not item) if within else ()
            found.update(within.intersection(_standing(others, relations, partial(_entity_places, is_ref))))
    return found


def _conjuncts(clauses: Sequence[ast.Clause]) -> Iterator[ast.Clause]:
    for clause in clauses:
        if isinstance(clause, ast.And):
            yield from _conjuncts(clause.clauses)
        else:
            yield clause


def _attribute_places(clause: ast.Pattern) -> Sequence[int]:
    return (1,) if len(clause.terms) > 1 else ()


def _entity_places(is_ref: IsRef, clause: ast.Pattern) -> Sequence[int]:
    match clause.terms:
        case (_, ast.Const(attribute), _, *_) if is_ref(clause.source.name, attribute):
            return 0, 2
        case _:
            return (0,)


def _standing(
    clauses: Sequence[ast.Clause], relations: Set[str], places: Callable[[ast.Pattern], Sequence[int]]
) -> Iterator[str]:
    """The variables of a scope in some places of patterns, anywhere in it."""
    for clause in clauses:
        match clause:
            case ast.Pattern() if clause.source.name not in relations:
                terms = (clause.terms[place] for place in places(clause))
                yield from (term.name for term in terms if isinstance(term, ast.Var))
            case ast.And() | ast.Not():
                yield from _standing(clause.clauses, relations, places)
            case ast.Or():
                yield from _standing(clause.branches, relations, places)
            case ast.OrJoin():
                listed = _names((*clause.required, *clause.variables))
                yield from listed.intersection(_standing(clause.branches, relations, places))
            case ast.NotJoin():
                yield from _names(clause.variables).intersection(_standing(clause.clauses, relations, places))
            case _:
                pass
