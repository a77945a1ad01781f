"""A request made ready once: its text parsed, its arguments settled, its databases at hand.

The cache makes its key of a question, the compiler its plan, the engine its inputs. What is suspicious about it is
found when somebody asks.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from datalog import ast
from datalog.diagnostics import MOST, Diagnostic
from datalog.parser import parse_query
from executor.arguments import Given, Moment, matched, relations_of, rules_text, settled
from executor.request import Request
from planner.outline import Outline, outline_of
from planner.suspicions import suspicions
from store.bootstrap import IDENT
from store.snapshot import Snapshot

_KEPT: Final = 2048

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Question:
    """`outline` and `query` are those with the rules given for `%`, whose text is `rules`. `args` are values of the
    language, snapshots for database sources, and None for rules. `databases`: by the names of their sources.

    `started`: when the request came, in seconds of `time.perf_counter()`; `deadline`: in those of
    `time.monotonic()`.
    """

    request: Request
    rules: str | None
    outline: Outline
    args: tuple[Any, ...]
    databases: Mapping[str, Snapshot]
    snapshot: Snapshot
    about_arguments: tuple[Diagnostic, ...]
    started: float
    deadline: float | None

    @property
    def text(self) -> str:
        return self.request.query

    @property
    def query(self) -> ast.Query:
        return self.outline.query

    @property
    def relations(self) -> frozenset[str]:
        """The sources that are lists of tuples."""
        return self.outline.relations


@dataclass
class Questions:
    """Makes questions; remembers what recent texts say. Thread-safe and bounded."""

    kept: int = _KEPT
    _outlines: OrderedDict[tuple[str, str | None, frozenset[str]], Outline] = field(default_factory=OrderedDict)
    _queries: OrderedDict[str, ast.Query] = field(default_factory=OrderedDict)
    _found: OrderedDict[Any, tuple[Diagnostic, ...]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def knows(self, request: Request) -> bool:
        """Whether the question is made in no time: the text was asked before, without `%` and with few
        arguments."""
        query = self._queries.get(request.query)
        if query is None or any(isinstance(each, ast.RulesInput) for each in query.inputs):
            return False
        return sum(map(_length, request.args)) < 2_000

    def of(self, request: Request, snapshot: Snapshot) -> Question:
        """The question of a request; `snapshot` is read where the request names none.

        Raises what is wrong with the text, the rules or the arguments.
        """
        started = time.perf_counter()
        snapshot = request.snapshot or snapshot
        query = self._parsed(request.query)
        pairs = matched(query, request.args)
        rules = rules_text(pairs)
        outline = self._outline(request.query, query, rules, relations_of(pairs))
        made = settled(outline, pairs, snapshot)
        timeouts = [each for each in (request.timeout_ms, query.timeout_ms) if each is not None]
        deadline = time.monotonic() + min(timeouts) / 1000 if timeouts else None
        return Question(
            request, rules, outline, made.args, made.databases, snapshot, made.diagnostics, started, deadline
        )

    def diagnostics(self, question: Question) -> tuple[Diagnostic, ...]:
        """What is allowed in the question and probably not meant."""
        known = self.known_diagnostics(question)
        if known is not None:
            return known
        found = suspicions(question.outline, question.databases)
        _remember(self._lock, self._found, _seen(question), found, self.kept)
        return (*question.about_arguments, *found)[:MOST]

    def known_diagnostics(self, question: Question) -> tuple[Diagnostic, ...] | None:
        """The same where they were found before, else None."""
        with self._lock:
            found = self._found.get(_seen(question))
        return None if found is None else (*question.about_arguments, *found)[:MOST]

    def _parsed(self, text: str) -> ast.Query:
        """The query of a text; the calls of rules given for `%` are not checked yet."""
        with self._lock:
            query = self._queries.get(text)
            if query is not None:
                self._queries.move_to_end(text)
                return query
        return _remember(self._lock, self._queries, text, parse_query(text), self.kept)

    def _outline(self, text: str, query: ast.Query, rules: str | None, relations: frozenset[str]) -> Outline:
        key = (text, rules, relations)
        with self._lock:
            outline = self._outlines.get(key)
            if outline is not None:
                self._outlines.move_to_end(key)
                return outline
        complete = query if rules is None else parse_query(text, rules)
        return _remember(self._lock, self._outlines, key, outline_of(complete, relations), self.kept)


def _seen(question: Question) -> Any:
    """What the diagnostics of a question depend on, besides its arguments: its text, the schema and the idents."""
    databases = question.databases.items()
    known = sorted((name, each.schema_key, each.data_of(IDENT).last_touched(each.t)) for name, each in databases)
    return (question.text, question.rules, question.relations, tuple(known))


def _remember(lock: threading.Lock, kept: OrderedDict[K, V], key: K, value: V, most: int) -> V:
    with lock:
        kept[key] = value
        while len(kept) > most:
            kept.popitem(last=False)
    return value


def _length(argument: Any) -> int:
    if isinstance(argument, Moment):
        return 1
    value = argument.value if isinstance(argument, Given) else argument
    return len(value) if isinstance(value, Sequence | Mapping) else 1
