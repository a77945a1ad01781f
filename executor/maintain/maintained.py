"""A view that follows what changed: a step joins the rows that came and went with the rest, and costs what these
come to. It keeps no rows, only the arguments of its feeds, which are relations of the join (`planner.maintenance`).

Exact, and where the plan does not apply it asks again at both moments and compares: for all feeds if an attribute
that is read, or a constant that names an entity, means something else by then; for a feed whose own arguments do;
and feed by feed where the join is refused, so that an error is that of the feed that has it.

A limit on rows: a feed's rows are counted when something first enters it after it was added, which is one
evaluation of its question, and the count is kept from then on. A feed to which nothing happens costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from datalog import ast
from datalog.ast import Const, LookupRef
from datalog.errors import AdalogError, Code
from datalog.values import Keyword
from executor.answer.aggregates import aggregated
from executor.answer.result import Column as ResultColumn
from executor.answer.result import Result, type_of
from executor.bounds.cancel import Cancel
from executor.bounds.run import Run
from executor.cache.reads import QueryReads, Reads, reads_of, touched_attributes
from executor.engine import Engine
from executor.evaluation.bind import Binding, Held
from executor.evaluation.fixpoint import derived
from executor.evaluation.local import Collector, collector_for
from executor.extenders.changes import Moments
from executor.extenders.patterns import Patterns
from executor.join.batch import Batch, Column
from executor.join.driver import Driver
from executor.join.step import forget_scratch
from executor.maintain.arguments import Arguments
from executor.maintain.asked import asked_anew, at_moment, lookups_of, values_of
from executor.maintain.changed_rows import changed_facts, changed_rows
from executor.maintain.compared import changed
from executor.maintain.derivation import Derivation
from executor.maintain.grouping import Groups, Key, Row
from executor.maintain.view import Change, Interest, Tick
from executor.question.inputs import Inputs, bind_inputs, constant_codes, sizes_of
from executor.question.question import Question
from planner.logical import AndNode, DatomAtom, everything
from planner.maintenance.feeds import FEED
from planner.maintenance.grouping import keys_of, plan_groups
from planner.maintenance.maintenance import (
    Maintenance,
    ReactionPlan,
    Unmaintained,
    maintenance_of,
    plan_reaction,
)
from planner.maintenance.reactions import Atom, Call, database_of, looked_up
from planner.plan import Plan
from planner.statistics import Statistics
from store.bootstrap import IDENT
from store.codes import Scratch
from store.snapshot import Snapshot

MAINTAINED = "maintained"

_FEED_BYTES = 1_000


def moving_source(question: Question) -> str:
    """The name of the source that the database followed is."""
    first = question.query.inputs[0]
    assert isinstance(first, ast.SourceInput)
    return first.name


def maintenance_at(question: Question, source: str) -> Maintenance | Unmaintained:
    """How the answer is kept up to date under the schema that its databases have, or why it is not."""
    sizes = sizes_of(question.query, question.args)
    statistics = Statistics(question.databases, sizes)
    return maintenance_of(question.query, statistics, question.relations, question.request.options, source)


@dataclass(slots=True)
class _Feed:
    """`names`: whether some argument is an ident or a lookup ref. `rows`: of its answer, once they were counted."""

    question: Question
    inputs: Inputs
    names: bool
    rows: int | None = None


@dataclass(slots=True)
class Heads:
    """Distinct heads that entered and that left."""

    entered: Batch
    left: Batch

    def __bool__(self) -> bool:
        return bool(self.entered.size or self.left.size)


@dataclass(slots=True)
class Maintained:
    """`source`: the database that moves."""

    question: Question
    engine: Engine
    maintenance: Maintenance
    source: str
    how: str = MAINTAINED
    _reads: QueryReads = field(init=False)
    _plan: Plan = field(init=False)
    _arguments: Arguments = field(init=False)
    _derived: Derivation | None = field(init=False)
    _lists: dict[str, list[Column]] = field(init=False)
    _named: tuple[DatomAtom, ...] = field(init=False)
    _groups: Groups | None = field(init=False)
    _feeds: dict[int, _Feed] = field(default_factory=dict)
    _plans: dict[int, ReactionPlan] = field(default_factory=dict)
    _group_plan: Plan | None = None
    _planned_for: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        self._reads = reads_of(self.question.query)
        self._plan = replace(
            self.engine.compiler.compile(self.question),
            constants=tuple(self.maintenance.constants.items()),
            entities=self.maintenance.entities,
        )
        widths = {
            f"in {place}": len(each.binding.targets) if isinstance(each.binding, ast.RelationBinding) else 1
            for place, each in enumerate(self.question.query.inputs)
            if isinstance(each, ast.BindingInput)
        }
        codes = self.question.snapshot.codes
        rules = self.maintenance.rules
        self._arguments = Arguments(self.maintenance.fed, widths, codes, follows=rules is not None)
        self._derived = None if rules is None else Derivation(rules, self._arguments, self.source)
        given = Scratch(codes)
        inputs = bind_inputs(self._plan, self.question.args, self.question.snapshot, given)
        self._lists = {
            name: self._arguments.own(columns, given)
            for name, columns in inputs.relations.items()
            if name in self.question.relations
        }
        self._named = tuple(
            leaf
            for body in self._bodies()
            for leaf in everything(body)
            if isinstance(leaf, DatomAtom) and _names(leaf)
        )

        elements = self.question.query.find.elements
        aggregates = any(isinstance(each, ast.FindAggregate) for each in elements)
        self._groups = Groups(elements, keys_of(self.maintenance)) if aggregates else None

    # Feeds

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        """Its patterns, with their constants; and what constants and arguments that name entities depend on."""
        read = self._reads.sources.get(self.source, Reads())
        attributes = touched_attributes(at, read, self._lookups())
        if attributes is None:
            return [Interest(None)]
        found: dict[Interest, None] = {}
        patterns = Patterns(at, {}, self.engine.means.strict)
        for atom in self._atoms():
            for attribute, (entity, _, value, *_) in patterns.sides(atom):
                attributes.discard(attribute.id)
                found[
                    Interest(
                        attribute.id,
                        entity if isinstance(entity, int) else None,
                        value if isinstance(value, int) else None,
                    )
                ] = None
            if isinstance(atom.attribute, Const):
                declared = at.attribute(atom.attribute.value)
                if declared is not None and not any(each.attribute == declared.id for each in found):
                    # A constant that the database does not know yet.
                    found[Interest(declared.id)] = None
        names = [IDENT] if self._named or self.maintenance.constants or self._any_names() else []
        return [*found, *(Interest(each) for each in sorted(attributes.union(names)))]

    def add(self, feed: int, question: Question, at: Snapshot, cancel: Cancel) -> None:
        question = at_moment(question, at, cancel.check)
        given = Scratch(at.codes)
        inputs = bind_inputs(self._plan, question.args, at, given, cancel.check)
        self._feeds[feed] = _Feed(question, inputs, self._has_names(question))
        self._arguments.add(feed, inputs, given)
        if self._groups is not None:
            with self.engine.memory.lent(cancel):
                run = self._run(cancel)
                if self._derived is not None:
                    self._derived.go(Tick(at, at), self._databases(at), self._lists, run, self._constants(at, run))
                self._groups.begin(lambda keys: self._tuples(keys, at, run), run.values, cancel)

    def drop(self, feed: int) -> None:
        if self._feeds.pop(feed, None) is not None:
            self._arguments.drop(feed)
            if self._groups is not None:
                self._groups.drop(feed)

    def nbytes(self) -> int:
        groups = 0 if self._groups is None else self._groups.nbytes()
        groups += 0 if self._derived is None else self._derived.nbytes()
        return self._arguments.nbytes() + groups + _FEED_BYTES * len(self._feeds)

    # A step

    def step(self, tick: Tick, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        if not self._feeds or tick.old.key == tick.new.key:
            return {}
        with self.engine.memory.lent(cancel):
            if self._means_something_else(tick):
                changes = self._asked_again(self._feeds, tick, cancel)
                self._replan(tick.new, cancel)
                return changes
            self._arguments.learn()
            renamed = self._renamed(tick, cancel)
            try:
                changes = self._changes(tick, cancel)
            except AdalogError as error:
                if error.code in (Code.CANCELLED, Code.TIMEOUT):
                    raise
                self._forget()
                changes = self._asked_again([feed for feed in self._feeds if feed not in renamed], tick, cancel)
            return {**changes, **renamed} if renamed else changes

    def _changes(self, tick: Tick, cancel: Cancel) -> dict[int, Change | AdalogError]:
        run = self._run(cancel)
        heads = self._heads(tick, run)
        if not heads:
            return {}
        if self._groups is None:
            changes = self._shown(heads, run.values, tick)
        else:
            changes = self._groups_shown(self._groups, heads, run, tick)
        return self._counted(changes, tick, cancel)

    def _run(self, cancel: Cancel) -> Run:
        values = self._arguments.values.fork(cancel.budget.take)
        return Run(values, cancel, self.engine.means.strict, self.engine.means.threads)

    def _heads(self, tick: Tick, run: Run) -> Heads:
        """What entered and what left."""
        entered, left = (Collector(self.maintenance.head, True, False, None, None, run.cancel) for _ in range(2))
        moments = {self.source: Moments(tick.old, tick.new)}
        if self._derived is not None:
            databases = self._databases(tick.old)
            self._derived.go(tick, databases, self._lists, run, self._constants(tick.new, run))
        relations: Mapping[str, Held] | None = None
        fixed: dict[str, int] = {}
        for place, reaction in enumerate(self.maintenance.reactions):
            batch = self._changed(reaction.changed, tick, run.strict)
            if batch is None:
                continue
            if relations is None:
                relations = self._relations()
                self._check_plans(tick.new)
                fixed = self._constants(tick.new, run)
            batch = _with_constants(batch, fixed)
            if batch is None:
                continue
            plan = self._plan_of(place, tick.new, run.cancel)
            for name, column, variable in plan.probes:
                batch = batch.keep(self._arguments.asks_for(name, column, batch.columns[variable]))
            if not batch.size:
                continue
            binding = Binding(self._plan, self._still, relations, run, moments, derive=derived)
            join = binding.join_of(plan.join.body.items, plan.given, plan.join.levels, weighted=False)
            if join is not None:
                Driver(join, entered if reaction.enters else left, run.cancel, run.threads).run(batch)
        forget_scratch()
        return Heads(entered.rows(), left.rows())

    def _relations(self) -> Mapping[str, Held]:
        kept = {} if self._derived is None else self._derived.relations
        return {**self._lists, **kept, **self._arguments.relations()}

    def _changed(self, atom: Atom, tick: Tick, strict: bool) -> Batch | None:
        """The rows of an atom that came or went."""
        if isinstance(atom, DatomAtom):
            return changed_rows(atom, tick, strict)
        assert self._derived is not None
        return changed_facts(atom, self._derived.changed(atom))

    def _constants(self, at: Snapshot, run: Run) -> dict[str, int]:
        return constant_codes(self._plan, at, run.values)

    def _databases(self, at: Snapshot) -> dict[str, Snapshot]:
        return {**self._still, self.source: at}

    @property
    def _still(self) -> dict[str, Snapshot]:
        return {name: each for name, each in self.question.databases.items() if name != self.source}

    # Plans

    def _plan_of(self, place: int, at: Snapshot, cancel: Cancel) -> ReactionPlan:
        plan = self._plans.get(place)
        if plan is None:
            reaction = self.maintenance.reactions[place]
            plan = plan_reaction(
                self.maintenance, reaction, self._statistics(at, cancel), self.question.request.options
            )
            self._plans[place] = plan
        return plan

    def _statistics(self, at: Snapshot, cancel: Cancel) -> Statistics:
        kept = {} if self._derived is None else self._derived.sizes()
        sizes = {**sizes_of(self.question.query, self.question.args), **self._arguments.sizes(), **kept}
        return Statistics({**self.question.databases, self.source: at}, sizes, check=cancel.check)

    def _check_plans(self, at: Snapshot) -> None:
        """Forgets plans that were made for other sizes."""
        current = (at.statistics_epoch, len(self._feeds).bit_length())
        if self._planned_for != current:
            self._planned_for = current
            self._plans = {}
            self._group_plan = None

    def _replan(self, at: Snapshot, cancel: Cancel) -> None:
        """Plans for another schema, and gives the feeds' arguments their meaning there."""
        question = at_moment(self.question, at, cancel.check)
        maintenance = maintenance_at(question, self.source)
        assert isinstance(maintenance, Maintenance), "what the text says can be maintained under any schema"
        self.question, self.maintenance = question, maintenance
        self._plans = {}
        self._group_plan = None
        feeds, self._feeds = self._feeds, {}
        self.__post_init__()
        for number, feed in feeds.items():
            self.add(number, feed.question, at, cancel)
            self._feeds[number].rows = feed.rows

    # What means something else

    def _means_something_else(self, tick: Tick) -> bool:
        """Whether an attribute that is read, or what a constant names, is another at the second moment."""
        old, new = tick.old, tick.new
        if old.schema_key != new.schema_key:
            read = self._reads.sources.get(self.source, Reads())
            names = [*read.named, *self._lookups()]
            if read.whole or read.unique or any(old.attribute(name) != new.attribute(name) for name in names):
                return True
        if not (self._named or self.maintenance.constants) or not self._names_touched(tick):
            return False
        before, after = (Patterns(each, {}, False) for each in (old, new))
        if any(before.sides(atom) != after.sides(atom) for atom in self._named):
            return True
        values = Scratch(new.codes)
        return constant_codes(self._plan, old, values) != constant_codes(self._plan, new, values)

    def _names_touched(self, tick: Tick) -> bool:
        """Whether idents, or the unique attributes that lookup refs go by, were written."""
        named = (tick.new.attribute(name) for name in {*self._reads.sources.get(self.source, Reads()).named})
        unique = [each.id for each in named if each is not None and each.unique is not None]
        if self._any_names():
            unique += [each.id for each in tick.new.attributes() if each.unique is not None]
        return any(map(tick.touches, (IDENT, *unique)))

    def _renamed(self, tick: Tick, cancel: Cancel) -> dict[int, Change | AdalogError]:
        """The changes of feeds whose arguments name other entities than before."""
        if not self._any_names() or not self._names_touched(tick):
            return {}
        changes: dict[int, Change | AdalogError] = {}
        for number, feed in list(self._feeds.items()):
            if not feed.names:
                continue
            question = at_moment(feed.question, tick.new, cancel.check)
            given = Scratch(tick.new.codes)
            inputs = bind_inputs(self._plan, question.args, tick.new, given, cancel.check)
            if _same(inputs, feed.inputs, given):
                continue
            changes.update(self._asked_again([number], tick, cancel))
            self._forget()
            self._arguments.drop(number)
            self._arguments.add(number, inputs, given)
            feed.question, feed.inputs = question, inputs
        return changes

    def _asked_again(self, numbers: Iterable[int], tick: Tick, cancel: Cancel) -> dict[int, Change | AdalogError]:
        """The changes of some feeds by their answers at both moments."""
        changes: dict[int, Change | AdalogError] = {}
        for number in numbers:
            feed = self._feeds[number]
            try:
                before = asked_anew(feed.question, self.engine, tick.old, cancel)
                after = asked_anew(feed.question, self.engine, tick.new, cancel)
                change = changed(before, after, cancel.check)
            except AdalogError as error:
                if error.code is Code.CANCELLED:
                    raise
                changes[number] = error
                continue
            feed.rows = len(after)
            if change is not None:
                changes[number] = change
        return changes

    # Groups

    def _groups_shown(self, groups: Groups, heads: Heads, run: Run, tick: Tick) -> dict[int, Change | AdalogError]:
        """What the touched groups show instead, feed by feed."""
        touched = groups.touched(heads.entered, heads.left)
        moved = None
        if groups.can_follow(touched):

            def ask(keys: Batch) -> Batch:
                return self._tuples(keys, tick.old, run)

            moved = groups.moved(heads.entered, heads.left, ask, run.values, run.cancel)
        before, after = moved or (self._asked_groups(touched, at, run) for at in (tick.old, tick.new))
        has_feeds = self.maintenance.fed.has_feeds
        added: dict[int, list[Row]] = {}
        removed: dict[int, list[Row]] = {}
        for key in {**before, **after}:
            was, now = before.get(key), after.get(key)
            if was != now:
                feed = key[0] if has_feeds else 0
                if now is not None:
                    added.setdefault(feed, []).append(now)
                if was is not None:
                    removed.setdefault(feed, []).append(was)

        def result(rows: Sequence[Row]) -> Result:
            columns = zip(*rows, strict=True) if rows else [()] * len(self.question.query.find.elements)
            return self._result([np.array(column, np.int64) for column in columns], run.values, tick.new.t)

        changes: dict[int, Change | AdalogError] = {
            feed: Change(result(added.get(feed, ())), result(removed.get(feed, ())))
            for feed in dict.fromkeys((*added, *removed))
        }
        return changes if has_feeds or not changes else dict.fromkeys(self._feeds, changes[0])

    def _asked_groups(self, keys: Batch, at: Snapshot, run: Run) -> dict[Key, Row]:
        """What groups show at a moment, those that have tuples."""
        assert self._groups is not None
        rows = self._tuples(keys, at, run)
        plan = self._planned_groups(at, run.cancel)
        elements = plan.query.find.elements
        columns = aggregated(rows, elements, run.values, run.cancel)
        places = {each.var.name: i for i, each in enumerate(elements) if not isinstance(each, ast.FindAggregate)}
        shown = 1 if self.maintenance.fed.has_feeds else 0
        return {
            tuple(row[places[name]] for name in self._groups.keys): row[shown:]
            for row in zip(*(column.tolist() for column in columns), strict=True)
        }

    def _tuples(self, keys: Batch, at: Snapshot, run: Run) -> Batch:
        """The tuples of groups at a moment, with weights where a row stands for several."""
        plan = self._planned_groups(at, run.cancel)
        collector = collector_for(plan, None, run.cancel)
        start = _with_constants(keys, self._constants(at, run))
        if start is not None:
            if self._derived is not None:
                plan = replace(plan, body=self._derived.read_at(plan.body, at))
            join = Binding(plan, self._databases(at), self._relations(), run, derive=derived).join()
            if join is not None:
                Driver(join, collector, run.cancel, run.threads).run(start)
        return collector.rows()

    def _planned_groups(self, at: Snapshot, cancel: Cancel) -> Plan:
        plan = self._group_plan
        if plan is None:
            options = self.question.request.options
            plan = self._group_plan = plan_groups(self.maintenance, self._statistics(at, cancel), options)
        return plan

    def _forget(self) -> None:
        """Forgets what follows from step to step: one was not made."""
        if self._groups is not None:
            self._groups.forget()
        if self._derived is not None:
            self._derived.forget()

    # What is shown

    def _shown(self, heads: Heads, values: Scratch, tick: Tick) -> dict[int, Change | AdalogError]:
        """The heads as rows of the feeds they belong to."""
        names = [element.var.name for element in self.question.query.find.elements]

        def result(batch: Batch) -> Result:
            return self._result([batch.columns[name] for name in names], values, tick.new.t)

        if not self.maintenance.fed.has_feeds:
            change = Change(result(heads.entered), result(heads.left))
            return dict.fromkeys(self._feeds, change)
        parts = [_by_feed(each) for each in (heads.entered, heads.left)]
        nothing = heads.left.slice(0, 0)
        return {
            feed: Change(*(result(part.get(feed, nothing)) for part in parts))
            for feed in dict.fromkeys((*parts[0], *parts[1]))
        }

    def _result(self, codes: Sequence[Column], values: Scratch, t: int) -> Result:
        find = self.question.query.find
        columns = tuple(
            ResultColumn(element.label, type_of(column))
            for element, column in zip(find.elements, codes, strict=True)
        )
        shape = "maps" if find.keys else find.shape
        return Result(columns, codes, values, len(codes[0]), shape, find.keys, t, "LOCAL", 0.0)

    def _counted(
        self, changes: dict[int, Change | AdalogError], tick: Tick, cancel: Cancel
    ) -> dict[int, Change | AdalogError]:
        """The same, with the refusal of feeds that have too many rows by now."""
        most = self.question.request.max_rows
        if most is None:
            return changes
        for number, change in changes.items():
            feed = self._feeds[number]
            assert isinstance(change, Change)
            if feed.rows is not None:
                feed.rows += len(change.added) - len(change.removed)
            elif len(change.added) > len(change.removed):
                try:
                    feed.rows = len(self.engine.rows(at_moment(feed.question, tick.new, cancel.check), cancel))
                except AdalogError as error:
                    if error.code in (Code.CANCELLED, Code.TIMEOUT):
                        raise
                    changes[number] = error
                    continue
            if feed.rows is not None and feed.rows > most:
                changes[number] = AdalogError(
                    Code.LIMIT_EXCEEDED,
                    f"the query has more than {most:,} rows by now; narrow it, aggregate, or use :limit",
                )
        return changes

    # What it reads

    def _atoms(self) -> Iterable[DatomAtom]:
        """The patterns over the database that moves, and those that calls look up."""
        for leaf in (leaf for body in self._bodies() for leaf in everything(body)):
            if isinstance(leaf, DatomAtom) and leaf.source == self.source:
                yield leaf
            elif isinstance(leaf, Call) and database_of(leaf) == self.source:
                yield from looked_up(leaf)

    def _bodies(self) -> Iterable[AndNode]:
        """The query's body, and those of its rules."""
        yield self.maintenance.body
        if self.maintenance.rules is not None:
            for stratum in self.maintenance.rules.program.strata:
                yield from (branch.body for _, branch in stratum.rules)

    def _lookups(self) -> list[Keyword]:
        """The attributes of lookup refs among the arguments."""
        return [name for feed in self._feeds.values() if feed.names for name in lookups_of(feed.question)]

    def _any_names(self) -> bool:
        return bool(self.maintenance.entities) and any(feed.names for feed in self._feeds.values())

    def _has_names(self, question: Question) -> bool:
        return any(map(_may_name, values_of(question)))


