"""The queries in the pull patterns of a live query: for which entities their answers may differ at two moments.

All rows that such a query finds for any entity at all, without its window, its aggregates and its pulls, are
followed by a maintained view: an entity of which a row entered or left may show something else. So may one of which
a row stayed and shows an entity by a pull that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from adalog.datalog import ast
from adalog.datalog.ast import BindingInput, CollectionBinding, FindPull, FindVar, ScalarBinding, SourceInput, Var
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.pull import PullPattern, PullQuery
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView, maintenance_at
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, Interest
from adalog.executor.pull.queries import patterns_in
from adalog.executor.question.question import Question
from adalog.planner.maintenance import Maintenance
from adalog.planner.model.nested import query_in
from adalog.planner.scope.outline import Outline, outline_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Int64s

_DEFAULT = "$"

Outcomes = Mapping[PullQuery, Mapping[int, Change | AdalogError]]
"""What became of the rows of each query, by the numbers of feeds."""


@dataclass(frozen=True, slots=True)
class _EntityRows:
    """A query whose rows are those of a query in a pattern, the entity first. `pulls`: what they show, by
    variable."""

    outline: Outline
    text: str
    pulls: tuple[tuple[Var, PullPattern], ...]

    def asked(self, question: UndatedQuestion) -> UndatedQuestion:
        """The question for the arguments of the one around the pattern."""
        return self._asked(question, self.outline, self.text, ())

    def owners(self, question: UndatedQuestion, var: Var, entities: Int64s) -> UndatedQuestion:
        """The entities with a row that has one of some entities in the place of a variable."""
        query = self.outline.query
        find = replace(query.find, elements=query.find.elements[:1])
        inputs = (*query.inputs, BindingInput(CollectionBinding(var)))
        outline = outline_of(replace(query, find=find, inputs=inputs), self.outline.relations)
        return self._asked(question, outline, f"{self.text} of {var.name}", (tuple(entities.tolist()),))

    @staticmethod
    def _asked(
        question: UndatedQuestion, outline: Outline, text: str, more: tuple[tuple[int, ...], ...]
    ) -> UndatedQuestion:
        given = question.matched()[1:]
        wanted = outline.query.inputs[1 : len(outline.query.inputs) - len(more)]
        args = [next(value for each, value in given if _same(each, one)) for one in wanted]
        request = replace(question.request, query=text, args=(*args, *more), max_rows=None, ordered=False)
        return replace(question, request=request, outline=outline)


class PulledQueries:
    """Those that a view's query writes out in patterns for the database that moves. One that cannot be maintained
    has no view."""

    def __init__(self, question: Question, engine: QueryEngine, source: str) -> None:
        self._engine = engine
        self._views: dict[PullQuery, tuple[_EntityRows, MaintainedView]] = {}
        if source == _DEFAULT:
            undated = UndatedQuestion.of(question)
            for number, asked in enumerate(dict.fromkeys(_queries_in(question.query))):
                rows = _rows_of(asked, undated, f"{question.text} ;rows of query {number}")
                view = None if rows is None else self._view_of(rows, question)
                if rows is not None and view is not None:
                    self._views[asked] = rows, view

    def _view_of(self, rows: _EntityRows, question: Question) -> MaintainedView | None:
        try:
            asked = rows.asked(UndatedQuestion.of(question)).unbound_at(question.snapshot, lambda: None)
            maintenance = maintenance_at(asked, _DEFAULT)
        except AdalogError as error:
            if error.code is not Code.UNBOUND_VARIABLE:
                raise
            return None
        if not isinstance(maintenance, Maintenance):
            return None
        return MaintainedView(asked, self._engine, maintenance, _DEFAULT)

    @property
    def views(self) -> list[MaintainedView]:
        return [view for _, view in self._views.values()]

    def interests(self, at: Snapshot) -> Iterator[Interest]:
        for view in self.views:
            yield from view.interests(at)

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        for rows, view in self._views.values():
            view.add(feed, rows.asked(question), at, cancel)

    def step(self, tick: Moments, cancel: Cancel) -> Outcomes:
        return {asked: view.step(tick, cancel) for asked, (_, view) in self._views.items()}

    def entities(
        self,
        asked: PullQuery,
        feed: int,
        question: UndatedQuestion,
        outcomes: Outcomes,
        changed: Callable[[PullPattern], Int64s | None],
        cancel: Cancel,
        at: Snapshot,
    ) -> Int64s | None:
        """The entities for which a query may find something else; None: any may be one. `changed`: those that a
        pattern may show differently. `at`: the second moment."""
        if asked not in self._views:
            return None
        change = outcomes[asked].get(feed)
        if isinstance(change, AdalogError):
            return None
        found = [np.empty(0, np.int64)]
        if change is not None:
            found += [each.codes_of(0, 0, len(each)) for each in (change.added, change.removed)]
        rows, _ = self._views[asked]
        for var, pattern in rows.pulls:
            shown = changed(pattern)
            if shown is None:
                return None
            if len(shown):
                owners = self._engine.rows(rows.owners(question, var, shown).at(at, cancel.check), cancel)
                found.append(owners.codes_of(0, 0, len(owners)))
        return distinct(np.concatenate(found))


def _queries_in(query: ast.Query) -> Iterator[PullQuery]:
    """The queries in a query's patterns, and in the patterns of these."""
    for source, pattern in patterns_in(query):
        if source == _DEFAULT:
            for asked in pattern.all_queries():
                yield asked
                yield from _queries_in(query_in(asked))


def _rows_of(asked: PullQuery, question: UndatedQuestion, text: str) -> _EntityRows | None:
    """None where an argument is none of the question's."""
    query = query_in(asked)
    bindings = [each for each in query.inputs if isinstance(each, BindingInput)]
    entity = bindings[0].binding
    given = question.query.inputs
    inputs = [each for each in query.inputs[1:] if isinstance(each, SourceInput)] + bindings[1:]
    if not isinstance(entity, ScalarBinding) or not isinstance(entity.target, Var):
        return None
    if not all(any(_same(each, one) for each in given) for one in inputs):
        return None
    variables = (
        *(element.var for element in query.find.columns),
        *query.with_,
        *(each.var for each in query.order_elements),
    )
    named = dict.fromkeys((entity.target.name, *(var.name for var in variables)))
    whole = ast.Query(
        ast.Find(tuple(FindVar(Var(name)) for name in named)),
        (),
        (question.query.inputs[0], *inputs),
        query.where,
        rules=query.rules,
        text=query.text,
    )
    relations = question.outline.relations & {each.name for each in inputs if isinstance(each, SourceInput)}
    pulls = tuple(_pulls(query.find.elements))
    try:
        return _EntityRows(outline_of(whole, relations), text, pulls)
    except AdalogError as error:
        if error.code is not Code.UNBOUND_VARIABLE:
            raise
        return None


def _pulls(elements: Iterable[ast.FindElement]) -> Iterator[tuple[Var, PullPattern]]:
    for element in elements:
        if isinstance(element, FindPull) and element.source.name == _DEFAULT:
            assert isinstance(element.pattern, PullPattern), "the parser refuses others there"
            yield element.var, element.pattern


def _same(one: ast.Input, other: ast.Input) -> bool:
    """Whether two inputs are one."""
    if isinstance(one, SourceInput) or isinstance(other, SourceInput):
        return isinstance(one, SourceInput) and isinstance(other, SourceInput) and one.name == other.name
    return one == other
