"""A question at another moment: its arguments settled again, since idents, lookup refs and bases among them may
mean something else by then. The question for its rows, and the keys of
arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.datalog import ast
from adalog.datalog.values import EdnSet, Keyword, identity
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.reads import lookups_in
from adalog.executor.engine import QueryEngine
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.question.arguments import UNBOUND, BasisArgument, GivenArgument, Matched, matched, settled
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.planner.scope.outline import Outline
from adalog.planner.windows import outline_of_rows
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.scalars import keyword


@dataclass(frozen=True, slots=True)
class UndatedQuestion:
    """A question without the moment at which it was asked: what is kept of it, so that no snapshot outlives its
    readers, and what it means is found at the moment for which that is asked. `visible`: what its viewer sees of
    each moment; None: everything. `pulling`: how pulls are made, where guards are among its clauses."""

    request: QueryRequest
    rules: str | None
    outline: Outline
    arguments_cost: float
    visible: VisibleMoments | None = None
    pulling: GuardedPulling | None = None

    @staticmethod
    def of(question: Question, visible: VisibleMoments | None = None) -> UndatedQuestion:
        assert visible is not None or not isinstance(question.snapshot, GuardedSnapshot), "its viewer is known"
        request = replace(question.request, snapshot=None)
        return UndatedQuestion(request, question.rules, question.outline, question.arguments_cost, visible)

    def decided_at(self, now: Snapshot) -> UndatedQuestion:
        """The same with the policies and facts of a raw snapshot to decide what is visible."""
        return self if self.visible is None else replace(self, visible=self.visible.decided_at(now))

    def seen(self, moment: Snapshot) -> Snapshot:
        """What `$` is at a moment of the database."""
        return moment if self.visible is None else self.visible.of(moment)

    @property
    def query(self) -> ast.Query:
        return self.outline.query

    def at(self, snapshot: Snapshot, check: Callable[[], None]) -> Question:
        """The question as if it had been asked when this snapshot was the newest. A database that was given as such
        stays. Raises ARG_INVALID where an argument no longer names what it has to."""
        return self._settled(self.matched(), snapshot, check)

    def unbound_at(self, snapshot: Snapshot, check: Callable[[], None]) -> Question:
        """The same for a plan of all feeds of a view: the variables of `:in` have no values that could be wrong."""
        pairs = [(each, UNBOUND if isinstance(each, ast.BindingInput) else value) for each, value in self.matched()]
        return self._settled(pairs, snapshot, check)

    def _settled(self, pairs: Matched, snapshot: Snapshot, check: Callable[[], None]) -> Question:
        snapshot = self.seen(snapshot)
        made = settled(self.outline, pairs, snapshot, check)
        own, given = (self.request, self.rules, self.outline), (made.args, made.databases)
        started = time.perf_counter()
        return Question(*own, *given, snapshot, made.suspected, started, None, self.arguments_cost)

    def answer(self, engine: QueryEngine, at: Snapshot, cancel: Cancel) -> Result:
        return engine.run(self.at(at, cancel.check), cancel)

    def matched(self) -> Matched:
        return matched(self.query, (*self.request.args, *self.query.args))

    def values(self) -> list[Any]:
        """The values that were given for the variables of `:in`: collections of any kind as tuples, JSON text that
        may name something as a keyword."""
        return _values(self.matched())

    def names_moments(self) -> bool:
        """Whether a source of it is a moment, which may be reached or not when the question is asked."""
        return any(isinstance(value, BasisArgument) for _, value in self.matched())

    def reads_others(self) -> bool:
        """Whether a source of it is another moment, or another database that was given as such."""
        return any(isinstance(value, BasisArgument | Snapshot) for _, value in self.matched())

    def lookups(self) -> list[Keyword]:
        return [name for value in self.values() for name in lookups_in(value)]


@dataclass(frozen=True, slots=True)
class GuardedPulling:
    """`question`: as its viewer sees it, for which pulls are made. `moves`: what guards decide otherwise."""

    question: UndatedQuestion
    moves: GuardMoves


class GuardMoves(Protocol):
    @property
    def entities(self) -> NDArray[np.int64] | None:
        """Those of which something else is visible after the present step by what guards read; None: any may be
        one."""


def question_of_rows(question: Question) -> Question:
    """The question for the rows that one shows, whatever it pulls of them; the same one where its rows cannot be
    told from what it shows."""
    rows = outline_of_rows(question.outline)
    if rows is question.outline:
        return question
    pairs = UndatedQuestion.of(question).matched()[1:]
    kept = [place for place, (each, _) in enumerate(pairs) if each in rows.query.inputs]
    given, args = [pairs[place][1] for place in kept], tuple(question.args[place] for place in kept)
    # Plans are kept by the text, which a comment tells apart.
    request = replace(question.request, query=f"{question.text} ;rows", args=given)
    return replace(question, request=request, outline=rows, args=args)


def values_given(question: Question) -> list[Any]:
    """The values that were given for the variables of `:in`, as of an `UndatedQuestion`."""
    return _values(matched(question.query, (*question.request.args, *question.query.args)))


def _values(pairs: Matched) -> list[Any]:
    found = []
    for each, value in pairs:
        if isinstance(each, ast.BindingInput):
            value = value.value if isinstance(value, BasisArgument) else value
            given = value if isinstance(value, GivenArgument) else GivenArgument(value)
            found.append(_with_names(given.value, json=given.json))
    return found


def _with_names(value: Any, *, json: bool) -> Any:
    """A value with collections as tuples, and where it came as JSON the keywords that its text may stand for."""
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, tuple | list | Set):
        return tuple(_with_names(each, json=json) for each in value)
    return keyword(value) or value if json and type(value) is str else value


def argument_key(value: Any) -> Hashable:
    """What tells an argument from others, as it was given."""
    if isinstance(value, GivenArgument | BasisArgument):
        return value.key
    if isinstance(value, Snapshot):
        return value.key
    try:
        return identity(_plain(value))
    except TypeError:
        return ("object", id(value))  # running the query refuses it


def _plain(value: Any) -> Any:
    """Python's lists and sets as those of the language."""
    kind = type(value)
    if kind in (list, tuple):
        return tuple(map(_plain, value))
    return EdnSet(map(_plain, value)) if kind in (set, frozenset) else value
