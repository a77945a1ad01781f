"""A request made ready once: its text parsed, its arguments settled, its databases at hand.

The cache makes its key of a question, the compiler its plan, the engine its inputs. Its diagnostics are made on
demand.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, Final

from adalog.datalog import ast, tracing
from adalog.datalog.diagnostics import Diagnostic, bounded
from adalog.datalog.parsing.inputs import GIVEN
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache, weight_of_text
from adalog.executor.question.arguments import (
    UNBOUND,
    BasisArgument,
    gives_default,
    matched,
    relations_of,
    rules_text,
    settled,
)
from adalog.executor.question.cost import arguments_cost, few
from adalog.executor.question.plain_questions import PlainText
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.planner.scope.outline import Outline, outline_of
from adalog.planner.scope.pending_warnings import PendingWarning, diagnostics_of
from adalog.planner.scope.suspicions import check_symbols, suspicions
from adalog.store.snapshot.guarded import GuardedSnapshot, UnmeasuredSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT

_KEPT_BYTES: Final = 16 << 20
# Texts that come without arguments worth mentioning are made ready on the spot.
_FEW: Final = 2_000
_SHORT: Final = 20_000
# What parsing and planning cost, in the planner's unit.
_CHARACTER_COST: Final = 20.0


@dataclass(frozen=True)
class Question:
    """`outline` and `query` are those with the rules given for `%`, whose text is `rules`. `args` are values of the
    language, snapshots for database sources, and None for rules. `databases`: by the names of their sources.
    `arguments_cost`: about what reading the arguments costs, in the planner's unit. `guarded`: guards are among its
    clauses, so that databases are whole. `plain`: what its text says, where it was made without looking at that.

    `started`: when the request came, in seconds of `time.perf_counter()`; `deadline`: in those of
    `time.monotonic()`.
    """

    request: QueryRequest
    rules: str | None
    outline: Outline
    args: tuple[Any, ...]
    databases: Mapping[str, Snapshot]
    snapshot: Snapshot
    about_arguments: tuple[PendingWarning, ...]
    started: float
    deadline: float | None
    arguments_cost: float
    guarded: bool = False
    plain: PlainText | None = None

    @property
    def text(self) -> str:
        return self.request.query

    @property
    def query(self) -> ast.Query:
        return self.outline.query

    @property
    def sees_part(self) -> bool:
        """Whether it reads a database of which only some datoms are visible."""
        # Asked several times for each query, which a generator would cost more than the answer.
        for each in self.databases.values():  # noqa: SIM110
            if isinstance(each, GuardedSnapshot):
                return True
        return False

    @property
    def is_certain(self) -> bool:
        """Whether the answer is that of the data: nothing was hidden so far for want of time or memory."""
        return all(each.visible.is_certain for each in self.databases.values() if isinstance(each, GuardedSnapshot))

    @property
    def is_guarded(self) -> bool:
        """Whether it is answered for somebody who does not see everything."""
        return self.guarded or self.sees_part

    @property
    def relations(self) -> frozenset[str]:
        return self.outline.relations

    def unmeasured(self) -> Question:
        """The same question for a plan that tells nothing of sizes that are not all visible."""
        databases = {name: _unmeasured(each) for name, each in self.databases.items()}
        return replace(self, databases=databases, snapshot=_unmeasured(self.snapshot))

    def with_options(self, options: Options) -> Question:
        """The same question, evaluated in another way."""
        if options is self.request.options:
            return self
        return replace(self, request=replace(self.request, options=options))


@dataclass
class Questions:
    """Makes questions; remembers what recent texts say, in `nbytes` at most. Thread-safe. `strict`: a symbol
    that is surely no variable is refused."""

    nbytes: int = _KEPT_BYTES
    strict: bool = False
    _queries: LruCache[tuple[str, bool], ast.Query] = field(init=False)
    _outlines: LruCache[tuple[str, str | None, frozenset[str]], Outline] = field(init=False)
    _plain: LruCache[str, PlainText] = field(init=False)
    _found: LruCache[Any, tuple[Diagnostic, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._queries = LruCache(self.nbytes // 8 * 3)
        self._outlines = LruCache(self.nbytes // 4)
        self._plain = LruCache(self.nbytes // 8)
        self._found = LruCache(self.nbytes // 4)

    def knows(self, request: QueryRequest) -> bool:
        """Whether the question is made in no time: the text was asked before, without `%` and with few
        arguments, none of which is a database."""
        if request.query in self._plain and BasisArgument not in map(type, request.args):
            return len(request.query) <= _SHORT and few(request.args, _FEW)
        query = self._queries.get((request.query, False))
        if query is None or len(request.args) + len(query.args) == len(query.inputs):
            return False
        if any(isinstance(each, ast.RulesInput) for each in query.inputs):
            return False
        if any(isinstance(each, BasisArgument) for each in request.args):
            return False
        return len(request.query) <= _SHORT and few(request.args, _FEW)

    def of(self, request: QueryRequest, snapshot: Snapshot, cancel: Cancel) -> Question:
        """The question of a request; `snapshot` is read where the request names none. Raises what is wrong with the
        text, the rules or the arguments."""
        with tracing.span("adalog.parse"):
            started, arrived = time.perf_counter(), time.monotonic()
            cost = arguments_cost(request.args)
            cancel.expect(_CHARACTER_COST * len(request.query) + cost)
            now = request.snapshot or snapshot
            plain = self._plain.get(request.query)
            if plain is not None and plain.schema is now.schema and type(now) is Snapshot:
                args = plain.values(request.args)
                if args is not None:
                    due = _due(request, plain.outline.query, arrived, cancel)
                    own = {plain.source: now}
                    if self.strict:
                        check_symbols(plain.outline, own)
                    return Question(
                        request, None, plain.outline, args, own, now, (), started, due, cost, plain=plain
                    )
            query = self._parsed(request.query, cancel, given=False)
            if len(request.args) + len(query.args) == len(query.inputs):
                with_default = self._parsed(request.query, cancel, given=True)
                query = with_default if gives_default(with_default, request.args) else query
            pairs = matched(query, (*request.args, *query.args))
            rules = rules_text(pairs)
            outline = self._outline(request.query, query, rules, relations_of(pairs), cancel)
            made = settled(outline, pairs, now, cancel.check)
            args, databases, suspected = made.args, made.databases, made.suspected
            due = _due(request, query, arrived, cancel)
            if self.strict:
                check_symbols(outline, databases)
            if rules is None and type(now) is Snapshot:
                known = PlainText.of(outline, now)
                if known is not None:
                    self._plain.put(request.query, known, weight_of_text(request.query))
            return Question(request, rules, outline, args, databases, now, suspected, started, due, cost)

    def draft(self, request: QueryRequest, snapshot: Snapshot, cancel: Cancel) -> Question | None:
        """The question of a query that is still being written: arguments may be lacking or UNBOUND, and a source
        without one is the database. None where the rules are lacking: their calls say nothing. Raises what is wrong
        with the text."""
        query = self._parsed(request.query, cancel, given=False)
        wanted = query.inputs[1 : len(query.inputs) - len(query.args)]
        args = [*request.args[: len(wanted)], *repeat(UNBOUND, len(wanted) - len(request.args))]
        for place, (each, value) in enumerate(zip(wanted, args, strict=True)):
            if value is UNBOUND and isinstance(each, ast.RulesInput):
                return None
            if value is UNBOUND and isinstance(each, ast.SourceInput):
                args[place] = request.snapshot or snapshot
        return self.of(replace(request, args=tuple(args)), snapshot, cancel)

    def diagnostics(self, question: Question, cancel: Cancel) -> tuple[Diagnostic, ...]:
        """What is allowed in the question and probably not meant."""
        with watching(cancel.check):
            key = _seen(question.text, question.databases, question.rules, question.relations)
            found = self._found.get(key)
            if found is None:
                found = suspicions(question.outline, question.databases)
                weight = weight_of_text(question.text) + sum(len(each.message) for each in found)
                self._found.put(key, found, weight)
            return bounded((*diagnostics_of(question.about_arguments), *found))

    def known_diagnostics(self, question: Question) -> tuple[Diagnostic, ...] | None:
        """The same where they were found before and there are none of its arguments, else None."""
        if question.about_arguments:
            return None
        return self.known_suspicions(question.text, question.databases, question.rules, question.relations)

    def known_suspicions(
        self,
        text: str,
        databases: Mapping[str, Snapshot],
        rules: str | None = None,
        relations: frozenset[str] = frozenset(),
    ) -> tuple[Diagnostic, ...] | None:
        """The same of any question of a text, but of its arguments. `databases`, `rules`, `relations`: its own."""
        return self._found.get(_seen(text, databases, rules, relations))

    def _parsed(self, text: str, cancel: Cancel, *, given: bool) -> ast.Query:
        """The query of a text; the calls of rules given for `%` are not checked yet. `given`: an argument comes
        for `$`."""
        query = self._queries.get((text, given))
        if query is None:
            with watching(cancel.check):
                query = parse_query(text, given=given)
            self._queries.put((text, given), query, weight_of_text(text))
        return query

    def _outline(
        self, text: str, query: ast.Query, rules: str | None, relations: frozenset[str], cancel: Cancel
    ) -> Outline:
        key = (text, rules, relations)
        outline = self._outlines.get(key)
        if outline is None:
            with watching(cancel.check):
                outline = outline_of(
                    query if rules is None else parse_query(text, rules, given=GIVEN in relations), relations
                )
            self._outlines.put(key, outline, weight_of_text(text) + weight_of_text(rules or ""))
        return outline


def _due(request: QueryRequest, query: ast.Query, arrived: float, cancel: Cancel) -> float | None:
    """The deadline of a request."""
    dues = [] if cancel.deadline is None else [cancel.deadline]
    dues += [arrived + ms / 1000 for ms in (request.timeout_ms, query.timeout_ms) if ms is not None]
    return min(dues, default=None)


def _unmeasured(snapshot: Snapshot) -> Snapshot:
    if isinstance(snapshot, GuardedSnapshot):
        return UnmeasuredSnapshot(snapshot.raw, snapshot.visible)
    return snapshot


def _forgotten(view: Snapshot) -> tuple[int, ...]:
    """Nothing where nothing may be gone: that does not depend on the moment, then."""
    excised = view.origin.excised
    return (excised, view.t, view.since_t, view.is_history) if excised and (view.is_past or view.is_history) else ()


def _seen(text: str, databases: Mapping[str, Snapshot], rules: str | None, relations: frozenset[str]) -> Any:
    """What the diagnostics of a question depend on, besides its arguments: its text, the schema and the idents; of
    views of the past also what retention may have taken of them."""
    known = [
        (name, each.schema.key, each.data_of(IDENT).last_touched(each.t), _forgotten(each))
        for name, each in databases.items()
    ]
    if len(known) > 1:
        known.sort()
    return (text, rules, relations, tuple(known))
