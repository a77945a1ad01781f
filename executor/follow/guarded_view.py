"""A view of what policies show: maintained with the guards among its clauses, as long as these stay the same.

All viewers whom the same policies are for share one: their claims are arguments of its feeds. Only the guards'
clauses are shared; whatever is pulled or evaluated anew for a feed is read from what its own viewer sees.

Where a transaction changes policies, or what the query is with its guards, the answers are asked for before and
after it, and a view is made for the new guards.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from adalog.datalog.ast import FindPull, Var
from adalog.datalog.errors import AdalogError, unavailable
from adalog.datalog.pull import PullPattern
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.reads import reads_of, touched_attributes
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView, may_name
from adalog.executor.follow.recomputed import changed, with_order
from adalog.executor.follow.undated import GuardedPulling, UndatedQuestion, values_given
from adalog.executor.follow.view import Change, Interest, LiveView
from adalog.executor.join.batch import Column
from adalog.executor.permissions.rewriting import rewritten, says_of_transactions
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.permissions.visibility import VisibleDatoms
from adalog.executor.question.question import Question
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap

_NOTHING: Final = np.empty(0, np.int64)


@dataclass(slots=True)
class AllowedByPolicy:
    """Follows the entities that a policy allows. `asked`: the question of a viewer by its number. `read`: the
    attributes that the policy reads at a moment, None: any. `by_viewer`: it reads claims, else one feed is all
    viewers'."""

    view: MaintainedView
    asked: Callable[[VisibleMoments, int, Snapshot], UndatedQuestion]
    read: Callable[[Snapshot], set[int] | None]
    by_viewer: bool
    changed: Mapping[int, Column] = field(default_factory=dict)
    _viewers: set[int] = field(default_factory=set)

    def add(self, visible: VisibleMoments, viewer: int, at: Snapshot, cancel: Cancel) -> None:
        if self.by_viewer or not self._viewers:
            self.view.add(self._feed(viewer), self.asked(visible, viewer, at), at, cancel)
        self._viewers.add(viewer)

    def drop(self, viewer: int) -> None:
        self._viewers.discard(viewer)
        if self.by_viewer or not self._viewers:
            self.view.drop(self._feed(viewer))

    def _feed(self, viewer: int) -> int:
        return viewer if self.by_viewer else 0

    def step(self, tick: Moments, cancel: Cancel) -> bool:
        """Whether it can be followed on: a guard that fails denies, and a view ends."""
        self.changed = {}
        read = self.read(tick.new)
        if read is not None and not any(map(tick.touches, read)) and tick.new.schema_touched <= tick.old.t:
            return True
        changes = self.view.step(tick, cancel)
        found: dict[int, Column] = {}
        for feed, change in changes.items():
            if isinstance(change, AdalogError):
                return False
            parts = [each.codes_of(0, 0, len(each)) for each in (change.added, change.removed)]
            found[feed] = np.concatenate(parts)
        self.changed = found
        return True

    def of(self, viewer: int) -> Column:
        return self.changed.get(self._feed(viewer), _NOTHING)


class AllowedChanges:
    """Follows what policies allow. `policies` None: that of some cannot be followed."""

    def __init__(self, policies: Sequence[AllowedByPolicy] | None) -> None:
        self.policies = policies
        self._found: dict[int, Column] = {}

    @property
    def views(self) -> Sequence[LiveView]:
        return [each.view for each in self.policies or ()]

    def step(self, tick: Moments, cancel: Cancel) -> None:
        """Finds the entities that some policy allows at one of the moments alone."""
        self._found = {}
        if self.policies is not None and not all(each.step(tick, cancel) for each in self.policies):
            self.policies = None

    def of(self, viewer: int) -> Column | None:
        """Those of a viewer; None: any may be one."""
        if self.policies is None:
            return None
        known = self._found.get(viewer)
        if known is None:
            found = [entities for each in self.policies if len(entities := each.of(viewer))]
            known = self._found[viewer] = distinct(np.concatenate(found)) if found else _NOTHING
        return known

    def read(self, at: Snapshot) -> set[int] | None:
        """The attributes that the policies read; None: any may be one."""
        found = [each.read(at) for each in self.policies or ()]
        return None if None in found else set[int]().union(*(each for each in found if each))

    def add(self, visible: VisibleMoments, viewer: int, at: Snapshot, cancel: Cancel) -> None:
        for each in self.policies or ():
            each.add(visible, viewer, at, cancel)

    def drop(self, viewer: int) -> None:
        for each in self.policies or ():
            each.drop(viewer)

    def forget(self) -> None:
        """Has the next step made as if there had been none since the view was at its first moment."""
        for each in self.policies or ():
            each.view.forget()


