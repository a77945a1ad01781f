"""Finds the places in which the variables of a tree stand, by way of rule calls and queries within queries too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from adalog.datalog import ast
from adalog.datalog.names import targets
from adalog.datalog.values import Keyword
from adalog.datalog.watched import look
from adalog.planner.model import logical
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.logical import COMPARISONS, MEMBERSHIPS, Leaf, everything
from adalog.planner.model.lookups import LOOKUPS, Call, source_of, values_of
from adalog.planner.model.places import AttributeVariable, PlaceKind, VariablePlace, VariablePlaces
from adalog.planner.scope.tree import Tree


def places_of(query: ast.Query, tree: Tree) -> VariablePlaces:
    """The places of the variables of a query's tree, those that rule calls and queries within lead to included."""
    found = _Finder()
    for predicate in tree.predicates:
        found.heads[predicate.name] = [branch.head for branch in predicate.branches]
    for element in query.find.elements:
        if isinstance(element, ast.FindPull):
            found.stands(element.var.name, VariablePlace(PlaceKind.ENTITY, element.source.name))
    for pulled in tree.pulled:
        taken = sorted(pulled.taken)
        found.within(pulled.subquery, taken, taken)
    for place, each in enumerate(query.inputs):
        # One that only queries in pull patterns take is no clause.
        binding = each.binding if isinstance(each, ast.BindingInput) else None
        if isinstance(binding, ast.CollectionBinding | ast.RelationBinding):
            found.relation(f"in {place}", (t.name if isinstance(t, ast.Var) else None for t in targets(binding)))
    for body in (tree.body, *(branch.body for each in tree.predicates for branch in each.branches)):
        for leaf in everything(body):
            found.leaf(leaf)
    return found.places()


@dataclass
class _Finder:
    """`direct`: the places that clauses put a variable in. `same`: the variables that its value is passed to.
    `compared`: those it is compared with. `members`: those that members of its list are compared with. `heads`: of
    each rule that is a relation."""

    heads: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    direct: dict[str, dict[VariablePlace, None]] = field(default_factory=dict)
    same: dict[str, dict[str, None]] = field(default_factory=dict)
    compared: dict[str, dict[str, None]] = field(default_factory=dict)
    members: dict[str, dict[str, None]] = field(default_factory=dict)
    columns: dict[tuple[str, int], dict[str, None]] = field(default_factory=dict)

    def stands(self, term: object, place: VariablePlace) -> None:
        if isinstance(term, str):
            self.direct.setdefault(term, {})[place] = None

    def passed(self, term: object, to: object) -> None:
        if isinstance(term, str) and isinstance(to, str):
            self.same.setdefault(term, {})[to] = None

    def leaf(self, leaf: Leaf) -> None:
        look()
        match leaf:
            case logical.DatomAtom():
                self.stands(leaf.entity, VariablePlace(PlaceKind.ENTITY, leaf.source))
                self.stands(leaf.attribute, VariablePlace(PlaceKind.ATTRIBUTE, leaf.source))
                self.stands(leaf.tx, VariablePlace(PlaceKind.TRANSACTION, leaf.source))
                if isinstance(leaf.attribute, ast.Const):
                    self.value_of(leaf.value, leaf.source, leaf.attribute.value)
                elif isinstance(leaf.attribute, str):
                    named = AttributeVariable(leaf.attribute)
                    self.stands(leaf.value, VariablePlace(PlaceKind.VALUE, leaf.source, named))
            case logical.RuleAtom():
                for head in self.heads.get(leaf.rule, ()):
                    for term, place in zip(leaf.terms, head, strict=True):
                        self.passed(term, place)
            case logical.RelationAtom():
                if not leaf.derived:
                    self.relation(leaf.relation, leaf.terms)
                if leaf.subquery is not None:
                    self.within(leaf.subquery, leaf.subquery.inputs, leaf.subquery.given)
            case logical.FunctionAtom():
                self.function(leaf)
            case logical.PredicateAtom():
                self.looked_up(leaf)
                self.comparisons(leaf)
            case _:
                pass

    def comparisons(self, leaf: Call) -> None:
        """What a call compares, by itself or within it."""
        trees = [leaf.tree or CallTree(leaf.name, tuple(range(len(leaf.args))))]
        for tree in trees:
            trees += (each for each in tree.args if isinstance(each, CallTree))
            args = (leaf.args[each] for each in tree.args if isinstance(each, int))
            names = [each for each in args if isinstance(each, str)]
            if tree.name in MEMBERSHIPS and len(names) == len(tree.args):
                member, among = names
                self.members.setdefault(among, {})[member] = None
            if tree.name not in COMPARISONS:
                continue
            for name in names:
                others = {other: None for other in names if other != name}
                self.compared.setdefault(name, {}).update(others)

    def value_of(self, term: object, source: str, attribute: object) -> None:
        if isinstance(attribute, Keyword) or type(attribute) is int:
            self.stands(term, VariablePlace(PlaceKind.VALUE, source, attribute))

    def function(self, leaf: logical.FunctionAtom) -> None:
        if leaf.subquery is not None:
            self.within(leaf.subquery, leaf.subquery.inputs, leaf.args)
            return
        if leaf.name == "identity":
            self.passed(leaf.args[0], leaf.out)
            self.passed(leaf.out, leaf.args[0])
        self.looked_up(leaf)
        self.comparisons(leaf)
        source, values = source_of(leaf), values_of(leaf)
        if leaf.name == "get-else" and len(values) == 3 and isinstance(values[1], ast.Const):
            self.value_of(values[2], source, values[1].value)
            self.value_of(leaf.out, source, values[1].value)

    def looked_up(self, call: Call) -> None:
        values = values_of(call)
        if call.name in LOOKUPS and values:
            self.stands(values[0], VariablePlace(PlaceKind.ENTITY, source_of(call)))

    def relation(self, name: str, terms: Iterable[object]) -> None:
        for number, term in enumerate(terms):
            if isinstance(term, str):
                self.columns.setdefault((name, number), {})[term] = None

    def within(self, inner: logical.Subquery, names: Iterable[str], args: Iterable[object]) -> None:
        """`names`: the variables within that arguments are given to."""
        outside = dict(inner.sources)
        for name, arg in zip(names, args, strict=True):
            for place in inner.plan.places.variables.get(name, ()):
                self.stands(arg, replace(place, source=outside.get(place.source, place.source)))

    def places(self) -> VariablePlaces:
        ways = (self.direct.keys(), self.same, self.compared, self.members, *self.columns.values())
        reached = {name: self._reached(name) for way in ways for name in way}
        variables = {name: places or self._compared(name, reached) for name, places in reached.items()}
        columns = {
            column: tuple(dict.fromkeys(place for term in terms for place in variables[term]))
            for column, terms in self.columns.items()
        }
        return VariablePlaces({name: places for name, places in variables.items() if places}, columns)

    def _reached(self, name: str) -> tuple[VariablePlace, ...]:
        order = [name]
        known = {name}
        for each in order:
            more = [other for other in self.same.get(each, ()) if other not in known]
            known.update(more)
            order.extend(more)
        return tuple(dict.fromkeys(place for each in order for place in self.direct.get(each, ())))

    def _compared(self, name: str, reached: Mapping[str, tuple[VariablePlace, ...]]) -> tuple[VariablePlace, ...]:
        lists = ((self.compared, False), (self.members, True))
        return tuple(
            dict.fromkeys(
                replace(place, compared=True, listed=listed)
                for others, listed in lists
                for other in others.get(name, ())
                for place in reached.get(other, ())
                if not place.compared
            )
        )
