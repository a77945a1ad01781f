"""A query as one tree of atoms over unique variables, its rules beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adalog.datalog import ast
from adalog.datalog.errors import Position
from adalog.datalog.names import names_in, targets
from adalog.planner.model.logical import AndNode, Node, PulledQuery, RelationAtom
from adalog.planner.model.nested import PlanInner, pulled_queries
from adalog.planner.model.program import RulePredicate
from adalog.planner.scope.attribute_entities import IsRef, with_attribute_entities
from adalog.planner.scope.closures import PathOf, with_closures
from adalog.planner.scope.memberships import with_proposed_members
from adalog.planner.scope.rulebook import RuleBook
from adalog.planner.scope.scoping import Scope, Scoping

Places = dict[str, Position | None]
"""Where each variable was first written."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A query without scopes.

    `given`: the variables that have one value, scalar inputs and the `constants` of rule calls. `predicates`: the
    rules that are relations. `places`: where each variable was written; `names`: how, of those that were given
    names of their own. `callers`: the rule call that a variable is first passed to. `pulled`: the queries in pull
    patterns. `inputs`: the variables of `:in`.
    """

    body: AndNode
    given: tuple[str, ...]
    constants: Mapping[str, ast.Const | ast.LookupRef]
    predicates: tuple[RulePredicate, ...]
    places: Places
    names: Mapping[str, str]
    callers: Mapping[str, tuple[str, Position | None]]
    pulled: tuple[PulledQuery, ...] = ()
    inputs: frozenset[str] = frozenset()

    def written(self, variable: str) -> str:
        return self.names.get(variable, variable)


def tree_of(
    query: ast.Query,
    relations: frozenset[str],
    plan_inner: PlanInner,
    is_ref: IsRef = lambda source, attribute: False,
    path_of: PathOf = lambda source, attribute: None,
    *,
    linear: bool = True,
    narrow: bool = False,
) -> Tree:
    """Resolves the scopes of a query and of the rules it reaches. `is_ref`, `path_of`: as far as the schemas are
    known. `narrow`: queries within have the conditions on what they find, too."""
    query = with_proposed_members(with_closures(query, relations, path_of))
    query = with_attribute_entities(query, relations, is_ref)
    pulled = tuple(pulled_queries(query, plan_inner))
    only_pulled = (
        frozenset()
        .union(*(each.taken for each in pulled))
        .difference(
            names_in(query.where, inside_not=True),
            (each.name for each in query.with_),
            (each.var.name for each in (*query.find.columns, *query.order_elements)),
        )
    )
    given: list[str] = []
    atoms: list[Node] = []
    input_names: set[str] = set()
    for place, each in enumerate(query.inputs):
        if not isinstance(each, ast.BindingInput):
            continue
        terms = tuple(part.name if isinstance(part, ast.Var) else None for part in targets(each.binding))
        input_names.update(filter(None, terms))
        if isinstance(each.binding, ast.ScalarBinding | ast.TupleBinding):
            given.extend(filter(None, terms))
        elif only_pulled.isdisjoint(names := set(filter(None, terms))) or not only_pulled.issuperset(names):
            atoms.append(RelationAtom(f"in {place}", terms, each.position, given=True))
    visible = names_in(query.where)
    asked = {element.var.name: element.var.position for element in query.find.columns}
    scoping = Scoping(RuleBook.of(query), plan_inner, relations, linear, frozenset(given) if narrow else None)
    scope: Scope = {name: name for name in (*input_names, *names_in(query.where, inside_not=True))}
    body = scoping.conjunction(query.where, scope, frozenset(input_names))
    predicates = scoping.predicates()
    places = scoping.places | names_in(query.where, inside_not=True) | asked | visible
    whole = AndNode((*atoms, *body.items))
    unique = tuple(dict.fromkeys((*given, *sorted(scoping.constants_in(whole)))))
    written, callers = scoping.written, scoping.callers
    return Tree(
        whole, unique, scoping.constants, predicates, places, written, callers, pulled, frozenset(input_names)
    )
