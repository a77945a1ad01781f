"""Rules as a program over relations: before magic sets (predicates and their branches) and after (strata of plans).

Plain frozen data, like a plan: it can be kept, shown by explain and sent to workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adalog.datalog.aggregates import IDEMPOTENT
from adalog.planner.model.logical import AndNode, DatomAtom, LevelPlan, RelationAtom
from adalog.planner.model.multiplicity import Multiplicity


@dataclass(frozen=True, slots=True)
class Branch:
    """One rule: what its head shows of its body's rows. `given`: variables with one value, of the first batch."""

    head: tuple[str, ...]
    body: AndNode
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RulePredicate:
    """All the rules of one name over one default source.

    `aggregates`: of each place, or None. `required`: places that the caller must bind.
    """

    name: str
    arity: int
    aggregates: tuple[str | None, ...]
    branches: tuple[Branch, ...]
    required: frozenset[int] = frozenset()

    @property
    def barrier(self) -> str:
        """The first aggregate that must see all tuples; empty where there is none."""
        return next((f"({name} …)" for name in self.aggregates if name and name not in IDEMPOTENT), "")

    @property
    def aggregated(self) -> bool:
        return any(self.aggregates)


# After magic sets


@dataclass(frozen=True, slots=True)
class RuleRelation:
    """A relation that rules derive. `bound`: the places that its magic set restricts; `magic`: it is such a set."""

    name: str
    rule: str
    arity: int
    aggregates: tuple[str | None, ...] = ()
    bound: frozenset[int] = frozenset()
    magic: bool = False

    @property
    def adornment(self) -> str:
        """`bf`: the first place bound, the second free."""
        return "".join("b" if self.magic or i in self.bound else "f" for i in range(self.arity))


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How to derive rows of `target`: a join, and which of its variables make the head.

    `delta`: the relation whose recent rows it starts from; None where it reads everything. `multiplicity`: as a
    plan's.
    """

    target: str
    head: tuple[str, ...]
    body: AndNode
    given: tuple[str, ...]
    levels: tuple[LevelPlan, ...]
    delta: str | None = None
    multiplicity: Multiplicity | None = None

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(level.variable for level in self.levels)


@dataclass(frozen=True, slots=True)
class ShareVariable:
    """`domain`: joins that together give every value which the variable can have (and maybe more)."""

    variable: str
    domain: tuple[RulePlan, ...]


@dataclass(frozen=True, slots=True)
class Closure:
    """A linear recursion over one step: `relation` keeps the place `fixed` and moves the other along `step`.

    The variable `start` of `step` is the moving place before it, `end` after.
    """

    relation: str
    fixed: int
    step: DatomAtom | RelationAtom
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations that depend on each other. `once` are the rules that read none of them, `rounds` those that do.

    `rules`: what these were planned from, by the relation that they derive.
    """

    relations: tuple[RuleRelation, ...]
    once: tuple[RulePlan, ...]
    rounds: tuple[RulePlan, ...]
    closure: Closure | None = None
    rules: tuple[tuple[str, Branch], ...] = field(default=(), repr=False)

    @property
    def recursive(self) -> bool:
        return bool(self.rounds)


@dataclass(frozen=True, slots=True)
class Program:
    """What is evaluated before a query's own join, in order. `semi_naive`: rounds read only what is new. `cost`: an
    estimate in a plan's unit."""

    strata: tuple[Stratum, ...] = ()
    semi_naive: bool = True
    cost: float = 0.0

    @property
    def relations(self) -> tuple[RuleRelation, ...]:
        return tuple(each for stratum in self.strata for each in stratum.relations)
