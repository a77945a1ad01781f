"""From the parsed query to the logical tree: scopes resolved, bindings taken apart, variables renamed apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from datalog import ast
from datalog.errors import AdalogError, Code, Position
from planner.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    Node,
    NotNode,
    OrNode,
    PredicateAtom,
    RelationAtom,
    Term,
    UnnestAtom,
)

Scope = dict[str, str]
"""The unique name of each variable that is visible by its written name."""


def names_in(clauses: Iterable[ast.Clause], *, inside_not: bool = False) -> dict[str, Position | None]:
    """The variables that clauses mention, in order, each with its first place; those of a `not` only on request."""
    found: dict[str, Position | None] = {}

    def add(term: object) -> None:
        if isinstance(term, ast.Var):
            found.setdefault(term.name, term.position)
        elif isinstance(term, ast.LookupRef):
            add(term.value)

    for clause in clauses:
        match clause:
            case ast.Pattern():
                for term in clause.terms:
                    add(term)
            case ast.Predicate() | ast.RuleCall():
                for argument in clause.args:
                    add(argument)
            case ast.Function():
                for argument in clause.args:
                    add(argument)
                for target in targets(clause.binding):
                    add(target)
            case ast.And():
                found = names_in(clause.clauses, inside_not=inside_not) | found
            case ast.Or():
                for branch in clause.branches:
                    found = names_in(branch.clauses, inside_not=inside_not) | found
            case ast.OrJoin():
                for variable in (*clause.required, *clause.variables):
                    add(variable)
            case ast.Not() if inside_not:
                found = names_in(clause.clauses, inside_not=True) | found
            case ast.NotJoin() if inside_not:
                for variable in clause.variables:
                    add(variable)
            case _:
                pass
    return found


def targets(binding: ast.Binding) -> tuple[ast.Var | ast.Blank, ...]:
    """What a binding binds, blanks included."""
    match binding:
        case ast.ScalarBinding() | ast.CollectionBinding():
            return (binding.target,)
        case _:
            return binding.targets


@dataclass
class Scoping:
    """Builds the tree. `relations` are the sources given as lists of tuples; every other source is a database."""

    relations: frozenset[str] = frozenset()
    places: dict[str, Position | None] = field(default_factory=dict, init=False)
    _fresh: int = field(default=0, init=False)
    _ors: int = field(default=0, init=False)

    def fresh(self, name: str) -> str:
        """A unique variable, named after what it stands for."""
        self._fresh += 1
        return f"{name}·{self._fresh}"

    def rename(self, clauses: Iterable[ast.Clause], scope: Scope) -> None:
        """Gives the variables of a local scope that are not in it yet names of their own."""
        for name, position in names_in(clauses, inside_not=True).items():
            if name not in scope:
                scope[name] = self.fresh(name)
                self.places[scope[name]] = position

    def conjunction(
        self, clauses: Iterable[ast.Clause], scope: Mapping[str, str], outside: frozenset[str], source: str = "$"
    ) -> AndNode:
        """`outside`: the written names that clauses around this conjunction mention."""
        clauses = tuple(clauses)
        visible = outside | frozenset(names_in(clauses))
        items: list[Node] = []
        for clause in clauses:
            items.extend(self.clause(clause, scope, visible, source))
        return AndNode(tuple(items))

    def clause(
        self, clause: ast.Clause, scope: Mapping[str, str], visible: frozenset[str], source: str
    ) -> Iterable[Node]:
        match clause:
            case ast.Pattern():
                return self.pattern(clause, scope, source)
            case ast.Predicate():
                extra: list[Node] = []
                args = tuple(self.argument(a, scope, source, extra) for a in clause.args)
                return [*extra, PredicateAtom(clause.name, args, clause.position)]
            case ast.Function():
                return self.function(clause, scope, source)
            case ast.And():
                return self.conjunction(clause.clauses, scope, visible, source).items
            case ast.Or():
                inner = clause.source.name if clause.source else source
                branches = tuple(self.conjunction(b.clauses, scope, visible, inner) for b in clause.branches)
                return [self.disjunction(branches, frozenset(), scope, clause.position)]
            case ast.OrJoin():
                return [self.or_join(clause, scope, source)]
            case ast.Not():
                inner = clause.source.name if clause.source else source
                mentioned = names_in(clause.clauses, inside_not=True)
                shared = {name for name in mentioned if name in visible}
                if mentioned and not shared:
                    name, position = next(iter(mentioned.items()))
                    raise AdalogError(
                        Code.UNBOUND_VARIABLE,
                        f"this not shares no variable with the clauses around it, so it says nothing about them: "
                        f"bind {name} (or another of its variables) outside the not",
                        clause.position or position,
                    )
                return [self.negation(clause.clauses, scope, shared, inner, clause.position)]
            case ast.NotJoin():
                inner = clause.source.name if clause.source else source
                for variable in clause.variables:
                    if variable.name not in visible:
                        raise AdalogError(
                            Code.UNBOUND_VARIABLE,
                            f"not-join joins on {variable.name}, which no clause around it binds",
                            variable.position or clause.position,
                        )
                shared = {variable.name for variable in clause.variables}
                return [self.negation(clause.clauses, scope, shared, inner, clause.position)]
            case ast.RuleCall():
                raise AdalogError(
                    Code.QUERY_INVALID, f"rules are not supported yet: ({clause.name} …)", clause.position
                )

    def term(self, term: ast.Term, scope: Mapping[str, str], source: str, extra: list[Node]) -> Term:
        match term:
            case ast.Var():
                return scope[term.name]
            case ast.Blank():
                return None
            case ast.LookupRef(value=ast.Var() as variable):
                entity = self.fresh("entity")
                extra.append(
                    DatomAtom(source, entity, term.attribute, scope[variable.name], position=term.position)
                )
                return entity
            case _:
                return term

    def argument(
        self, argument: ast.Term | ast.Source, scope: Mapping[str, str], source: str, extra: list[Node]
    ) -> Term | ast.Source:
        if isinstance(argument, ast.Source):
            return argument if argument.name != "$" else ast.Source(source, position=argument.position)
        if isinstance(argument, ast.Blank):
            raise AdalogError(Code.QUERY_INVALID, "an argument cannot be _: name a variable", argument.position)
        return self.term(argument, scope, source, extra)

    def pattern(self, clause: ast.Pattern, scope: Mapping[str, str], source: str) -> list[Node]:
        name = source if clause.source.name == "$" else clause.source.name
        extra: list[Node] = []
        terms = [self.term(term, scope, name, extra) for term in clause.terms]
        if name in self.relations:
            return [RelationAtom(name, tuple(terms), clause.position)]
        entity, attribute, value, tx, added = terms + [None] * (5 - len(terms))
        return [*extra, DatomAtom(name, entity, attribute, value, tx, added, position=clause.position)]

    def function(self, clause: ast.Function, scope: Mapping[str, str], source: str) -> list[Node]:
        nodes: list[Node] = []
        args = tuple(self.argument(a, scope, source, nodes) for a in clause.args)
        binding = clause.binding
        if isinstance(binding, ast.ScalarBinding) and isinstance(binding.target, ast.Var):
            nodes.append(FunctionAtom(clause.name, args, scope[binding.target.name], clause.position))
            return nodes
        result = self.fresh(clause.name)
        nodes.append(FunctionAtom(clause.name, args, result, clause.position))
        match binding:
            case ast.CollectionBinding(target=ast.Var() as target):
                nodes.append(UnnestAtom(result, scope[target.name], clause.position))
            case ast.CollectionBinding():
                nodes.append(UnnestAtom(result, self.fresh("_"), clause.position))
            case ast.TupleBinding():
                nodes.extend(self.components(result, binding.targets, scope, clause.position))
            case ast.RelationBinding():
                row = self.fresh("row")
                nodes.append(UnnestAtom(result, row, clause.position))
                nodes.extend(self.components(row, binding.targets, scope, clause.position))
            case _:
                pass
        return nodes

    @staticmethod
    def components(
        row: str, parts: tuple[ast.Var | ast.Blank, ...], scope: Mapping[str, str], position: Position | None
    ) -> Iterable[Node]:
        for i, target in enumerate(parts):
            if isinstance(target, ast.Var):
                yield FunctionAtom("%nth", (row, ast.Const(i, ("long", i))), scope[target.name], position)

    def disjunction(
        self,
        branches: tuple[AndNode, ...],
        required: frozenset[str],
        scope: Mapping[str, str],
        position: Position | None,
    ) -> OrNode:
        """Finds out which variables only one branch knows: they are levels of that branch alone."""
        from planner.logical import variables

        known = frozenset(scope.values())
        local: dict[str, int] = {}
        for i, branch in enumerate(branches):
            for name in variables(branch):
                if name not in known:
                    local[name] = i
        self._ors += 1
        return OrNode(self._ors, branches, required, tuple(sorted(local.items())), position)

    def or_join(self, clause: ast.OrJoin, scope: Mapping[str, str], source: str) -> OrNode:
        inner = clause.source.name if clause.source else source
        listed = {v.name: scope[v.name] for v in (*clause.required, *clause.variables)}
        branches = []
        for branch in clause.branches:
            mine = dict(listed)
            self.rename(branch.clauses, mine)
            branches.append(self.conjunction(branch.clauses, mine, frozenset(listed), inner))
        required = frozenset(scope[v.name] for v in clause.required)
        return self.disjunction(tuple(branches), required, scope, clause.position)

    def negation(
        self,
        clauses: tuple[ast.Clause, ...],
        scope: Mapping[str, str],
        shared: set[str],
        source: str,
        position: Position | None,
    ) -> NotNode:
        mine = {name: scope[name] for name in shared}
        self.rename(clauses, mine)
        inner = self.conjunction(clauses, mine, frozenset(shared), source)
        return NotNode(inner.items, tuple(sorted(mine[name] for name in shared)), position=position)


Places = dict[str, Position | None]
"""Where each variable was first written."""


def tree_of(query: ast.Query, relations: frozenset[str]) -> tuple[AndNode, Places, tuple[str, ...]]:
    """(the body with its relation inputs, where each variable was written, those bound by scalar inputs)."""
    scoping = Scoping(relations)
    given: list[str] = []
    atoms: list[Node] = []
    input_names: set[str] = set()
    for place, each in enumerate(query.inputs):
        if not isinstance(each, ast.BindingInput):
            continue
        parts = targets(each.binding)
        input_names.update(p.name for p in parts if isinstance(p, ast.Var))
        if isinstance(each.binding, ast.ScalarBinding | ast.TupleBinding):
            given.extend(p.name for p in parts if isinstance(p, ast.Var))
        else:
            terms = tuple(p.name if isinstance(p, ast.Var) else None for p in parts)
            atoms.append(RelationAtom(f"in {place}", terms, each.position))
    visible = names_in(query.where)
    asked = {element.var.name: element.var.position for element in query.find.elements}
    scope = {name: name for name in (*input_names, *names_in(query.where, inside_not=True))}
    body = scoping.conjunction(query.where, scope, frozenset(input_names))
    places = scoping.places | names_in(query.where, inside_not=True) | asked | visible
    return AndNode((*atoms, *body.items)), places, tuple(dict.fromkeys(given))
