"""Joins that are bound once and run in step after step, while the data below them changes.

Binding a join costs more than running it over the few rows that a transaction changed. What binding decides stays
right from step to step as long as the schema, what names stand for, and the relations beside the database are the
same: then a data pattern is a pair of tries, asked of whichever moments the step has. What is decided by the rows
of a moment, or holds on to some, is bound for that step alone; and between two steps nothing of a snapshot is held.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Held
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.lasting_binding import JOIN_BYTES, NO_RUN, PART_BYTES, LastingBinding
from adalog.executor.extenders.changes import Moments
from adalog.executor.join.generic_join import GenericJoin
from adalog.planner.model.logical import LevelPlan, Node
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Codes


class LastingJoins:
    """The joins of one program or query. `join` gives those of a step, between `go` and `rest`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._binding: LastingBinding | None = None
        self._joins: dict[Hashable, GenericJoin | None] = {}
        # Those of this step alone.
        self._passing: dict[Hashable, GenericJoin | None] = {}
        self._lasts = False
        # What the joins that are kept were bound under.
        self._codes: dict[str, Codes] = {}
        self._schemas: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._still: Mapping[str, Snapshot] = {}
        self._relations: Mapping[str, Held] = {}

    def __len__(self) -> int:
        return len(self._joins)

    def nbytes(self) -> int:
        parts = 0 if self._binding is None else self._binding.parts
        return JOIN_BYTES * len(self._joins) + PART_BYTES * parts

    def go(
        self,
        moments: Mapping[str, Moments],
        still: Mapping[str, Snapshot],
        relations: Mapping[str, Held],
        run: QueryRun,
    ) -> None:
        """Begins a step: the databases that move, those that do not, and what else there is to read."""
        self._let_go()
        self._lasts = True
        for each in moments.values():
            if each.old.schema.key != each.new.schema.key:
                self._lasts = False
        if not self._suits(moments, still, relations):
            self.forget()
        self._seen = {name: each.new.t for name, each in moments.items()}
        self._still, self._relations = still, relations
        binding = self._binding
        if binding is None:
            self._schemas = {name: each.new.schema.key for name, each in moments.items()}
            self._codes = {name: each.new.codes for name, each in moments.items()}
            self._binding = LastingBinding(self._plan, still, relations, run, moments=moments, derive=derived)
        else:
            binding.databases, binding.relations = still, relations
            binding.moments, binding.run = moments, run

    def _suits(
        self, moments: Mapping[str, Moments], still: Mapping[str, Snapshot], relations: Mapping[str, Held]
    ) -> bool:
        """Whether what was bound is right for these."""
        binding = self._binding
        if binding is None or not (self._lasts and _same(self._still, still) and _same(self._relations, relations)):
            return False
        for name, each in moments.items():
            new = each.new
            if self._schemas.get(name) != new.schema.key or new.codes is not self._codes.get(name):
                return False
            names = binding.names.get(name)
            if names:
                since = min(each.old.t, self._seen[name])
                if any(new.data_of(id_).last_touched(new.t) > since for id_ in names):
                    return False
        return True

    def join(
        self,
        key: Hashable,
        items: Sequence[Node],
        given: Sequence[str],
        levels: Sequence[LevelPlan],
        *,
        weighted: bool = False,
        seed: bool = False,
    ) -> GenericJoin | None:
        """The join of a body, which `key` stands for; None where a part without variables already fails."""
        if key in self._joins:
            return self._joins[key]
        if key in self._passing:
            return self._passing[key]
        binding = self._binding
        assert binding is not None, "between two steps"
        pairs, kept, parts = len(binding.pairs), len(binding.kept), binding.parts
        binding.lasting = True
        join = binding.join_of(items, given, levels, weighted, seed)
        binding.readers.clear()
        if binding.lasting and self._lasts:
            self._joins[key] = join
        else:
            self._passing[key] = join
            binding.parts = parts
            del binding.pairs[pairs:], binding.kept[kept:]
        return join

    def rest(self) -> None:
        """Ends a step: lets go of its moments and of its run."""
        self._let_go()
        binding = self._binding
        if binding is not None:
            binding.moments, binding.run = {}, NO_RUN
            if not self._lasts:
                self.forget()

    def _let_go(self) -> None:
        """Lets go of the rows of a step, and of what was bound for it alone."""
        self._passing = {}
        if self._binding is not None:
            self._binding.forget()

    def forget(self) -> None:
        """Binds everything anew when it is next asked for."""
        self._joins = {}
        self._passing = {}
        self._still, self._relations = {}, {}
        self._binding = None


def _same(known: Mapping[str, object], given: Mapping[str, object]) -> bool:
    """Whether all values are the very same ones."""
    if known is given:
        return True
    if len(known) != len(given):
        return False
    # On the way of every live step, where a generator would cost as much again.
    for name, each in given.items():  # noqa: SIM110
        if known.get(name) is not each:
            return False
    return True