@dataclass(eq=False, slots=True)
class _Viewer:
    """Who sees the same by the same claims. It says which entities are to be pulled again after a step."""

    number: int
    _allowed: AllowedChanges
    feeds: set[int] = field(default_factory=set)
    _begun: bool = False

    @property
    def entities(self) -> Column | None:
        return self._allowed.of(self.number)

    def begin(self, visible: VisibleMoments, at: Snapshot, cancel: Cancel) -> None:
        if not self._begun:
            self._allowed.add(visible, self.number, at, cancel)
            self._begun = True

    def end(self) -> None:
        self._allowed.drop(self.number)


@dataclass(frozen=True, slots=True)
class Decided:
    """By what a view was made: the key of the policies, None: none are enforced; and the query with its guards, or
    the moment of its schema."""

    policies: str | None
    rest: object


ViewOfGuarded = Callable[[Question, VisibleMoments, Cancel], tuple[LiveView, AllowedChanges | None]]
"""Makes a view of a question, as its viewer sees it; if guards are among its clauses, with what follows these."""


@dataclass(slots=True)
class GuardedView:
    """`make`: chooses the view for the guards of a moment; `view`: the present one. `allowed`: set where it has
    guards among its clauses. `visible`, `decided`: of the question that it was made for. Its viewers differ in
    their claims alone."""

    engine: QueryEngine
    visible: VisibleMoments
    make: ViewOfGuarded
    view: LiveView
    allowed: AllowedChanges | None
    decided: Decided
    _unbroken: bool = True
    _feeds: dict[int, UndatedQuestion] = field(default_factory=dict)
    # The attributes that the questions read.
    _named: set[int] = field(default_factory=set)
    # What was decided of each text.
    _texts: dict[str, Decided] = field(default_factory=dict)
    # By the keys of their guards.
    _viewers: dict[str, _Viewer] = field(default_factory=dict)
    _viewing: dict[int, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def intact(self) -> bool:
        return self._unbroken and all(each.intact for each in self._views())

    @property
    def is_shared(self) -> bool:
        """Whether other viewers, and feeds with other arguments, may be followed by it."""
        return self.allowed is not None

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        own = [Interest(each, names=True) for each in (*bootstrap.POLICY_ATTRIBUTES, *bootstrap.SCHEMA_ATTRIBUTES)]
        followed = self.allowed is not None and self.allowed.policies is not None
        pulled = self.allowed.read(at) if self.allowed is not None and followed else self.visible.read(at)
        if pulled is None:
            return [Interest(None)]
        return list(dict.fromkeys([*own, *map(Interest, sorted(pulled)), *self.view.interests(at)]))

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        if not self._feeds and self._decided_by(question, at, cancel) != self.decided:
            # It was made for another moment.
            self._make_anew(question, at, cancel)
        self._feeds[feed] = question
        self._add(feed, question, at, cancel)

    def _make_anew(self, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        assert question.visible is not None
        self.decided = self._decided_by(question, at, cancel)
        self.visible, asked = question.visible, question.at(at, cancel.check)
        self.view, self.allowed = self.make(asked, self.visible, cancel)
        self._named, self._texts, self._viewers, self._viewing = set(), {}, {}, {}

    def _decided_by(self, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> Decided:
        assert question.visible is not None
        return decided_by(question.visible, followed_with_guards(question.at(at, cancel.check)), at)

    def _add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        if self.allowed is not None:
            visible = question.visible
            guard = None if visible is None else visible.guard(at)
            if visible is None or guard is None or guard.policies_key != self.decided.policies:
                raise unavailable("other policies hold by now; ask again", retryable=True)
            viewer = self._viewer_of(feed, guard.key, self.allowed)
            viewer.begin(visible, at, cancel)
            asked = question.at(at, cancel.check)
            made = followed_with_guards(asked, viewer.number)
            if made is None:
                raise unavailable("the query cannot be followed with others any more; ask again", retryable=True)
            self._texts.setdefault(question.request.query, decided_by(visible, made, at))
            for reads in reads_of(question.query).sources.values():
                self._named |= touched_attributes(at, reads) or set()
            question = replace(UndatedQuestion.of(made), pulling=GuardedPulling(question, viewer))
        self.view.add(feed, question, at, cancel)

    def _viewer_of(self, feed: int, key: str, allowed: AllowedChanges) -> _Viewer:
        viewer = self._viewers.get(key)
        if viewer is None:
            viewer = self._viewers[key] = _Viewer(next(self._numbers), allowed)
        viewer.feeds.add(feed)
        self._viewing[feed] = key
        return viewer

    def drop(self, feed: int) -> None:
        self._feeds.pop(feed, None)
        self.view.drop(feed)
        key = self._viewing.pop(feed, None)
        if key is not None:
            viewer = self._viewers[key]
            viewer.feeds.remove(feed)
            if not viewer.feeds:
                del self._viewers[key]
                viewer.end()

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        if not self._is_decided_anew(tick, cancel):
            if self.allowed is None:
                return self.view.step(tick, cancel)
            try:
                self.allowed.step(tick, cancel)
                return self.view.step(tick, cancel)
            except BaseException:
                # The step is made again, or the view.
                self.allowed.forget()
                raise
        self._unbroken = False
        changes: dict[int, Change | AdalogError] = {}
        for number, question in self._feeds.items():
            before = question.answer(self.engine, tick.old, cancel)
            after = question.answer(self.engine, tick.new, cancel)
            change = changed(before, after, cancel.check)
            if change is not None:
                changes[number] = with_order(change, before, after) if question.query.is_limited else change
        self._make_anew(next(iter(self._feeds.values())), tick.new, cancel)
        for number, each in self._feeds.items():
            self._add(number, each, tick.new, cancel)
        self._unbroken = True
        return changes

    def _is_decided_anew(self, tick: Moments, cancel: Cancel) -> bool:
        new, old = tick.new, tick.old
        if not self._feeds:
            return False
        first = any(says_of_transactions(new, each) and not says_of_transactions(old, each) for each in self._named)
        if not first and max(new.policies_touched, new.schema_touched) <= old.t:
            return False
        if self.allowed is None:
            return decided_by(self.visible, None, new) != self.decided
        each_text = {each.request.query: each for each in self._feeds.values()}
        return any(self._decided_by(each, new, cancel) != self._texts[text] for text, each in each_text.items())

    def _views(self) -> Sequence[LiveView]:
        return (self.view, *(() if self.allowed is None else self.allowed.views))

    def nbytes(self) -> int:
        return sum(each.nbytes() for each in self._views())

    def spare(self) -> int:
        return sum(each.spare() for each in self._views())

    def lighten(self) -> None:
        for each in self._views():
            each.lighten()


def decided_by(visible: VisibleMoments, followed: Question | None, at: Snapshot) -> Decided:
    """What a view of a question is made by. `followed`: the question with its guards; None: it is followed in
    another way."""
    view = visible.of(at)
    if not isinstance(view, GuardedSnapshot):
        return Decided(None, at.schema_touched)
    shown = view.visible
    assert isinstance(shown, VisibleDatoms)
    rest = at.schema_touched if followed is None else (followed.query, shown.hidden_idents.tobytes())
    return Decided(shown.guard.policies_key, rest)


def followed_with_guards(question: Question, viewer: int = 0) -> Question | None:
    """The question with guards among its clauses, where changes of it can be followed so; else None: patterns, and
    entities, that arguments name are to be found among what is visible."""
    if not isinstance(question.snapshot, GuardedSnapshot) or _looks_up(question):
        return None
    return rewritten(question, viewer)


def may_share(question: Question) -> bool:
    """Whether a question can be followed by a view that is there for the same rows."""
    if _looks_up(question):
        return False
    patterns = (each.pattern for each in question.query.find.elements if isinstance(each, FindPull))
    queries = any(isinstance(each, PullPattern) and any(each.all_queries()) for each in patterns)
    return not queries or followed_with_guards(question) is not None


def _looks_up(question: Question) -> bool:
    """Whether an argument is a pattern, or may name an entity, which is to be found among what is visible."""
    patterns = (each.pattern for each in question.query.find.elements if isinstance(each, FindPull))
    return any(isinstance(each, Var) for each in patterns) or any(map(may_name, values_given(question)))
