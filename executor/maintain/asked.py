"""A question at another moment: its arguments settled again, since idents, lookup refs and bases among them may
mean something else by then. And the keys of questions that can share a view."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

from datalog import ast
from datalog.values import Keyword, identity
from executor.answer.result import Result
from executor.bounds.cancel import Cancel
from executor.cache.reads import lookups_in
from executor.engine import Engine
from executor.question.arguments import Given, Matched, Moment, matched, settled
from executor.question.question import Question
from executor.question.request import Request
from planner.outline import Outline
from store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Following:
    """A question without the moment at which it was asked: what is kept of it, so that no snapshot outlives its
    readers."""

    request: Request
    rules: str | None
    outline: Outline
    arguments_cost: float

    @staticmethod
    def of(question: Question) -> Following:
        """What is kept of a question."""
        return Following(
            replace(question.request, snapshot=None), question.rules, question.outline, question.arguments_cost
        )

    @property
    def query(self) -> ast.Query:
        """With the rules given for `%`."""
        return self.outline.query

    def at(self, snapshot: Snapshot, check: Callable[[], None]) -> Question:
        """The question as if it had been asked when `$` was this snapshot. A database that was given as such stays.

        Raises ARG_INVALID where an argument no longer names what it has to.
        """
        made = settled(self.outline, self.matched(), snapshot, check)
        started = time.perf_counter()
        return Question(
            self.request,
            self.rules,
            self.outline,
            made.args,
            made.databases,
            snapshot,
            made.diagnostics,
            started,
            None,
            self.arguments_cost,
        )

    def answer(self, engine: Engine, at: Snapshot, cancel: Cancel) -> Result:
        """The answer at a moment, with its pulls."""
        return engine.run(self.at(at, cancel.check), cancel)

    def matched(self) -> Matched:
        """Each input with what was given for it."""
        return matched(self.query, self.request.args)

    def values(self) -> list[Any]:
        """The values that were given for the variables of `:in`."""
        found = []
        for each, value in self.matched():
            if isinstance(each, ast.BindingInput):
                value = value.value if isinstance(value, Moment) else value
                found.append(value.value if isinstance(value, Given) else value)
        return found

    def lookups(self) -> list[Keyword]:
        """The attributes of the lookup refs among them."""
        return [name for value in self.values() for name in lookups_in(value)]


def is_limited(query: ast.Query) -> bool:
    """Whether it shows some of its rows only: which ones is free where no order says so."""
    return query.limit is not None or bool(query.offset) or query.find.takes_one


def view_key(question: Question) -> Hashable:
    """Equal for questions that one view can keep up to date: all but the values given for variables."""
    request = question.request
    given = [
        _key(value)
        for each, value in matched(question.query, request.args)
        if isinstance(each, ast.SourceInput) and value is not None
    ]
    return (
        question.text,
        question.rules,
        question.relations,
        request.options,
        request.engine,
        request.max_rows,
        request.shown,
        request.ordered or is_limited(question.query),
        question.snapshot.since_t,
        question.snapshot.is_history,
        *given,
    )


def feed_key(question: Question) -> Hashable:
    """Equal for questions of one view that have the same answer at every moment: the values given, too."""
    return (view_key(question), *(_key(value) for value in question.request.args))


def _key(value: Any) -> Hashable:
    """What tells an argument from others, as it was given."""
    if isinstance(value, Given | Moment):
        return value.key
    if isinstance(value, Snapshot):
        return value.key
    try:
        return identity(_plain(value))
    except TypeError:
        return ("object", id(value))  # whoever runs the query refuses it


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if type(value) in (list, tuple) else value