def _may_name(value: Any) -> bool:
    """Whether a value, or one within it, may be an ident or a lookup ref."""
    if isinstance(value, Keyword):
        return True
    return isinstance(value, tuple | list) and any(map(_may_name, value))


def _names(atom: DatomAtom) -> bool:
    """Whether a constant of a pattern may name an entity."""
    constants = [term for term in (atom.entity, atom.value) if isinstance(term, Const | LookupRef)]
    return any(isinstance(term, LookupRef) or _may_name(term.value) for term in constants)


def _with_constants(batch: Batch, fixed: Mapping[str, int]) -> Batch | None:
    """The batch with columns for constants, without rows that say otherwise."""
    for name, code in fixed.items():
        column = batch.columns.get(name)
        if column is None:
            batch = batch.having(name, np.full(batch.size, code, np.int64))
        else:
            batch = batch.keep(column == code)
    return batch if batch.size else None


def _by_feed(batch: Batch) -> dict[int, Batch]:
    """The rows of each feed."""
    feeds = batch.columns[FEED]
    if not len(feeds):
        return {}
    if (feeds == feeds[0]).all():
        return {int(feeds[0]): batch}
    order = np.argsort(feeds, kind="stable")
    batch = batch.take(order)
    feeds = batch.columns[FEED]
    starts = np.flatnonzero(np.append(True, feeds[1:] != feeds[:-1])).tolist()
    stops = [*starts[1:], batch.size]
    return {int(feeds[start]): batch.slice(start, stop) for start, stop in zip(starts, stops, strict=True)}


def _same(one: Inputs, other: Inputs, given: Scratch) -> bool:
    """Whether two settlings of arguments have the same codes, as far as the database knows them."""
    if (one.start is None) != (other.start is None):
        return False
    pairs: list[tuple[Column, Column]] = []
    if one.start is not None and other.start is not None:
        pairs += [(column, other.start.columns[name]) for name, column in one.start.columns.items()]
    for name, columns in one.relations.items():
        pairs += zip(columns, other.relations[name], strict=True)
    return all(np.array_equal(a, b) and not (given.made_numbers(a) >= 0).any() for a, b in pairs)
