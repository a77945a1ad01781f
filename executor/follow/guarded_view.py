"""A view of what policies show: maintained with the guards among its clauses, as long as these stay the same.

Where a transaction changes policies or the schema, the answer is asked for before and after it, and a view is made
for the new guards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from adalog.datalog.ast import FindPull, Var
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import may_name
from adalog.executor.follow.recomputed import changed, with_order
from adalog.executor.follow.undated import GuardedPulling, UndatedQuestion, values_given
from adalog.executor.follow.view import Change, Interest, LiveView
from adalog.executor.join.batch import Column
from adalog.executor.permissions.rewriting import rewritten
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.question.question import Question
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap

GUARD_FEED: Final = 1


class AllowedChanges:
    """Follows what policies allow, by a view for each of them; `views` None: that of some cannot be followed."""

    def __init__(self, views: Sequence[LiveView] | None) -> None:
        self.views = views
        self.entities: Column | None = None

    def step(self, tick: Moments, cancel: Cancel) -> None:
        """Finds the entities that some policy allows at one of the moments alone."""
        self.entities = None
        if self.views is None:
            return
        found = [np.empty(0, np.int64)]
        for view in self.views:
            change = view.step(tick, cancel).get(GUARD_FEED)
            if isinstance(change, AdalogError):
                # A guard that fails denies, and a view ends.
                self.views = None
                return
            if change is not None:
                found += [each.codes_of(0, 0, len(each)) for each in (change.added, change.removed)]
        self.entities = distinct(np.concatenate(found))


ViewOfGuarded = Callable[[Question, VisibleMoments, Cancel], tuple[LiveView, AllowedChanges | None]]
"""Makes a view of a question, as its viewer sees it; if guards are among its clauses, with what follows these."""


@dataclass(slots=True)
class GuardedView:
    """`make`: chooses the view for the guards of a moment; `view`: the present one. `allowed`: set where it has
    guards among its clauses. `decided`: by what policies and schema it was made."""

    engine: QueryEngine
    visible: VisibleMoments
    make: ViewOfGuarded
    view: LiveView
    allowed: AllowedChanges | None
    decided: Hashable
    _unbroken: bool = True
    _feeds: dict[int, UndatedQuestion] = field(default_factory=dict)

    @property
    def intact(self) -> bool:
        return self._unbroken and all(each.intact for each in self._views())

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        own = [Interest(each, names=True) for each in (*bootstrap.POLICY_ATTRIBUTES, *bootstrap.SCHEMA_ATTRIBUTES)]
        # Of entities that are pulled.
        read = self.visible.read(at)
        if read is None:
            return [Interest(None)]
        return list(dict.fromkeys([*own, *map(Interest, sorted(read)), *self.view.interests(at)]))

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        self._add(feed, question, at, cancel)
        self._feeds[feed] = question

    def _add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        if self.allowed is not None:
            made = rewritten(question.at(at, cancel.check))
            assert made is not None, "the view was made so"
            question = replace(UndatedQuestion.of(made), pulling=GuardedPulling(question, self.allowed))
        self.view.add(feed, question, at, cancel)

    def drop(self, feed: int) -> None:
        self._feeds.pop(feed, None)
        self.view.drop(feed)

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        decided = decided_by(self.visible, tick.new)
        if decided == self.decided:
            if self.allowed is not None:
                self.allowed.step(tick, cancel)
            return self.view.step(tick, cancel)
        self._unbroken = False
        changes: dict[int, Change | AdalogError] = {}
        for number, question in self._feeds.items():
            before = question.answer(self.engine, tick.old, cancel)
            after = question.answer(self.engine, tick.new, cancel)
            change = changed(before, after, cancel.check)
            if change is not None:
                changes[number] = with_order(change, before, after) if question.query.is_limited else change
        question = next(iter(self._feeds.values()))
        self.view, self.allowed = self.make(question.at(tick.new, cancel.check), self.visible, cancel)
        for number, each in self._feeds.items():
            self._add(number, each, tick.new, cancel)
        self.decided = decided
        self._unbroken = True
        return changes

    def _views(self) -> Sequence[LiveView]:
        guards = None if self.allowed is None else self.allowed.views
        return (self.view, *(guards or ()))

    def nbytes(self) -> int:
        return sum(each.nbytes() for each in self._views())

    def spare(self) -> int:
        return sum(each.spare() for each in self._views())

    def lighten(self) -> None:
        for each in self._views():
            each.lighten()


def decided_by(visible: VisibleMoments, at: Snapshot) -> Hashable:
    """What the guards among a question's clauses depend on: the policies of its viewer, and the schema."""
    guard = visible.guard(at)
    return (None if guard is None else guard.key, at.schema_touched)


def followed_with_guards(question: Question) -> Question | None:
    """The question with guards among its clauses, where changes of it can be followed so; else None: queries in
    pull patterns, and entities that arguments name, are to be found among what is visible."""
    for each in question.query.find.elements:
        if isinstance(each, FindPull) and (isinstance(each.pattern, Var) or any(each.pattern.all_queries())):
            return None
    if any(map(may_name, values_given(question))):
        return None
    return rewritten(question)
