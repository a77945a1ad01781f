"""A view that follows what changed: a step joins the rows that came and went with the rest, and costs what these
come to. It keeps no rows, only the arguments of its feeds, which are relations of the join (`planner.maintenance`),
the numbers of groups that were touched, and what recursive rules derive.

Exact, and where the plan does not apply it asks again at both moments and compares: for all feeds if an attribute
that is read, or a constant that names an entity, means something else by then; for a feed whose own arguments do;
and feed by feed where the join is refused, so that an error is that of the feed that has it.

A limit on rows: a feed's rows are counted when something first enters it after it was added, which is one
evaluation of its question, and the count is kept from then on. A feed to which nothing happens costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.ast import Const, LookupRef
from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.cache.reads import Reads, lookups_in, reads_of, touched_attributes
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.extenders.patterns import Patterns
from adalog.executor.follow.answer_groups import AnswerGroups
from adalog.executor.follow.reaction_joins import ReactionJoins
from adalog.executor.follow.recomputed import PASSING, changed
from adalog.executor.follow.result_changes import ResultChanges
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, Interest
from adalog.executor.join.batch import Column
from adalog.executor.question.inputs import Inputs, sizes_of
from adalog.executor.question.question import Question
from adalog.planner.delta.bodies import looked_up
from adalog.planner.maintenance import Maintenance, NotMaintainable, keys_of, maintenance_of
from adalog.planner.model.logical import DatomAtom, everything
from adalog.planner.model.lookups import Call
from adalog.planner.model.places import PlaceKind
from adalog.planner.order.statistics import Statistics
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.codes import Scratch

# Of a view, and of each leaf of its joins.
_VIEW_BYTES: Final = 10_000
_LEAF_BYTES: Final = 600
# Of a feed, besides its arguments.
_FEED_BYTES: Final = 1_000
# Refusals that are no matter of one feed. What is refused because others use the memory is to be asked again.
_OF_ALL: Final = (Code.CANCELLED, Code.TIMEOUT, Code.RATE_LIMITED)

Outcomes = dict[int, Change | AdalogError]


def moving_source(question: Question) -> str:
    """The name of the source that the database followed is."""
    first = question.query.inputs[0]
    assert isinstance(first, ast.SourceInput)
    return first.name


def maintenance_at(question: Question, source: str) -> Maintenance | NotMaintainable:
    """How the answer is kept up to date under the schema that its databases have, or why it is not."""
    statistics = Statistics(question.databases, sizes_of(question.query, question.args))
    return maintenance_of(question.query, statistics, question.relations, question.request.options, source)


@dataclass(slots=True)
class _Feed:
    """`rows`: of its answer, once they were counted."""

    question: UndatedQuestion
    inputs: Inputs
    rows: int | None = None


class MaintainedView:
    """`source`: the database that moves."""

    def __init__(self, question: Question, engine: QueryEngine, maintenance: Maintenance, source: str) -> None:
        self.maintenance = maintenance
        self.intact = True
        self._question = UndatedQuestion.of(question)
        self._engine = engine
        self._source = source
        self._read = reads_of(question.query).sources.get(source, Reads())
        self._feeds: dict[int, _Feed] = {}
        # The feeds of which some argument may be an ident or a lookup ref.
        self._naming: dict[int, _Feed] = {}
        self._plan(question, maintenance)

    def _plan(self, question: Question, maintenance: Maintenance) -> None:
        self.maintenance = maintenance
        self._weight = maintenance.weight
        self._reactions = ReactionJoins(question, self._engine, maintenance, self._source)
        self._named = [leaf for leaf in self._leaves() if isinstance(leaf, DatomAtom) and _names(leaf)]
        # What a value means beside an attribute that is an argument, that attribute says.
        chosen = (
            place.kind is PlaceKind.ATTRIBUTE for each in maintenance.places.variables.values() for place in each
        )
        self._takes_names = bool(maintenance.entities) or any(chosen)
        find = question.query.find
        self._groups = AnswerGroups(find.columns, keys_of(maintenance)) if find.has_aggregates else None

    # Feeds

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        """Its patterns, with their constants and few arguments; and what constants and arguments that name entities
        depend on."""
        attributes = touched_attributes(at, self._read, self._lookups())
        if attributes is None:
            return [Interest(None)]
        found: dict[Interest, None] = {}
        patterns = Patterns(at, {}, self._engine.means.strict)
        awaited, of_body = self._reactions.awaited(), everything(self.maintenance.body)
        atoms = [(atom, awaited) for atom in self._atoms(of_body)]
        # Rules have variables of their own.
        atoms += [(atom, {}) for atom in self._atoms(self._leaves_of_rules())]
        for atom, codes in atoms:
            sides = patterns.sides(atom)
            for attribute, (entity, _, value, *_) in sides:
                attributes.discard(attribute.id)
                found.update(dict.fromkeys(_interests(attribute.id, entity, value, codes)))
            if not sides and isinstance(atom.attribute, Const):
                declared = at.attribute(atom.attribute.value)
                if declared is not None:
                    # A constant that the database does not know yet.
                    attributes.add(declared.id)
        if self._named or self.maintenance.constants or self._asking():
            attributes.add(IDENT)
        # Also where a pattern reads the same attribute of one entity alone.
        looked_up_by = {each.id for name in self._lookups() if (each := at.attribute(name)) is not None}
        if self._feeds:
            attributes -= looked_up_by
            found.update((Interest(each, names=True), None) for each in sorted(looked_up_by))
        else:
            attributes |= looked_up_by
        if self._read.unique:
            attributes |= {each.id for each in at.attributes() if each.kind.unique is not None}
        written = [term for atom in self._named for term in (atom.entity, atom.value)]
        written += self.maintenance.constants.values()
        for name in dict.fromkeys(name for term in written for name in _lookups_of(term)):
            declared = at.attribute(name)
            if declared is not None:
                attributes.discard(declared.id)
                found[Interest(declared.id, names=True)] = None
        return [*found, *map(Interest, sorted(attributes))]

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        self._add(feed, _Feed(question, Inputs()), at, cancel)
        if self._groups is not None:
            with self._engine.memory.lent(cancel):
                run = self._reactions.run(cancel)
                self._reactions.begin(at, run)
                self._groups.begin(lambda keys: self._reactions.tuples_now(keys, at, run), run.values, cancel)
                self._reactions.rest()

    def _add(self, number: int, feed: _Feed, at: Snapshot, cancel: Cancel) -> None:
        feed.inputs, given = self._reactions.settled(feed.question.at(at, cancel.check), cancel.check)
        self._feeds[number] = feed
        if self._may_name(feed.question):
            self._naming[number] = feed
        self._reactions.add(number, feed.inputs, given)

    def drop(self, feed: int) -> None:
        self._naming.pop(feed, None)
        if self._feeds.pop(feed, None) is not None:
            self._reactions.drop(feed)
            if self._groups is not None:
                self._groups.drop(feed)

    def nbytes(self) -> int:
        groups = 0 if self._groups is None else self._groups.nbytes()
        own = _VIEW_BYTES + _LEAF_BYTES * self._weight
        return own + self._reactions.nbytes() + groups + _FEED_BYTES * len(self._feeds)

    def spare(self) -> int:
        return self._reactions.spare()

    def lighten(self) -> None:
        self._reactions.lighten()

    # A step

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        if tick.old.key == tick.new.key:
            return {}
        # The changes of a step that is given up are those of the next one, where nothing was made of them yet.
        self.intact = False
        with self._engine.memory.lent(cancel):
            # Without feeds too: those that come next are added to a plan for the moment where they come.
            if self._means_something_else(tick):
                changes = self._recomputed(self._feeds, tick, cancel)
                changes = {**changes, **self._replan(tick.new, cancel)}
            elif not self._feeds:
                changes = {}
            else:
                renamed = self._rename(tick, cancel)
                changes = self._unless_refused(tick, renamed, cancel)
                changes |= {number: change for number, change in renamed.items() if change is not None}
        self.intact = True
        return changes

    def _unless_refused(self, tick: Moments, renamed: Collection[int], cancel: Cancel) -> Outcomes:
        """The changes of all feeds but the renamed ones, of each by its answers where following them is refused."""
        try:
            return self._changes(tick, cancel, renamed)
        except AdalogError as error:
            self.forget()
            if error.code in _OF_ALL:
                self.intact = not renamed
                raise
            return self._recomputed([number for number in self._feeds if number not in renamed], tick, cancel)
        except StartAgain:
            self.forget()
            self.intact = not renamed
            raise

    def _changes(self, tick: Moments, cancel: Cancel, but: Container[int]) -> Outcomes:
        """The changes of all feeds but those whose changes are known."""
        try:
            found = self._found(tick, cancel)
        finally:
            self._reactions.rest()
        return self._bounded({feed: change for feed, change in found.items() if feed not in but}, tick, cancel)

    def _found(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change]:
        run = self._reactions.run(cancel)
        small = self._reactions.small_changes(tick, run)
        heads = None if small is not None else self._reactions.heads(tick, run)
        if not (small or heads):
            return {}
        showing = ResultChanges(self._question.query, run.values, tick.new.t, cancel)
        if heads is None:
            return {feed: showing.rows(*rows) for feed, rows in (small or {}).items()}
        has_feeds = self.maintenance.fed.has_feeds
        if self._groups is None:
            found = showing.heads(heads.entered, heads.left)
        else:
            tuples = partial(self._reactions.tuples, tick, run)
            before, after = self._groups.step(heads.entered, heads.left, tuples, run.values, cancel)
            found = showing.groups(before, after, feeds=has_feeds)
        if not has_feeds:
            found = {feed: change for change in found.values() for feed in self._feeds}
        return found

    def _bounded(self, found: Mapping[int, Change], tick: Moments, cancel: Cancel) -> Outcomes:
        """The changes, or the refusal of feeds that have too many rows by now."""
        changes: Outcomes = {**found}
        counted: dict[int, int] = {}
        most = self._question.request.max_rows
        for number, change in found.items() if most is not None else ():
            feed = self._feeds[number]
            try:
                if feed.rows is not None:
                    counted[number] = feed.rows + len(change.added) - len(change.removed)
                elif len(change.added) > len(change.removed):
                    counted[number] = len(self._engine.rows(feed.question.at(tick.new, cancel.check), cancel))
                if most is not None and counted.get(number, 0) > most:
                    changes[number] = limit_exceeded(
                        f"the query has more than {most:,} rows by now; narrow it, aggregate, or use :limit"
                    )
            except AdalogError as error:
                if error.code in _OF_ALL:
                    raise
                changes[number] = error
        for number, rows in counted.items():
            self._feeds[number].rows = rows
        return changes

    def _recomputed(self, numbers: Iterable[int], tick: Moments, cancel: Cancel) -> Outcomes:
        """The changes of some feeds by their answers at both moments."""
        changes: Outcomes = {}
        for number in numbers:
            feed = self._feeds[number]
            try:
                before, after = (
                    self._engine.rows(feed.question.at(at, cancel.check), cancel) for at in (tick.old, tick.new)
                )
                change = changed(before, after, cancel.check)
            except AdalogError as error:
                if error.code in PASSING:
                    raise
                changes[number] = error
                continue
            feed.rows = len(after)
            if change is not None:
                changes[number] = change
        return changes

    def forget(self) -> None:
        """Forgets what follows from step to step: one was not made, or is made again."""
        if self._groups is not None:
            self._groups.forget()
        self._reactions.forget()

    # What means something else

    def _means_something_else(self, tick: Moments) -> bool:
        """Whether an attribute that is read, or what a constant names, is another at the second moment."""
        old, new = tick.old, tick.new
        if old.schema.key != new.schema.key:
            names = [*self._read.named, *self._lookups()]
            if self._read.whole or any(old.attribute(name) != new.attribute(name) for name in names):
                return True
        if not (self._named or self.maintenance.constants) or not self._names_touched(tick):
            return False
        before, after = (Patterns(each, {}, False) for each in (old, new))
        if any(before.sides(atom) != after.sides(atom) for atom in self._named):
            return True
        values = Scratch(new.codes)
        return self._reactions.constants(old, values) != self._reactions.constants(new, values)

    def _replan(self, at: Snapshot, cancel: Cancel) -> dict[int, AdalogError]:
        """Plans for another schema, and gives the feeds' arguments their meaning there; the refusals of those that
        have none."""
        question = self._question.unbound_at(at, cancel.check)
        maintenance = maintenance_at(question, self._source)
        assert isinstance(maintenance, Maintenance), "what the text says can be maintained under any schema"
        self._plan(question, maintenance)
        feeds, self._feeds, self._naming = self._feeds, {}, {}
        refused: dict[int, AdalogError] = {}
        for number, feed in feeds.items():
            try:
                self._add(number, feed, at, cancel)
            except AdalogError as error:
                if error.code in _OF_ALL:
                    raise
                refused[number] = error
        return refused

    def _names_touched(self, tick: Moments) -> bool:
        """Whether idents, or the unique attributes that lookup refs go by, were written."""
        named = (tick.new.attribute(name) for name in self._read.named)
        unique = [each.id for each in named if each is not None and each.kind.unique is not None]
        if self._naming:
            unique += [each.id for each in tick.new.attributes() if each.kind.unique is not None]
        return any(map(tick.touches, (IDENT, *unique)))

    def _rename(self, tick: Moments, cancel: Cancel) -> dict[int, Change | AdalogError | None]:
        """The changes, if any, of feeds whose arguments name other entities than before, and from now on these."""
        if not self._naming or not self._names_touched(tick):
            return {}
        changes: dict[int, Change | AdalogError | None] = {}
        for number, feed in self._naming.items():
            inputs, given = self._reactions.settled(feed.question.at(tick.new, cancel.check), cancel.check)
            if not _same(inputs, feed.inputs, given):
                changes[number] = self._recomputed([number], tick, cancel).get(number)
                self._reactions.drop(number)
                self._reactions.add(number, inputs, given)
                feed.inputs = inputs
                self.forget()
        return changes

    # What it reads

    def _leaves(self) -> Iterable[object]:
        return (*everything(self.maintenance.body), *self._leaves_of_rules())

    def _leaves_of_rules(self) -> Iterable[object]:
        rules = self.maintenance.rules
        strata = () if rules is None else rules.program.strata
        bodies = (branch.body for stratum in strata for _, branch in stratum.rules)
        return (leaf for body in bodies for leaf in everything(body))

    def _atoms(self, leaves: Iterable[object]) -> Iterable[DatomAtom]:
        """The patterns over the database that moves, and those that calls look up."""
        for leaf in leaves:
            if isinstance(leaf, DatomAtom) and leaf.source == self._source:
                yield leaf
            elif isinstance(leaf, Call) and self._source in leaf.reads:
                yield from looked_up(leaf)

    def _lookups(self) -> list[Keyword]:
        return [name for question in self._asking() for name in question.lookups()]

    def _asking(self) -> list[UndatedQuestion]:
        """The questions of which some argument may be an ident or a lookup ref; before there is a feed, the
        one that the view was made for."""
        if self._feeds:
            return [feed.question for feed in self._naming.values()]
        return [self._question] if self._may_name(self._question) else []

    def _may_name(self, question: UndatedQuestion) -> bool:
        return self._takes_names and any(map(may_name, question.values()))


def may_name(value: Any) -> bool:
    """Whether a value, or one within it, may be an ident or a lookup ref."""
    if isinstance(value, Keyword):
        return True
    return isinstance(value, tuple | list) and any(map(may_name, value))


def _interests(
    attribute: int,
    entity: str | int | None,
    value: str | int | None,
    awaited: Mapping[str, Sequence[int] | None],
) -> Iterable[Interest]:
    """The interests of a pattern by its places: a variable, the code of a constant, or None. `awaited`: the codes
    of variables, None: not known yet."""
    e, v = _constant(entity), _constant(value)
    if isinstance(entity, str) and (codes := awaited.get(entity)) is not None:
        return [Interest(attribute, code, v) for code in codes]
    if isinstance(value, str) and (codes := awaited.get(value)) is not None:
        return [Interest(attribute, e, code) for code in codes]
    learns = e is None and v is None and not awaited.keys().isdisjoint((entity, value))
    return [Interest(attribute, e, v, learns=learns)]


def _constant(term: str | int | None) -> int | None:
    """The code of a place of a pattern, where it is a constant's."""
    return term if isinstance(term, int) else None


def _lookups_of(term: object) -> Iterator[Keyword]:
    if isinstance(term, LookupRef):
        yield term.attribute.value
        yield from _lookups_of(term.value)
    elif isinstance(term, Const):
        yield from lookups_in(term.value)


def _names(atom: DatomAtom) -> bool:
    """Whether a constant of a pattern may name an entity."""
    constants = [term for term in (atom.entity, atom.value) if isinstance(term, Const | LookupRef)]
    return any(isinstance(term, LookupRef) or may_name(term.value) for term in constants)


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
