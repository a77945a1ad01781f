"""A view of what policies show: maintained with the guards among its clauses, as long as these stay the same.

Where a transaction changes policies or the schema, the answer is asked for before and after it, and a view is made
for the new guards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adalog.datalog.ast import FindPull, Var
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import may_name
from adalog.executor.follow.recomputed import changed, with_order
from adalog.executor.follow.undated import UndatedQuestion, values_given
from adalog.executor.follow.view import Change, Interest, LiveView
from adalog.executor.permissions.rewriting import rewritten
from adalog.executor.permissions.viewers import DECIDING, VisibleMoments
from adalog.executor.question.question import Question
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap

ViewOfGuarded = Callable[[Question, VisibleMoments], tuple[LiveView, bool]]
"""Makes a view of a question, as its viewer sees it; whether guards are among its clauses."""


@dataclass(slots=True)
class GuardedView:
    """`make`: chooses the view for the guards of a moment; `view`: the present one, and whether it `is_rewritten`;
    `decided`: by what policies and schema it was made."""

    engine: QueryEngine
    visible: VisibleMoments
    make: ViewOfGuarded
    view: LiveView
    is_rewritten: bool
    decided: Hashable
    _unbroken: bool = True
    _feeds: dict[int, UndatedQuestion] = field(default_factory=dict)

    @property
    def intact(self) -> bool:
        return self._unbroken and self.view.intact

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        own = [Interest(each, names=True) for each in (*DECIDING, *bootstrap.SCHEMA_ATTRIBUTES)]
        # Of entities that are pulled.
        read = self.visible.read(at)
        if read is None:
            return [Interest(None)]
        return list(dict.fromkeys([*own, *map(Interest, sorted(read)), *self.view.interests(at)]))

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        self._add(feed, question, at, cancel)
        self._feeds[feed] = question

    def _add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        if self.is_rewritten:
            made = rewritten(question.at(at, cancel.check))
            assert made is not None, "the view was made so"
            question = replace(UndatedQuestion.of(made), pulling=question)
        self.view.add(feed, question, at, cancel)

    def drop(self, feed: int) -> None:
        self._feeds.pop(feed, None)
        self.view.drop(feed)

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        decided = decided_by(self.visible, tick.new)
        if decided == self.decided:
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
        self.view, self.is_rewritten = self.make(question.at(tick.new, cancel.check), self.visible)
        for number, each in self._feeds.items():
            self._add(number, each, tick.new, cancel)
        self.decided = decided
        self._unbroken = True
        return changes

    def nbytes(self) -> int:
        return self.view.nbytes()

    def spare(self) -> int:
        return self.view.spare()

    def lighten(self) -> None:
        self.view.lighten()


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
