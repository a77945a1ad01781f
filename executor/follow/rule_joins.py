"""The joins of a program's rules between the two moments of a step, each planned and bound once where it can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.datalog.ast import Const
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Held
from adalog.executor.evaluation.lasting_binding import PLAN_BYTES
from adalog.executor.extenders.changes import Moments
from adalog.executor.extenders.patterns import Patterns
from adalog.executor.facts.maintained import MaintainedExtender, MaintainedFacts
from adalog.executor.follow.lasting_joins import LastingJoins
from adalog.executor.join.batch import ORIGIN, Batch, Column, Mask
from adalog.executor.join.driver import drive_few
from adalog.planner.delta.rules import BodyJoin, DeltaJoin
from adalog.planner.model.logical import DatomAtom, RelationAtom
from adalog.planner.model.plan import Plan
from adalog.planner.model.version import Version
from adalog.planner.order.joins import JoinPlan
from adalog.planner.order.statistics import Statistics
from adalog.store.values.codes import Scratch

_NONE: Final = np.empty(0, np.int64)
_NO_ROWS: Final = (Batch(0, {}), Batch(0, {}))


@dataclass(frozen=True, slots=True)
class Step:
    """The way from one moment to another. `moments`: of every database."""

    moments: Mapping[str, Moments]
    run: QueryRun
    constants: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A body with its plan. `probes`: what of it is looked up before anything is bound."""

    joined: BodyJoin
    plan: JoinPlan
    probes: tuple[MaintainedExtender, ...]

    @property
    def is_probed(self) -> bool:
        """Whether that is all of it."""
        return not self.plan.levels and len(self.probes) == len(self.plan.body.items)


class RuleJoins:
    """The bodies of a program, planned when they are first run and bound to the moments of a step. Bodies and atoms
    are known by their identity: they live as long as the program."""

    def __init__(self, plan: Plan, sources: frozenset[str]) -> None:
        """`sources`: the databases that move."""
        self.plan = plan
        self._sources = sources
        self._ready: dict[int, _Ready] = {}
        self._attributes: dict[int, tuple[int, int | None]] = {}
        self._lasting = LastingJoins(plan)
        self._moments: Mapping[str, Moments] = {}
        self._relations: Mapping[str, Held] = {}
        self._run: QueryRun | None = None

    @property
    def values(self) -> Scratch:
        assert self._run is not None
        return self._run.values

    def forget(self) -> None:
        """Plans all bodies again, over other relations."""
        self._ready = {}
        self._lasting.forget()

    def nbytes(self) -> int:
        return self._lasting.nbytes() + PLAN_BYTES * len(self._ready)

    def take(self, nbytes: int) -> None:
        """Draws bytes that are about to be kept from the budget of the step."""
        assert self._run is not None
        self._run.cancel.budget.take(nbytes)

    def prepare(self, moments: Mapping[str, Moments], relations: Mapping[str, Held], run: QueryRun) -> None:
        self._moments = moments
        self._relations = relations
        self._run = run.on_one_thread
        still = {name: each.new for name, each in moments.items() if name not in self._sources}
        self._lasting.go(moments, still, relations, self._run)

    def rest(self) -> None:
        self._moments = {}
        self._run = None
        self._lasting.rest()

    def attribute_of(self, atom: DatomAtom, moments: Moments, strict: bool) -> int | None:
        """The attribute of a pattern whose rows are just its pairs, at both moments; None for any other."""
        key = moments.new.schema.key
        if key != moments.old.schema.key:
            return None
        known = self._attributes.get(id(atom))
        if known is None or known[0] != key:
            sides = Patterns(moments.new, {}, strict).sides(atom) if _is_of_pairs(atom) else ()
            known = self._attributes[id(atom)] = key, sides[0][0].id if sides else None
        return known[1]

    def is_still(self, atom: DatomAtom, moments: Moments, strict: bool) -> bool:
        """Whether it is known at once that a pattern has the same rows at both moments."""
        attribute = self.attribute_of(atom, moments, strict)
        return attribute is not None and not moments.touches(attribute)

    def rows(self, joined: BodyJoin, batch: Batch) -> list[Column]:
        """The heads that a body has from a first batch; repeats are possible."""
        found: list[list[Column]] = []

        def sink(rows: Batch) -> bool:
            found.append([rows.columns[name] for name in joined.head])
            return True

        if batch.size:
            self._drive(joined, batch, sink, seed=False)
        if len(found) == 1:
            return found[0]
        return [np.concatenate([part[i] for part in found] or [_NONE]) for i in range(len(joined.head))]

    def once(self, joined: BodyJoin, step: Step) -> list[Column]:
        """The heads that a body has which begins with nothing."""
        return self.rows(joined, with_constants(Batch(1, {}), joined, step))

    def holds(self, joined: BodyJoin, batch: Batch) -> Mask:
        mask = np.zeros(batch.size, np.bool_)

        def sink(rows: Batch) -> bool:
            mask[rows.columns[ORIGIN]] = True
            return not mask.all()

        if batch.size:
            self._drive(joined, batch.having(ORIGIN, np.arange(batch.size)), sink, seed=True)
        return mask

    def _drive(self, joined: BodyJoin, batch: Batch, sink: Callable[[Batch], bool], *, seed: bool) -> None:
        assert self._run is not None
        ready = self._ready_of(joined)
        for probe in ready.probes:
            batch = probe.known(batch)
            if not batch.size:
                return
        if ready.is_probed:
            sink(batch)
            return
        body = ready.plan.body.items
        join = self._lasting.join((id(joined), seed), body, joined.given, ready.plan.levels, seed=seed)
        if join is not None:
            drive_few(join, sink, self._run.cancel, batch)

    def _ready_of(self, joined: BodyJoin) -> _Ready:
        known = self._ready.get(id(joined))
        if known is None:
            rows = {name: _size_of(held) for name, held in self._relations.items()}
            databases = {name: each.new for name, each in self._moments.items()}
            plan = joined.plan(Statistics(databases, rows), self.plan.options)
            known = self._ready[id(joined)] = _Ready(joined, plan, tuple(self._probes(joined, plan)))
        return known

    def _probes(self, joined: BodyJoin, plan: JoinPlan) -> Iterator[MaintainedExtender]:
        """The patterns over kept relations that the first batch binds a variable of."""
        rank = dict.fromkeys(joined.given, -1) | {level.variable: i for i, level in enumerate(plan.levels)}
        for item in plan.body.items:
            if isinstance(item, RelationAtom) and not rank.keys().isdisjoint(item.terms):
                held = self._relations[item.relation]
                names = [term for term in item.terms if isinstance(term, str)]
                if isinstance(held, MaintainedFacts) and any(rank[name] < 0 for name in names):
                    yield MaintainedExtender(held, names, item.version, rank)


