"""What to join for each rule of a program whose relations are kept from one moment to the next.

A rule has a body for each atom that reads what can change: it begins with the rows that came or went there. What it
finds from rows that went (or, under a `not`, came) may hold no more, so it has a body that asks whether a row of
the head still holds; what it finds from rows that came does hold. `executor/follow/program.py` runs them.

Sources: Gupta, Mumick and Subrahmanian, "Maintaining views incrementally", 1993 (delete and rederive); Motik,
Nenov, Piro and Horrocks, "Incremental update of Datalog materialisation: the backward/forward algorithm", AAAI
2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from adalog.datalog.ast import Const, LookupRef
from adalog.planner.delta.bodies import before_change, delta_bodies, looks_elsewhere
from adalog.planner.delta.monotone import not_monotone
from adalog.planner.delta.versions import APPEARS, LATEST, VANISHES, Atom, Split, Splits, at_version, versioned
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Leaf, Node, Term, everything
from adalog.planner.model.plan import Options, Plan
from adalog.planner.model.program import Branch, Stratum
from adalog.planner.model.version import Version
from adalog.planner.order.joins import JoinPlan, plan_join
from adalog.planner.order.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Moving:
    """What can differ between two moments: some databases, some inputs, and what rules derive."""

    sources: frozenset[str]
    relations: frozenset[str]

    def moves(self, node: Node) -> bool:
        match node:
            case logical.DatomAtom():
                return node.source in self.sources
            case logical.RelationAtom():
                return node.relation in self.relations
            case _:
                return False


@dataclass(frozen=True, slots=True)
class BodyJoin:
    """A body to join from a first batch with a column for each variable of `given`; its rows show `head`.

    `constants`: those of `given` that have one value."""

    body: AndNode
    given: tuple[str, ...]
    head: tuple[str, ...]
    constants: tuple[str, ...] = ()

    def plan(self, statistics: Statistics, options: Options) -> JoinPlan:
        return plan_join(self.body, self.given, frozenset(self.head), statistics, options)


@dataclass(frozen=True, slots=True)
class DeltaJoin:
    """A body that begins with rows of one atom: those that came, or those that went. The atom is not part of it.

    `is_sure`: whether the head shows the row of the atom, so that the rule derives no head without that row."""

    atom: Atom
    came: bool
    joined: BodyJoin
    is_sure: bool


@dataclass(frozen=True, slots=True)
class RuleBodies:
    """One rule of a relation that is kept.

    `once`: what it derives where nothing of its own stratum is known; None where that is nothing. `leaving`,
    `entering`: from changes below its stratum, heads that may hold no more, and heads that hold now. `onward`: from
    rows of its own stratum, the heads that follow from them. `holds`: whether a head is derived from earlier facts
    of its stratum, `again`: from any. `constants`: the variables of its body that have one value.
    """

    target: str
    head: tuple[str, ...]
    constants: tuple[str, ...]
    once: BodyJoin | None
    leaving: tuple[DeltaJoin, ...]
    entering: tuple[DeltaJoin, ...]
    onward: tuple[DeltaJoin, ...]
    holds: BodyJoin
    again: BodyJoin


def refusal(plan: Plan, sources: frozenset[str]) -> str:
    """Why the relations of a plan's rules cannot be maintained while some databases move; empty where they can."""
    if plan.sharing is not None:
        return "the plan answers for a share of its answer"
    for stratum in plan.program.strata:
        for _, branch in stratum.rules:
            if looks_elsewhere(branch.body, sources):
                return "a rule looks into a database other than by a data pattern"
            if any(getattr(leaf, "subquery", None) is not None for leaf in everything(branch.body)):
                return "a rule asks a query of its own"
        is_lattice = stratum.recursive and any(each.aggregates for each in stratum.relations)
        if is_lattice and (why := not_monotone(stratum)):
            return why
    return ""


def bodies_of(stratum: Stratum, moving: Moving) -> tuple[RuleBodies, ...]:
    """The bodies of a stratum's rules. `moving`: what can differ below it; its own relations can as well."""
    own = frozenset(each.name for each in stratum.relations)
    aggregates = {each.name: each.aggregates for each in stratum.relations}
    return tuple(
        _Rule(name, branch, moving, own, aggregates[name] if stratum.recursive else ()).bodies()
        for name, branch in stratum.rules
    )


