"""The joins of a view: what enters and leaves a query's heads between two moments, and what groups hold at one.

Plans are made when they are first needed, and anew when sizes change by a factor. Knows nothing of what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.ast import Const
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.engine import QueryEngine
from adalog.executor.evaluation.bind import Binding, Held
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.lasting_binding import PLAN_BYTES
from adalog.executor.evaluation.local import Collector, collector_for
from adalog.executor.extenders.changes import Moments, fact_rows, is_of_pairs
from adalog.executor.follow.arguments import Arguments, recoded
from adalog.executor.follow.lasting_joins import LastingJoins
from adalog.executor.follow.program import Derivation
from adalog.executor.follow.rule_joins import with_columns
from adalog.executor.follow.small_answers import RowChanges, SmallAnswers
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.driver import drive_few
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.shortcuts.intersection import forget_scratch
from adalog.executor.question.inputs import Inputs, bind_inputs, constant_codes, sizes_of
from adalog.executor.question.question import Question
from adalog.planner.delta.reactions import Reaction
from adalog.planner.delta.versions import Atom, at_version, moving_database, with_derived
from adalog.planner.maintenance import Maintenance, ReactionPlan, argument_columns, plan_groups, plan_reaction
from adalog.planner.model.logical import AndNode, DatomAtom, everything
from adalog.planner.model.plan import Plan
from adalog.planner.model.version import Version
from adalog.planner.order.statistics import Statistics
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import among, distinct
from adalog.store.values.codes import Scratch
from adalog.store.values.schema import Schema

# Sizes up to which any plan is as good as another.
_FEW: Final = 64
# Rows of arguments up to which it is known beforehand which values changed rows must have. A step for changed rows
# that no argument asks for is short, and more arguments share it.
_FEW_ARGUMENTS: Final = 64


@dataclass(slots=True)
class Heads:
    """Distinct heads that entered and that left."""

    entered: Batch
    left: Batch

    def __bool__(self) -> bool:
        return bool(self.entered.size or self.left.size)


class ReactionJoins:
    """`source`: the database that moves."""

    def __init__(self, question: Question, engine: QueryEngine, maintenance: Maintenance, source: str) -> None:
        query = question.query
        self.maintenance = maintenance
        self._engine = engine
        self._source = source
        self._options = question.request.options
        self._still = {name: each for name, each in question.databases.items() if name != source}
        self._sizes = sizes_of(query, question.args)
        constants = tuple(maintenance.constants.items())
        self._plan = replace(engine.compiler.compile(question), constants=constants, entities=maintenance.entities)
        widths = {
            f"in {place}": len(each.binding.targets) if isinstance(each.binding, ast.RelationBinding) else 1
            for place, each in enumerate(query.inputs)
            if isinstance(each, ast.BindingInput)
        }
        owned = {}
        for each in query.inputs:
            if isinstance(each, ast.SourceInput) and each.owner is not None:
                owned[each.name], widths[each.name] = each.owner.name, each.width
        codes, rules = question.snapshot.codes, maintenance.rules
        self._arguments = Arguments(maintenance.fed, widths, owned, codes, follows=rules is not None)
        self._derivation = None if rules is None else Derivation(rules, self._arguments, source)
        self._small = None
        if rules is not None and not query.find.has_aggregates:
            shown = [each.var.name for each in maintenance.query.find.columns]
            self._small = SmallAnswers(self._plan, source, self._still, shown, codes)
        given = Scratch(codes)
        inputs = bind_inputs(self._plan, question.args, question.snapshot, given)
        shared = question.relations - owned.keys()
        lists = [(name, columns) for name, columns in inputs.relations.items() if name in shared]
        self._lists = {name: self._arguments.own(columns, given) for name, columns in lists}
        self._feeds = 0
        self._plans: dict[tuple[int, bool], ReactionPlan] = {}
        self._lasting = LastingJoins(self._plan)
        self._group_plan: Plan | None = None
        self._group_bodies: dict[Version, AndNode] = {}
        moves = moving_database(source)
        self._moves = moves if rules is None else with_derived(moves)
        # Of a step's moments, and what begins with these.
        self._schemas: tuple[Schema | None, Schema | None] = (None, None)
        self._known_starts: list[_Start] = []
        self._epoch: tuple[Any, ...] = ()
        self._planned_for: Mapping[Hashable, int] = {}

    # Feeds

    def settled(self, question: Question, check: Callable[[], None]) -> tuple[Inputs, Scratch]:
        """The arguments of a question as codes, and those of values that the database does not know."""
        given = Scratch(question.snapshot.codes)
        inputs = bind_inputs(self._plan, question.args, question.snapshot, given, check)
        # The arguments are kept, and no snapshot with them.
        return replace(inputs, databases={}), given

    def add(self, feed: int, inputs: Inputs, given: Scratch) -> None:
        self._arguments.add(feed, inputs, given)
        if self._small is not None:
            self._small.add(feed, inputs)
        self._feeds += 1

    def drop(self, feed: int) -> None:
        self._arguments.drop(feed)
        if self._small is not None:
            self._small.drop(feed)
        self._feeds -= 1

    def begin(self, at: Snapshot, run: QueryRun) -> None:
        """Makes what is kept from step to step, where something is."""
        if self._derivation is not None:
            constants = self.constants(at, run.values)
            self._derivation.go(Moments(at, at), self._databases(at), self._lists, run, constants)

    def rest(self) -> None:
        self._lasting.rest()
        if self._derivation is not None:
            self._derivation.rest()

    def forget(self) -> None:
        self._lasting.forget()
        if self._derivation is not None:
            self._derivation.forget()
        if self._small is not None:
            self._small.forget()

    def awaited(self) -> dict[str, Sequence[int] | None]:
        """By variables of the body: the codes that they have in any row of an answer, since arguments give them;
        None: the database does not know all of these values yet."""
        found: dict[str, Sequence[int] | None] = {}
        for name, column, variable in argument_columns(self.maintenance.body) if self._feeds else ():
            codes = self._arguments.distinct(name, column, _FEW_ARGUMENTS)
            if codes is not None:
                is_known = not (Scratch.made_numbers(np.array(codes, np.int64)) >= 0).any()
                found[variable] = codes if is_known else None
        return found

    def nbytes(self) -> int:
        derived = 0 if self._derivation is None else self._derivation.nbytes() - self._derivation.spare()
        small = 0 if self._small is None else self._small.nbytes() - self._small.spare()
        return self._arguments.nbytes() + derived + small + self.spare()

    def spare(self) -> int:
        """Bytes of these that are joins and their plans, which can be made again."""
        derived = 0 if self._derivation is None else self._derivation.spare()
        small = 0 if self._small is None else self._small.spare()
        return self._lasting.nbytes() + PLAN_BYTES * len(self._plans) + derived + small

    def lighten(self) -> None:
        """Lets go of joins and their plans. Between two steps."""
        self._forget_plans()
        if self._derivation is not None:
            self._derivation.lighten()
        if self._small is not None:
            self._small.lighten()

    # A step

    def run(self, cancel: Cancel) -> QueryRun:
        """What the joins of one step have in common."""
        learned = self._arguments.learn()
        if learned:
            lists = self._lists.items()
            self._lists = {name: [recoded(column, learned) for column in columns] for name, columns in lists}
            # What was derived from an argument or a list has its old code.
            self.forget()
        means = self._engine.means
        return QueryRun(self._arguments.values.fork(cancel.budget.take), cancel, means.strict, means.threads)

    def small_changes(self, tick: Moments, run: QueryRun) -> Mapping[int, RowChanges] | None:
        """The rows that came and went for each feed with a change, derived from little; None: `heads` has them."""
        found = None if self._small is None else self._small.changes(tick, run)
        if found is not None:
            if self._derivation is not None:
                # It derives everything again when it is next needed.
                self._derivation.forget()
            if self._arguments.settle_if_many():
                self._arguments.taken()
        return found

    def heads(self, tick: Moments, run: QueryRun) -> Heads:
        head = self.maintenance.head
        entered = Collector(head, True, False, None, None, run.cancel)
        left = Collector(head, True, False, None, None, run.cancel)
        if self._derivation is not None:
            databases = self._databases(tick.old)
            self._derivation.go(tick, databases, self._lists, run, self.constants(tick.new, run.values))
        self._arguments.settle_if_many()
        fixed: dict[str, int] | None = None
        begun = False
        covered = _Covered()
        for place, start in enumerate(self._starts(tick)):
            reaction = start.reaction
            if start.pairs_of is None:
                batch = self._changed(reaction.changed, tick, run.strict)
            else:
                change = tick.changed(start.pairs_of)
                batch = start.batch(change.added if start.came else change.removed)
            if not batch.size:
                continue
            batch = covered.left(reaction, batch)
            if not batch.size:
                continue
            if fixed is None:
                self._check_plans(tick.new)
                fixed = self.constants(tick.new, run.values)
            if fixed:
                batch = with_columns(batch, fixed)
                if not batch.size:
                    continue
            key = place, self._is_sure(reaction, batch, tick, run.strict)
            plan = self._plan_of(key, tick.new, run.cancel)
            if self._arguments.asks_for(plan.probes, batch):
                self._arguments.settle()
                begun = False
            for name, column, variable in plan.probes:
                batch = self._arguments.asked_for(name, column, batch, variable)
                if not batch.size:
                    break
            if not batch.size:
                continue
            if not begun:
                self._lasting.go({self._source: tick}, self._still, self._relations(), run)
                begun = True
            join = self._lasting.join(key, plan.join.body.items, plan.given, plan.join.levels)
            if join is not None:
                drive_few(join, entered if reaction.enters else left, run.cancel, batch, run.threads)
        forget_scratch()
        present = self._arguments.present
        return Heads(present(entered.rows()), present(left.rows()))

    def _relations(self) -> Mapping[str, Held]:
        kept = {} if self._derivation is None else self._derivation.relations
        return {**self._lists, **kept, **self._arguments.relations()}

    def _starts(self, tick: Moments) -> list[_Start]:
        """What begins the reactions between moments with these schemas."""
        schemas = tick.old.schema, tick.new.schema
        if schemas[0] is not self._schemas[0] or schemas[1] is not self._schemas[1]:
            self._known_starts = [_Start.of(each, tick) for each in self.maintenance.reactions]
            self._schemas = schemas
        return self._known_starts

    def _changed(self, atom: Atom, tick: Moments, strict: bool) -> Batch:
        """The rows of an atom that came or went."""
        if isinstance(atom, DatomAtom):
            return tick.rows(atom, strict, atom.version)
        assert self._derivation is not None
        return fact_rows(atom, self._derivation.changed(atom))

    def _is_sure(self, reaction: Reaction, batch: Batch, tick: Moments, strict: bool) -> bool:
        """Whether changed rows need no check. The plan may have been made for another moment."""
        if reaction.sure is None:
            return False
        if reaction.alone is None:
            return not any(tick.new.attribute(each.id) != each or tick.touches(each.id) for each in reaction.still)
        assert isinstance(reaction.changed, DatomAtom)
        others = tick.rows(reaction.changed, strict, Version.WENT if reaction.enters else Version.CAME)
        name = reaction.alone
        return not others.size or not among(batch.columns[name], distinct(others.columns[name])).any()

    def constants(self, at: Snapshot, values: Scratch) -> dict[str, int]:
        return constant_codes(self._plan, at, values)

    def _databases(self, at: Snapshot) -> dict[str, Snapshot]:
        return {**self._still, self._source: at}

    def tuples_now(self, keys: Batch, at: Snapshot, run: QueryRun) -> Batch:
        """The tuples of groups at a moment, with weights where a row stands for several. Not within a step."""
        self._arguments.settle()
        plan = self._group_plan_of(at, run.cancel)
        if self._derivation is not None:
            plan = replace(plan, body=self._derivation.read_at(plan.body, at))
        join = Binding(plan, self._databases(at), self._relations(), run, derive=derived).join()
        return self._driven(plan, join, keys, at, run)

    def tuples(self, tick: Moments, run: QueryRun, keys: Batch, new: bool) -> Batch:
        """The same at one of the two moments of a step whose heads were found."""
        at, version = (tick.new, Version.NEW) if new else (tick.old, Version.OLD)
        plan = self._group_plan_of(at, run.cancel)
        body = self._group_bodies.get(version)
        if body is None:
            body = self._group_bodies[version] = at_version(plan.body, self._moves, version)
        join = self._lasting.join(version, body.items, plan.given, plan.levels, weighted=plan.weighted)
        return self._driven(plan, join, keys, at, run)

    def _driven(self, plan: Plan, join: GenericJoin | None, keys: Batch, at: Snapshot, run: QueryRun) -> Batch:
        collector = collector_for(plan, None, run.cancel)
        start = with_columns(keys, self.constants(at, run.values))
        if start.size and join is not None:
            drive_few(join, collector, run.cancel, start, run.threads)
        return collector.rows()

    # Plans

    def _plan_of(self, key: tuple[int, bool], at: Snapshot, cancel: Cancel) -> ReactionPlan:
        """Of a reaction by its place; without its check where it is sure."""
        plan = self._plans.get(key)
        if plan is None:
            place, is_sure = key
            statistics, reaction = self._statistics(at, cancel), self.maintenance.reactions[place]
            plan = plan_reaction(self.maintenance, reaction, statistics, self._options, is_sure=is_sure)
            self._plans[key] = plan
        return plan

    def _statistics(self, at: Snapshot, cancel: Cancel) -> Statistics:
        kept = {} if self._derivation is None else self._derivation.sizes()
        sizes = {**self._sizes, **self._arguments.sizes(), **kept}
        return Statistics(self._databases(at), sizes, check=cancel.check)

    def _check_plans(self, at: Snapshot) -> None:
        """Forgets plans that were made for very different sizes."""
        epoch = (at.statistics_epoch, self._feeds.bit_length())
        if self._epoch == epoch:
            return
        self._epoch = epoch
        magnitudes = self._magnitudes(at)
        if not _are_alike(magnitudes, self._planned_for):
            self._planned_for = magnitudes
            self._forget_plans()

    def _forget_plans(self) -> None:
        self._plans = {}
        self._lasting.forget()
        self._group_plan = None
        self._group_bodies = {}

    def _magnitudes(self, at: Snapshot) -> dict[Hashable, int]:
        """The sizes that plans go by, in bits: of what the body reads, of arguments, of what rules derive."""
        sizes: dict[Hashable, int] = {"feeds": self._feeds}
        if self._derivation is not None:
            sizes.update(self._derivation.sizes())
        for leaf in everything(self.maintenance.body):
            if not isinstance(leaf, DatomAtom) or leaf.source != self._source:
                continue
            named = at.attribute(leaf.attribute.value) if isinstance(leaf.attribute, Const) else None
            for attribute in at.attributes() if named is None else (named,):
                counts = at.statistics(attribute)
                sizes[attribute.id, "rows"], sizes[attribute.id, "entities"] = counts.count, counts.entities
                sizes[attribute.id, "values"] = counts.values
        return {name: max(size, _FEW).bit_length() for name, size in sizes.items()}

    def _group_plan_of(self, at: Snapshot, cancel: Cancel) -> Plan:
        if self._group_plan is None:
            self._group_plan = plan_groups(self.maintenance, self._statistics(at, cancel), self._options)
        return self._group_plan


_NO_ROWS: Final = Batch(0, {})


@dataclass(frozen=True, slots=True)
class _Start:
    """A reaction. `pairs_of`: the attribute whose pairs are its atom's rows, under the `names`, if there is one.
    `came`: whether it begins with what came."""

    reaction: Reaction
    pairs_of: int | None
    names: tuple[str, str]
    came: bool

    @staticmethod
    def of(reaction: Reaction, tick: Moments) -> _Start:
        atom = reaction.changed
        attribute = tick.attribute(atom) if isinstance(atom, DatomAtom) and is_of_pairs(atom) else None
        names = ("", "") if attribute is None else (str(atom.terms[0]), str(atom.terms[2]))
        return _Start(reaction, None if attribute is None else attribute.id, names, atom.version is Version.CAME)

    def batch(self, pairs: Sequence[Column]) -> Batch:
        e, v = pairs
        return Batch(len(e), {self.names[0]: e, self.names[1]: v}) if len(e) else _NO_ROWS


class _Covered:
    """The entities of a step of which other reactions find everything that enters, or leaves, already."""

    def __init__(self) -> None:
        self._entities: dict[tuple[bool, str], list[Column]] = {}

    def left(self, reaction: Reaction, batch: Batch) -> Batch:
        """The changed rows that a reaction has to follow. It covers their entities from then on."""
        if reaction.is_positive:
            for (enters, name), entities in self._entities.items():
                if enters is reaction.enters and name in batch.columns:
                    for each in entities:
                        batch = batch.keep(~among(batch.columns[name], distinct(each)))
        if reaction.covers is not None and batch.size:
            key = reaction.enters, reaction.covers
            self._entities.setdefault(key, []).append(batch.columns[reaction.covers])
        return batch


def _are_alike(one: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> bool:
    """Whether no size has become several times another."""
    return one.keys() == other.keys() and all(abs(bits - other[name]) <= 1 for name, bits in one.items())
