"""Pulls in `:find`: after the join, over the rows that are to be shown and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adalog.datalog import ast
from adalog.datalog.edn.form import Form
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.pull_text import pull_of, read_pull
from adalog.datalog.pull import PullPattern
from adalog.executor.answer.result import PulledColumn, Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pull.level import Ids, PullLevel
from adalog.executor.pull.puller import Puller
from adalog.executor.pull.queries import PullQueries
from adalog.executor.question.arguments import matched
from adalog.executor.question.question import Question
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.layout import NIL, tags_of


@dataclass(frozen=True, slots=True)
class FindPulls:
    """The pulls of a query with its arguments. `shown`: of the result, the rows that they are for. `queries`: those
    in their patterns."""

    query: ast.Query
    args: Sequence[Any]
    databases: Mapping[str, Snapshot]
    shown: tuple[int, int | None]
    strict: bool
    queries: PullQueries | None = None

    def columns(self, result: Result, cancel: Cancel) -> dict[int, PulledColumn]:
        """What the pulls show in a result, by the number of their column."""
        elements = enumerate(self.query.find.elements)
        places = [number for number, element in elements if isinstance(element, ast.FindPull)]
        return {number: self.column(result, number, cancel) for number in places}

    def column(self, result: Result, number: int, cancel: Cancel) -> PulledColumn:
        """What one pull, the find spec's element `number`, shows."""
        start, _ = window(self.shown, len(result))
        return PulledColumn(start, self.level(result, number, cancel).maps)

    def level(self, result: Result, number: int, cancel: Cancel) -> PullLevel:
        """The same with sizes: a map for each row that is shown."""
        element = self.query.find.elements[number]
        assert isinstance(element, ast.FindPull)
        start, stop = window(self.shown, len(result))
        source = self.databases.get(element.source.name)
        if source is None:
            message = f"{element.source.name} is a relation here; pull takes a database"
            raise AdalogError(Code.QUERY_INVALID, message, element.source.position or element.position)
        pattern = pattern_of(element, self.query, self.args)
        try:
            queries = None if self.queries is None else self.queries.of(element.source.name)
            puller = Puller(source, cancel, strict=self.strict, queries=queries)
            ids, known = _entities(source, result, number, start, stop)
            found = puller.level(pattern, ids[known])
        except AdalogError as error:
            raise AdalogError(error.code, error.message, error.position or element.position) from error
        if known.all():
            return found
        maps, sizes = iter(found.maps), np.zeros(len(known))
        sizes[known] = found.sizes
        return PullLevel([next(maps) if each else None for each in known.tolist()], sizes, found.height)


def window(shown: tuple[int, int | None], size: int) -> tuple[int, int]:
    """The rows start..stop that are to be shown, of so many."""
    start, stop, _ = slice(*shown).indices(size)
    return start, max(start, stop)


def pattern_of(element: ast.FindPull, query: ast.Query, args: Sequence[Any]) -> PullPattern:
    """The element's pattern; one that is an argument may be EDN or the text of it."""
    if not isinstance(element.pattern, ast.Var):
        return element.pattern
    name = element.pattern.name
    given = next(
        value
        for each, value in matched(query, args)
        if isinstance(each, ast.BindingInput)
        and isinstance(each.binding, ast.ScalarBinding)
        and isinstance(each.binding.target, ast.Var)
        and each.binding.target.name == name
    )
    try:
        inputs = query.inputs
        return read_pull(given, inputs) if type(given) is str else pull_of(Form(given), inputs)
    except AdalogError as error:
        at = f" at {error.position.line}:{error.position.column}" if error.position else ""
        raise AdalogError(error.code, f"{name}{at}: {error.message}", element.pattern.position) from error


def takes_patterns(query: ast.Query) -> bool:
    elements = query.find.elements
    return any(isinstance(each, ast.FindPull) and isinstance(each.pattern, ast.Var) for each in elements)


def given_patterns(question: Question) -> Iterator[tuple[str, PullPattern, Snapshot]]:
    """The patterns that are arguments: (the variable's name, the pattern, the database that it is pulled from).
    None of those that are wrong: the answer says why."""
    for element in question.query.find.elements:
        if isinstance(element, ast.FindPull) and isinstance(element.pattern, ast.Var):
            database = question.databases.get(element.source.name)
            try:
                pattern = pattern_of(element, question.query, question.args)
            except AdalogError:
                continue
            if database is not None:
                yield element.pattern.name, pattern, database


def _entities(
    source: Snapshot, result: Result, number: int, start: int, stop: int
) -> tuple[Ids, np.ndarray[Any, np.dtype[np.bool_]]]:
    """(entity ids, which of them there are): idents and lookup refs name entities, too, nil names none."""
    codes = result.codes_of(number, start, stop)
    plain = tags_of(codes) == 0
    if plain.all():
        return codes, plain
    ids, known = codes.copy(), plain.copy()
    for at in np.flatnonzero(~plain & (codes != NIL)).tolist():
        value = result.values.decode(int(codes[at]))
        try:
            found = source.entid(value)
        except AdalogError as error:
            message = f"pull takes entities, and {write(value)} is none: {error.message}"
            raise AdalogError(Code.QUERY_INVALID, message) from error
        if found is not None:
            ids[at], known[at] = found, True
    return ids, known
