"""The relations that a plan's rules derive, maintained from moment to moment.

How to use it: `begin` derives everything at a moment; then each `step` moves from the moment where the program is
to another. After that `relations[name]` can be read by joins as OLD and as NEW (`Binding` takes it as it is), and
`came(name)` and `went(name)` are what differs, so that a query's body over these relations is maintained as one
over data patterns. Arguments are relations, too: those named in `inputs` change by what `step` is told came and
went of them. Magic sets read them, so one program derives what all feeds ask for, and subscribing is an insert.

Each fact of a recursive relation has a time, later than those of the facts that it was derived from. A fact whose
derivation a change may have broken stays only if earlier facts derive it; otherwise it goes, and the facts that
followed from it are checked in turn. So no cycle keeps itself alive. Then removed facts are added again where facts
of any time derive them, and new facts are followed round by round (docs/adr/0017-recursion-by-levels.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Held
from adalog.executor.extenders.changes import Moments
from adalog.executor.facts.maintained import MaintainedFacts
from adalog.executor.follow.arguments import Arguments
from adalog.executor.follow.closure import ClosureStratum
from adalog.executor.follow.rule_joins import ChangedAtoms, RuleJoins, Step
from adalog.executor.follow.stratum import MaintainedStratum
from adalog.executor.join.batch import Column, Mask
from adalog.planner.delta.rules import Moving, refusal
from adalog.planner.delta.versions import is_derived
from adalog.planner.model.logical import AndNode, DatomAtom, Leaf, Node, RelationAtom, in_body
from adalog.planner.model.plan import Plan
from adalog.planner.model.version import Version
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

Rows = Sequence[Column]

# Calls of `begin` that are refused at once after one that came to too much, at most.
_LONGEST_PAUSE = 1024


class UnmaintainableError(Exception):
    """A program whose relations cannot be maintained: the text says why, for explain."""


class MaintainedProgram:
    """The relations of one plan's program. Not thread-safe. After an exception from `begin` or `step` it must
    `begin` again. `relations`: everything that a join over them reads, by name."""

    def __init__(
        self, plan: Plan, *, inputs: Mapping[str, int] | None = None, sources: frozenset[str] = frozenset(("$",))
    ) -> None:
        """`inputs`: how many columns each of the relations has that change otherwise; `sources`: the databases that
        go from moment to moment. Raises UnmaintainableError."""
        why = refusal(plan, sources)
        if why:
            raise UnmaintainableError(why)
        self.plan = plan
        self.relations: dict[str, Held] = {}
        self._inputs = dict(inputs or {})
        self._kept: dict[str, MaintainedFacts] = {}
        self._values: Scratch | None = None
        self._constants: dict[str, int] = {}
        self._refused = ""
        self._refusals = self._pause = 0
        self._joins = RuleJoins(plan, sources)
        self._strata: list[MaintainedStratum] = []
        below = frozenset(self._inputs)
        for stratum in plan.program.strata:
            moving = Moving(sources, below)
            walked = stratum.closure is not None and isinstance(stratum.closure.step, DatomAtom)
            kind = ClosureStratum if walked else MaintainedStratum
            self._strata.append(kind(stratum, moving, self._kept, self._joins))
            below = below.union(each.name for each in stratum.relations)
        atoms = (atom for each in self._strata for atom in each.below)
        self._patterns = [atom for atom in atoms if isinstance(atom, DatomAtom)]

    # What it shows

    def came(self, name: str) -> list[Column]:
        """The rows of a relation that hold at the second moment alone."""
        kept = self._kept[name]
        return kept.columns_of(kept.came())

    def went(self, name: str) -> list[Column]:
        """The rows of a relation that held at the first moment alone."""
        kept = self._kept[name]
        return kept.columns_of(kept.went())

    def columns(self, name: str, version: Version = Version.NEW) -> list[Column]:
        """The rows of a relation at a moment."""
        return list(self._kept[name].parts(version)[0].columns)

    def nbytes(self) -> int:
        facts = sum(each.nbytes() for each in self._kept.values())
        return facts + sum(each.nbytes() for each in self._strata) + self._joins.nbytes()

    def spare(self) -> int:
        """Bytes of these that are joins, which can be bound again."""
        return self._joins.nbytes()

    def lighten(self) -> None:
        """Lets go of joins. Between two steps."""
        self._joins.forget()

    # From moment to moment

    def begin(
        self,
        databases: Mapping[str, Snapshot],
        relations: Mapping[str, Rows],
        run: QueryRun,
        constants: Mapping[str, int],
    ) -> None:
        """Derives everything at a moment. `relations`: all inputs, also those that do not change; `constants`: the
        code of each variable of the rules that has one value (`executor.question.inputs.constant_codes`). Raises
        LIMIT_EXCEEDED where that is more than a query may hold, and for some calls after that at once."""
        if self._pause:
            self._pause -= 1
            raise limit_exceeded(self._refused)
        try:
            self._empty()
            for name in self._inputs:
                given = relations.get(name, ())
                if given and len(given[0]):
                    self._kept[name].add(given)
            self.relations = {**relations, **self._kept}
            step = self._step({name: Moments(each, each) for name, each in databases.items()}, run, constants)
            for each in self._strata:
                each.afresh(step)
            self._settle()
        except BaseException as error:
            self._empty()
            if isinstance(error, AdalogError) and error.code is Code.LIMIT_EXCEEDED:
                # It is likely to be too much the next time as well, and that costs as much as what may be kept.
                self._refusals += 1
                self._refused, self._pause = error.message, min(2**self._refusals, _LONGEST_PAUSE)
            raise
        self._refusals = 0

    def _empty(self) -> None:
        self._kept.clear()
        self._joins.forget()
        self._values = None
        for name, width in self._inputs.items():
            self._kept[name] = MaintainedFacts(width)
        for stratum in self._strata:
            stratum.renew()
        self.relations = {}

    def step(
        self,
        moments: Mapping[str, Moments],
        run: QueryRun,
        constants: Mapping[str, int],
        came: Mapping[str, Rows] | None = None,
        went: Mapping[str, Rows] | None = None,
    ) -> None:
        """Goes from one moment to another. `came`, `went`: rows of the relations that are named in `inputs`. `run`
        is used by all that reads the relations until the next step: codes of values that the database does not hold
        are those of its Scratch."""
        self._settle()
        self._recode(run.values)
        for name, rows in (went or {}).items():
            kept = self._kept[name]
            kept.remove(kept.holding(kept.find(rows)))
        for name, rows in (came or {}).items():
            if len(rows[0]):
                self._kept[name].add(rows)
        moved = dict(constants) != self._constants
        if not (moved or came or went) and all(
            self._joins.is_still(atom, moments[atom.source], run.strict) for atom in self._patterns
        ):
            self._values = run.values
            return
        step = self._step(moments, run, constants)
        changed = ChangedAtoms(step, self._kept, self._joins)
        for each in self._strata:
            if moved:
                each.afresh(step)
            else:
                each.step(step, changed)

    def rest(self) -> None:
        """Lets go of the moments of the last step, of which no more will be asked but what came and went."""
        self._joins.rest()

    def _step(self, moments: Mapping[str, Moments], run: QueryRun, constants: Mapping[str, int]) -> Step:
        self._values = run.values
        self._constants = dict(constants)
        self._joins.prepare(moments, self.relations, run)
        return Step(moments, run, constants)

    def _settle(self) -> None:
        for each in self._kept.values():
            each.settle()

    def _recode(self, values: Scratch) -> None:
        """Gives values that the database did not hold the codes that they have now."""
        former = self._values
        if former is None or former is values or not former.made():
            return

        def is_own(codes: Column) -> Mask:
            own: Mask = Scratch.made_numbers(codes) >= 0
            return own

        def change(codes: Column) -> Column:
            return values.intern_many(former.decode_many(codes))

        for kept in self._kept.values():
            kept.recode(is_own, change)
        own = {name: code for name, code in self._constants.items() if is_own(np.array([code]))[0]}
        self._constants |= {name: int(change(np.array([code]))[0]) for name, code in own.items()}


class Derivation(MaintainedProgram):
    """The program of a view's rules, for the arguments of all its feeds. `source`: the database that moves. A feed
    that was added or dropped is an insert or a delete, made when the next step begins."""

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
        """Lets go of what was derived."""
        self._begun = False
        if self.relations:
            self._empty()

    def sizes(self) -> dict[str, int]:
        return {name: len(held) for name, held in self.relations.items()}

    def changed(self, atom: RelationAtom) -> list[Column]:
        """The rows of a derived relation that came or went, as the atom's version says."""
        return self.came(atom.relation) if atom.version is Version.CAME else self.went(atom.relation)

    def read_at(self, body: AndNode, at: Snapshot) -> AndNode:
        """A planned body over the derived facts of one of the two moments."""
        assert self._tick is not None
        version = Version.NEW if at is self._tick.new else Version.OLD

        def change(leaf: Leaf) -> Node:
            if not is_derived(leaf):
                return leaf
            assert isinstance(leaf, RelationAtom)
            return replace(leaf, version=version)

        return in_body(body, change)
