"""The bodies of a program's rules at the moments of a step: planned once, bound for each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from executor.bounds.run import Run
from executor.evaluation.bind import Binding, Held
from executor.evaluation.fixpoint import derived
from executor.extenders.changes import Moments
from executor.join.batch import Batch, Column, Mask
from executor.join.driver import Driver
from executor.join.generic_join import GenericJoin
from executor.rules.kept import ROW, KeptFacts
from planner.joins import JoinPlan
from planner.logical import DatomAtom, RelationAtom
from planner.maintenance.rules import Joined, Start
from planner.plan import Plan
from planner.statistics import Statistics
from store.codes import Scratch
from store.difference import Difference

Between = Callable[[str, int], Difference]
"""What came and went of an attribute of a source."""

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Step:
    """The way from one moment to another. `moments`: of every database; `between`: what differs."""

    moments: Mapping[str, Moments]
    run: Run
    constants: Mapping[str, int]
    between: Between


class Joins:
    """The bodies of a program, planned when they are first run and bound to the moments of a step."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._planned: dict[int, tuple[Joined, JoinPlan]] = {}
        self._bound: dict[int, GenericJoin | None] = {}
        self._moments: Mapping[str, Moments] = {}
        self._relations: Mapping[str, Held] = {}
        self._run: Run | None = None

    @property
    def values(self) -> Scratch:
        """The codes of the step."""
        assert self._run is not None
        return self._run.values

    def prepare(self, moments: Mapping[str, Moments], relations: Mapping[str, Held], run: Run) -> None:
        """Begins a step."""
        self._moments = moments
        self._relations = relations
        self._run = run.on_one_thread
        self._bound = {}

    def rows(self, joined: Joined, batch: Batch) -> list[Column]:
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

    def once(self, joined: Joined, step: Step) -> list[Column]:
        """The heads that a body has which begins with nothing."""
        return self.rows(joined, with_constants(Batch(1, {}), joined, step))

    def holds(self, joined: Joined, batch: Batch) -> Mask:
        """Which rows of a first batch a body holds for."""
        mask = np.zeros(batch.size, np.bool_)

        def sink(rows: Batch) -> bool:
            mask[rows.columns[ROW]] = True
            return not mask.all()

        if batch.size:
            self._drive(joined, batch.having(ROW, np.arange(batch.size)), sink, seed=True)
        return mask

    def _drive(self, joined: Joined, batch: Batch, sink: Callable[[Batch], bool], *, seed: bool) -> None:
        assert self._run is not None
        key = id(joined)
        if key in self._bound:
            join = self._bound[key]
        else:
            plan = self._plan_of(joined)
            databases = {name: each.new for name, each in self._moments.items()}
            binding = Binding(
                self.plan, databases, self._relations, self._run, moments=self._moments, derive=derived
            )
            join = binding.join_of(plan.body.items, joined.given, plan.levels, False, seed=seed)
            self._bound[key] = join
        if join is not None:
            Driver(join, sink, self._run.cancel).run(batch)

    def _plan_of(self, joined: Joined) -> JoinPlan:
        known = self._planned.get(id(joined))
        if known is None:
            rows = {name: _size_of(held) for name, held in self._relations.items()}
            databases = {name: each.new for name, each in self._moments.items()}
            known = joined, joined.plan(Statistics(databases, rows), self.plan.options)
            self._planned[id(joined)] = known
        return known[1]


def _size_of(held: Held) -> int:
    if isinstance(held, Sequence):
        return len(held[0]) if held else 0
    return len(held)


@dataclass
class Changed:
    """What came and went of each atom, found when it is first asked for."""

    step: Step
    kept: Mapping[str, KeptFacts]
    _found: dict[DatomAtom | RelationAtom, tuple[Batch, Batch]] = field(default_factory=dict)

    def rows(self, start: Start) -> Batch:
        """The rows that a body begins with."""
        atom = start.atom
        found = self._found.get(atom)
        if found is None:
            found = self._found[atom] = self._rows(atom)
        return found[0] if start.came else found[1]

    def _rows(self, atom: DatomAtom | RelationAtom) -> tuple[Batch, Batch]:
        if isinstance(atom, RelationAtom):
            kept = self.kept[atom.relation]
            return of_atom(atom, kept, kept.came()), of_atom(atom, kept, kept.went())
        step = self.step
        moments = step.moments[atom.source]
        came, went = moments.rows(atom, step.run.strict, lambda id_: step.between(atom.source, id_))
        return came.distinct(), went.distinct()


def of_atom(atom: RelationAtom, kept: KeptFacts, rows: Column) -> Batch:
    names = [term for term in atom.terms if isinstance(term, str)]
    return Batch(len(rows), dict(zip(names, kept.columns_of(rows), strict=True)))


def with_constants(batch: Batch, joined: Joined, step: Step) -> Batch:
    """The rows of a first batch that suit the variables with one value, which all have a column then."""
    for name in joined.constants:
        column = batch.columns.get(name)
        if column is None:
            batch = batch.having(name, np.full(batch.size, step.constants[name]))
        else:
            batch = batch.keep(column == step.constants[name])
    return batch
