"""What a query is between two passes of the planner: a type for each stage, so that none is left out or early.

`ast.Query` → ScopedQuery → CheckedQuery → StratifiedQuery → SimplifiedQuery → Plan. mypy refuses passes in any
other order.
"""

from __future__ import annotations

from dataclasses import dataclass

from adalog.datalog import ast
from adalog.planner.model.logical import AndNode
from adalog.planner.model.nested import PlanInner
from adalog.planner.model.places import VariablePlaces
from adalog.planner.model.plan import Options
from adalog.planner.model.program import Program, ShareVariable
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.tree import Tree


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """What a query is planned for: databases and relations of known size. `relations`: the sources that are lists
    of tuples. `share`: tasks each answer for a share of one variable's values, where rules allow it."""

    statistics: Statistics
    relations: frozenset[str]
    options: Options
    plan_inner: PlanInner
    share: bool = False


@dataclass(frozen=True, slots=True)
class ScopedQuery:
    """Variables have unique names, bindings are taken apart, simple rules stand in the place of their call."""

    query: ast.Query
    tree: Tree


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """Some order binds every variable, and every rule call knows which places it needs bound. `answer`: the
    variables of find and with. `sharing`: whose values the tree answers for a share of, if it does."""

    query: ast.Query
    tree: Tree
    answer: tuple[str, ...]
    places: VariablePlaces
    sharing: ShareVariable | None = None


@dataclass(frozen=True, slots=True)
class StratifiedQuery:
    """The rules are a program of planned strata, whose relations the body reads. `statistics`: with their sizes."""

    checked: CheckedQuery
    body: AndNode
    program: Program
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class SimplifiedQuery:
    """What occurs once is a blank. `counted`: the variables that the answer only counts, if its rows can have
    weights. `distinct`: rows may repeat."""

    checked: CheckedQuery
    body: AndNode
    program: Program
    statistics: Statistics
    counted: frozenset[str]
    distinct: bool