class _Rule:
    """One rule. `aggregates`: of its head's places, where it is part of a recursion."""

    def __init__(
        self, target: str, branch: Branch, below: Moving, own: frozenset[str], aggregates: tuple[str | None, ...]
    ) -> None:
        self.target = target
        self.head = branch.head
        self.constants = branch.given
        self.below = below
        self.own = Moving(frozenset(), own)
        self.aggregates = aggregates
        self.moving = Moving(below.sources, below.relations | own)
        self.body = named(branch.body, self.moving.moves)

    def bodies(self) -> RuleBodies:
        keys = tuple(name for i, name in enumerate(self.head) if not (self.aggregates and self.aggregates[i]))
        once = before_change(self.body, self.own.moves)
        return RuleBodies(
            self.target,
            self.head,
            self.constants,
            None if once is None else self._joined(at_version(once, self.moving.moves, Version.NEW), ()),
            self._deltas(self.below, VANISHES, APPEARS),
            self._deltas(self.below, APPEARS, VANISHES),
            self._deltas(self.own, APPEARS, VANISHES),
            self._joined(versioned(self.body, self._earlier), self.head),
            self._joined(at_version(self.body, self.moving.moves, Version.NEW), keys),
        )

    def _deltas(self, changing: Moving, split: Split, in_not: Split) -> tuple[DeltaJoin, ...]:
        """A join for each atom over what changes. What else moves is read as it is known by then."""

        def splits(of_changing: Split) -> Splits:
            return lambda leaf: of_changing if changing.moves(leaf) else LATEST if self.moving.moves(leaf) else None

        return tuple(
            DeltaJoin(
                each.atom,
                each.version is Version.CAME,
                self._joined(AndNode(each.rest), tuple(term for term in each.atom.terms if isinstance(term, str))),
                each.part is each.atom and not each.optional and self._shows(each.atom),
            )
            for each in delta_bodies(self.body, splits(split), splits(in_not))
        )

    def _shows(self, atom: Atom) -> bool:
        """Whether a head leaves nothing of an atom's row open."""
        terms = atom.terms[:3] if isinstance(atom, logical.DatomAtom) else atom.terms
        shown = {*self.head, *self.constants}
        return None not in terms and all(term in shown for term in atom.terms if isinstance(term, str))

    def _earlier(self, leaf: Leaf) -> Version | None:
        if self.own.moves(leaf):
            return Version.EARLIER
        return Version.NEW if self.moving.moves(leaf) else None

    def _joined(self, body: AndNode, given: tuple[str, ...]) -> BodyJoin:
        return BodyJoin(body, tuple(dict.fromkeys((*given, *self.constants))), self.head, self.constants)


# Atoms over kept relations


def named(body: AndNode, moves: Callable[[Node], bool]) -> AndNode:
    """The body with a variable of its own in every place of every relation that can change.

    Such rows are looked up whole, so a blank becomes a variable; a constant or a variable that stands there twice
    becomes one that is compared.
    """
    return _Names(moves).conjunction(body)[0]


@dataclass
class _Names:
    moves: Callable[[Node], bool]
    numbers: Iterator[int] = field(default_factory=count)

    def conjunction(self, body: AndNode) -> tuple[AndNode, tuple[str, ...]]:
        """(the changed conjunction, the variables that it has more)."""
        items: list[Node] = []
        made: list[str] = []
        for item in body.items:
            changed, names = self.node(item)
            items += changed
            made += names
        return AndNode(tuple(items)), tuple(made)

    def node(self, node: Node) -> tuple[list[Node], tuple[str, ...]]:
        match node:
            case logical.RelationAtom() if self.moves(node):
                return self.atom(node)
            case AndNode():
                body, made = self.conjunction(node)
                return [body], made
            case logical.OrNode():
                branches = [self.conjunction(branch) for branch in node.branches]
                local = tuple((name, i) for i, (_, names) in enumerate(branches) for name in names)
                bodies = tuple(body for body, _ in branches)
                every = tuple(name for name, _ in local)
                return [replace(node, branches=bodies, local_to=(*node.local_to, *local))], every
            case logical.NotNode():
                body, _ = self.conjunction(AndNode(node.items))
                return [replace(node, items=body.items)], ()
            case _:
                return [node], ()

    def atom(self, atom: logical.RelationAtom) -> tuple[list[Node], tuple[str, ...]]:
        terms: list[Term] = []
        made: list[str] = []
        equal: list[Node] = []
        for term in atom.terms:
            if isinstance(term, str) and term not in terms:
                terms.append(term)
                continue
            name = f"{atom.relation}·{next(self.numbers)}"
            terms.append(name)
            made.append(name)
            if isinstance(term, str | Const | LookupRef):
                equal.append(logical.PredicateAtom("=", (term, name), atom.position))
        return [replace(atom, terms=tuple(terms)), *equal], tuple(made)