def _is_of_pairs(atom: DatomAtom) -> bool:
    """Whether an attribute is all that a pattern names, and its places differ."""
    is_open = isinstance(atom.entity, str | None) and isinstance(atom.value, str | None)
    is_named = isinstance(atom.attribute, Const) and atom.tx is None and atom.added is None
    return is_open and is_named and atom.entity != atom.value


def _size_of(held: Held) -> int:
    if isinstance(held, Sequence):
        return len(held[0]) if held else 0
    return len(held)


@dataclass
class ChangedAtoms:
    """The rows of each atom that came and that went, computed on first use."""

    step: Step
    kept: Mapping[str, MaintainedFacts]
    joins: RuleJoins
    _found: dict[int, tuple[Batch, Batch]] = field(default_factory=dict)

    def rows(self, start: DeltaJoin) -> Batch:
        came, went = self.of(start.atom)
        return came if start.came else went

    def of(self, atom: DatomAtom | RelationAtom) -> tuple[Batch, Batch]:
        found = self._found.get(id(atom))
        if found is None:
            found = self._found[id(atom)] = self._rows(atom)
        return found

    def _rows(self, atom: DatomAtom | RelationAtom) -> tuple[Batch, Batch]:
        if isinstance(atom, RelationAtom):
            kept = self.kept[atom.relation]
            if not kept.is_touched:
                return _NO_ROWS
            return of_atom(atom, kept, kept.came()), of_atom(atom, kept, kept.went())
        moments, strict = self.step.moments[atom.source], self.step.run.strict
        attribute = self.joins.attribute_of(atom, moments, strict)
        if attribute is not None and isinstance(atom.entity, str) and isinstance(atom.value, str):
            change = moments.changed(attribute)
            names = atom.entity, atom.value
            return _pairs(names, change.added), _pairs(names, change.removed)
        return moments.rows(atom, strict, Version.CAME), moments.rows(atom, strict, Version.WENT)


def _pairs(names: tuple[str, str], columns: Sequence[Column]) -> Batch:
    e, v = columns
    return Batch(len(e), {names[0]: e, names[1]: v})


def of_atom(atom: RelationAtom, kept: MaintainedFacts, rows: Column) -> Batch:
    names = [term for term in atom.terms if isinstance(term, str)]
    return Batch(len(rows), dict(zip(names, kept.columns_of(rows), strict=True)))


def with_constants(batch: Batch, joined: BodyJoin, step: Step) -> Batch:
    """The rows of a first batch that suit the variables with one value, which all have a column then."""
    return with_columns(batch, {name: step.constants[name] for name in joined.constants})


def with_columns(batch: Batch, constants: Mapping[str, int]) -> Batch:
    """The batch with columns for constants, without rows that say otherwise."""
    for name, code in constants.items():
        column = batch.columns.get(name)
        if column is None:
            batch = batch.having(name, np.full(batch.size, code, np.int64))
        else:
            batch = batch.keep(column == code)
    return batch
