"""A planned query: plain data that says how to run it, on this machine or another.

The last of the stages that `planner.stages` has types for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from adalog.datalog.ast import Const, LookupRef, Query
from adalog.planner.model.logical import AndNode, LevelPlan, PulledQuery, Subquery
from adalog.planner.model.multiplicity import Multiplicity
from adalog.planner.model.places import VariablePlaces
from adalog.planner.model.program import Program, ShareVariable


class Engine(StrEnum):
    """Where a query runs."""

    LOCAL = "LOCAL"
    SPARK = "SPARK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Switches that change how a query is evaluated, never what it answers: the tests compare them. `turn`: rules
    may be turned around (`planner.rules.closure`), so that facts follow from others than the text says. `cautious`:
    calls that may refuse their arguments come last (`planner.order.caution`). `look_up`: what the keys of groups
    determine may be looked up after grouping (`planner.group_lookups`)."""

    reorder: bool = True
    project: bool = True
    magic: bool = True
    turn: bool = True
    semi_naive: bool = True
    budget: int = 1 << 19
    cautious: bool = False
    look_up: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """`given`: the variables of the first batch, from scalar inputs and, with their `constants`, from rule calls.

    `answer`: the variables of find and with. `weighted`: rows carry weights. `distinct`: rows may repeat, across
    chunks. `cost`: estimated candidates plus prefixes, the unit in which the engine is chosen. `places`: where the
    values of variables stand; `entities`: those that are entities, so that an ident or a lookup ref will do.
    `sharing`: set where the plan answers only for a share of one variable's values. `program` derives the relations
    of rules that `body` reads. `multiplicity`: how to count the values that fall together before they are summed.
    `pulled`: the queries in pull patterns.
    """

    query: Query
    body: AndNode
    given: tuple[str, ...]
    levels: tuple[LevelPlan, ...]
    answer: tuple[str, ...]
    weighted: bool
    distinct: bool
    cost: float
    rows: float
    options: Options
    constants: tuple[tuple[str, Const | LookupRef], ...] = ()
    places: VariablePlaces = field(default_factory=VariablePlaces)
    entities: frozenset[str] = frozenset()
    sharing: ShareVariable | None = None
    program: Program = field(default_factory=Program)
    multiplicity: Multiplicity | None = None
    pulled: tuple[PulledQuery, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(level.variable for level in self.levels)


def inner_plan(subquery: Subquery) -> Plan:
    """The plan of a query within a query, which the tree around it knows as little of as it can."""
    assert isinstance(subquery.plan, Plan)
    return subquery.plan
