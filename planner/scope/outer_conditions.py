"""Conditions on what a query within a query finds, repeated within it: of `[(q [:find ?k (sum ?v) …]) [[?k ?s]]]`
beside `[(= ?k 5)]` one group is computed. The condition outside stays.

Only what refuses no arguments is repeated, since within it meets rows that the outside never sees, and only where
all rows are shown: the first ten rows that fit are not those of the first ten that fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.names import bound_by, names_in, targets
from adalog.datalog.values import Keyword


class Surroundings(NamedTuple):
    """Clauses that hold wherever a query within is called, and the unique names of their variables."""

    clauses: tuple[ast.Clause, ...]
    scope: Mapping[str, str]


def narrowed(
    query: ast.Query,
    binding: ast.Binding,
    scope: Mapping[str, str],
    around: Iterable[Surroundings],
    given: frozenset[str],
    constants: Mapping[str, ast.Const | ast.LookupRef],
) -> tuple[ast.Query, tuple[str, ...]]:
    """The query with the conditions on what `binding` takes from it, and the variables around that its new inputs
    are. `given`: those that have one value; `constants`: those that are a constant.

    It gets arguments only if they leave one group: of many rows a relation is cheaper than the value of a call.
    """
    columns = _columns(query, binding, scope)
    if not columns:
        return query, ()
    conditions = _Conditions(columns, given, constants, frozenset[str]().union(*map(bound_by, query.where)))
    found = {each: names_in((each,), inside_not=True).keys() for each in conditions.around(around)}
    outside = {
        name: conditions.outside[name] for names in found.values() for name in names & conditions.outside.keys()
    }
    keys = {each.var.name for each in query.find.columns if not isinstance(each, ast.FindAggregate)}
    equated = {name for each in found for name in conditions.equated(each)}
    if not query.find.has_aggregates or not keys <= equated:
        found = {each: names for each, names in found.items() if outside.keys().isdisjoint(names)}
        outside = {}
    inputs = (ast.BindingInput(ast.ScalarBinding(ast.Var(name))) for name in outside)
    narrow = replace(query, inputs=(*query.inputs, *inputs), where=(*query.where, *found))
    return narrow, tuple(outside.values())


def _columns(query: ast.Query, binding: ast.Binding, scope: Mapping[str, str]) -> dict[str, ast.Var]:
    """The variable within of each variable outside that has its values; none where the query shows only some of its
    rows, or not as rows."""
    find = query.find
    shape = {ast.RelationBinding: "relation", ast.CollectionBinding: "collection"}.get(type(binding))
    if query.is_limited or find.keys is not None or find.shape != shape:
        return {}
    columns: dict[str, ast.Var] = {}
    for element, target in zip(find.elements, targets(binding), strict=False):
        if isinstance(element, ast.FindVar) and isinstance(target, ast.Var):
            columns.setdefault(scope[target.name], element.var)
    return columns


@dataclass
class _Conditions:
    """Clauses around a query as clauses within it. `columns`: the variables within, by those outside. `bound`:
    those that clauses within bind. `outside`: given variables by their names within, as far as they are needed."""

    columns: Mapping[str, ast.Var]
    given: frozenset[str]
    constants: Mapping[str, ast.Const | ast.LookupRef]
    bound: frozenset[str]
    outside: dict[str, str] = field(default_factory=dict)

    def around(self, around: Iterable[Surroundings]) -> Iterator[ast.Clause]:
        """What the query's surroundings say of its columns."""
        for name, variable in self.columns.items():
            value = self.value(name)
            if value is not None:
                yield ast.Predicate("=", (variable, value), position=variable.position)
        for each in around:
            for clause in each.clauses:
                condition = self.clause(clause, each.scope)
                if (
                    condition is not None
                    and not names_in((condition,), inside_not=True).keys() <= self.outside.keys()
                ):
                    yield condition

    def equated(self, condition: ast.Clause) -> Iterator[str]:
        """The variable within to which a condition leaves one value."""
        if not isinstance(condition, ast.Predicate) or condition.name != "=" or len(condition.args) != 2:
            return
        for one, other in (condition.args, condition.args[::-1]):
            if isinstance(one, ast.Var) and (isinstance(other, ast.Const) or _name(other) in self.outside):
                yield one.name

    def clause(self, clause: ast.Clause, scope: Mapping[str, str]) -> ast.Clause | None:
        """The clause within; None if it may refuse something, or says something of other variables."""
        match clause:
            case ast.Predicate() if _is_total(clause.name):
                args = self.arguments(clause.args, scope)
                return None if args is None else replace(clause, args=args)
            case ast.Function(binding=ast.ScalarBinding(ast.Var() as out)) if clause.name in ("ground", "identity"):
                args = self.arguments((out, *clause.args), scope)
                return None if args is None else ast.Predicate("=", args, position=clause.position)
            case ast.Function(args=(ast.Const(),), binding=ast.CollectionBinding(ast.Var() as out)):
                variable = self.columns.get(scope[out.name])
                # Where nothing else binds the variable, the list would.
                if clause.name != "ground" or variable is None or variable.name not in self.bound:
                    return None
                return replace(clause, binding=ast.CollectionBinding(variable))
            case ast.And() | ast.Not():
                clauses = self.clauses(clause.clauses, scope)
                return None if clauses is None else replace(clause, clauses=clauses)
            case ast.Or():
                branches = [self.clauses(each.clauses, scope) for each in clause.branches]
                whole = tuple(ast.And(each) for each in branches if each is not None)
                return replace(clause, branches=whole) if len(whole) == len(branches) else None
            case _:
                return None

    def clauses(self, clauses: Iterable[ast.Clause], scope: Mapping[str, str]) -> tuple[ast.Clause, ...] | None:
        inside = [self.clause(each, scope) for each in clauses]
        whole = tuple(each for each in inside if each is not None)
        return whole if len(whole) == len(inside) else None

    def arguments(
        self, arguments: Iterable[ast.Argument], scope: Mapping[str, str]
    ) -> tuple[ast.Argument, ...] | None:
        """The arguments within, if they are columns and values."""
        inside = [self.argument(each, scope) for each in arguments]
        whole = tuple(each for each in inside if each is not None)
        return whole if len(whole) == len(inside) else None

    def argument(self, argument: ast.Argument, scope: Mapping[str, str]) -> ast.Argument | None:
        match argument:
            case ast.Const():
                return argument
            case ast.Var():
                name = scope[argument.name]
                return self.columns.get(name) or self.value(name)
            case ast.Expression() if _is_total(argument.name):
                args = self.arguments(argument.args, scope)
                return None if args is None else replace(argument, args=args)
            case _:
                return None

    def value(self, name: str) -> ast.Const | ast.Var | None:
        """A variable outside as the value that it has, if it has one."""
        constant = self.constants.get(name)
        # A keyword or a lookup ref may name an entity there.
        if isinstance(constant, ast.Const) and not isinstance(constant.value, Keyword | tuple):
            return constant
        if constant is None and name not in self.given:
            return None
        # No symbol has a space in it, so that no variable of the query is meant.
        inside = f"{name} outside"
        self.outside[inside] = name
        return ast.Var(inside)


def _name(argument: ast.Argument) -> str | None:
    return argument.name if isinstance(argument, ast.Var) else None


def _is_total(name: str) -> bool:
    if name in CONDITIONALS:
        return True
    return name in BUILTINS and BUILTINS[name].is_total and not BUILTINS[name].needs_database
