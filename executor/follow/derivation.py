"""What a query's rules derive, from step to step of a view: one program for the arguments of all its feeds.

A feed that was added or dropped is an insert or a delete, made when the next step begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adalog.executor.bounds.run import QueryRun
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.arguments import Arguments
from adalog.executor.follow.program import MaintainedProgram
from adalog.executor.join.batch import Column
from adalog.planner.delta.versions import is_derived
from adalog.planner.model.logical import AndNode, Leaf, Node, RelationAtom, in_body
from adalog.planner.model.plan import Plan
from adalog.planner.model.version import Version
from adalog.store.snapshot.snapshot import Snapshot


class Derivation(MaintainedProgram):
    """The program of a view's rules. `source`: the database that moves."""

    def __init__(self, plan: Plan, arguments: Arguments, source: str) -> None:
        super().__init__(plan, inputs=arguments.widths(), sources=frozenset((source,)))
        self._arguments = arguments
        self._source = source
        self._begun = False
        self._tick: Moments | None = None

    def go(
        self,
        tick: Moments,
        databases: Mapping[str, Snapshot],
        lists: Mapping[str, Sequence[Column]],
        run: QueryRun,
        constants: Mapping[str, int],
    ) -> None:
        """Goes from one moment to the next. `databases`: at the first moment; `lists`: sources that are lists."""
        self._tick = tick
        begun, self._begun = self._begun, False
        still = {name: Moments(each, each) for name, each in databases.items()}
        came, went = self._arguments.taken()
        if not begun:
            self.begin(databases, {**lists, **self._arguments.columns()}, run, constants)
        elif came or went:
            self.step(still, run, constants, came, went)
        if tick.old is not tick.new:
            self.step({**still, self._source: tick}, run, constants)
        self._begun = True

    def rest(self) -> None:
        """Lets go of the moments of the last step."""
        self._tick = None
        super().rest()

    def forget(self) -> None:
        self._begun = False

    def sizes(self) -> dict[str, int]:
        return {name: len(held) for name, held in self.relations.items()}

    def changed(self, atom: RelationAtom) -> list[Column]:
        """The rows of a derived relation that came or went, as the atom's version says."""
        came = atom.version is Version.CAME
        return self.came(atom.relation) if came else self.went(atom.relation)

    def read_at(self, body: AndNode, at: Snapshot) -> AndNode:
        """A planned body with what is derived at one of the two moments."""
        assert self._tick is not None
        version = Version.NEW if at is self._tick.new else Version.OLD

        def change(leaf: Leaf) -> Node:
            if not is_derived(leaf):
                return leaf
            assert isinstance(leaf, RelationAtom)
            return replace(leaf, version=version)

        return in_body(body, change)
