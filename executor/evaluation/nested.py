"""A query within a query as the function it is: from argument tuples to the value that its find spec makes.

Distinct arguments are the first batch of one join, each with a number that all its rows carry: aggregates, order
and limit are then taken number by number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from adalog.datalog import ast
from adalog.datalog.errors import Position, limit_exceeded
from adalog.datalog.values import EdnMap, EdnSet
from adalog.datalog.watched import WatchedList
from adalog.executor.answer.columns import answer_columns, order_keys
from adalog.executor.answer.decoding import decoded as decoded_column
from adalog.executor.answer.result import Result, sorted_rows
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.late_calls import LateCalls, bound_calls
from adalog.executor.expressions.calls import Argument
from adalog.executor.facts.facts import Relations
from adalog.executor.join.batch import ORIGIN, Batch, Column, concatenate, stack
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.kernels import group_kernels
from adalog.executor.pull.find import FindPulls
from adalog.executor.pull.level import VALUE, PullLevel
from adalog.executor.pull.queries import FoundValues, PullQueries, bindings_taken, by_pattern
from adalog.executor.question.inputs import Inputs, constant_codes, entities_named, with_row_numbers
from adalog.planner.model.logical import Subquery
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.layout import LONG_MAX, NIL, tags_of

# Argument tuples that one join begins with, and rows of all of them that become values.
_TOGETHER = 4096
_MOST_ROWS = 2_000_000
# Codes that the rows of one that stands as a relation may come to.
_MOST_CODES = 100_000_000
# Answers that are kept for arguments that come again.
_KEPT = 1 << 16


@dataclass
class Gathered:
    """Takes the batches of a join; LIMIT_EXCEEDED past `most` rows, each counted once. `distinct`: rows may
    repeat. Where they have weights, merging those that do only makes them fewer."""

    names: frozenset[str]
    distinct: bool
    most: int
    position: Position | None
    held: Held
    batches: list[Batch] = field(default_factory=list)
    size: int = 0

    def __call__(self, batch: Batch) -> bool:
        batch = batch.only(self.names)
        self.held.grow(2 * batch.nbytes)
        self.batches.append(batch)
        self.size += batch.size
        if self.size > 2 * self.most:
            self.batches = [self._merged()]
            self.size = self.batches[0].size
            self.held.become(2 * self.batches[0].nbytes)
        return True

    def rows(self) -> Batch:
        """All rows, each once, but for those with weights."""
        if not self.batches:
            return Batch(0, {name: np.empty(0, np.int64) for name in self.names})
        if not self.distinct and self.size <= self.most:
            return concatenate(self.batches)
        return self._merged()

    def _merged(self) -> Batch:
        whole = concatenate(self.batches).distinct()
        if whole.size > self.most:
            raise limit_exceeded(
                f"the query within the query has more than {self.most:,} rows; aggregate there, or write its "
                "clauses among those outside",
                self.position,
            )
        return whole


Derive = Callable[[Plan, Inputs, Batch, QueryRun], Relations]
"""Runs a plan's rules for a first batch: the relations that the plan's join reads."""


@dataclass
class NestedCall:
    """`q` applied to arguments: what a `Call` is for a built-in. Safe to use from several threads. `plan`: of its
    join, which is without the `late` calls. `bind` gives that plan over relations, or None where a part of it
    without variables already fails; `inputs` are its sources by their names within; `derive` runs its rules.
    `pulled` calls the queries in its pull patterns."""

    subquery: Subquery
    plan: Plan
    late: LateCalls
    arguments: tuple[Argument, ...]
    bind: Callable[[Relations], GenericJoin | None]
    inputs: Inputs
    run: QueryRun
    position: Position | None
    derive: Derive
    pulled: Callable[[Subquery, tuple[Argument, ...]], NestedCall]
    _known: dict[tuple[int, ...], int] = field(default_factory=dict)
    _database: Snapshot | None = field(init=False)
    _join: GenericJoin | None = field(init=False)
    # Of each argument, where idents and lookup refs in it name entities.
    _bindings: tuple[ast.Binding | None, ...] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        # Where idents and lookup refs are looked up; a query over lists alone has none.
        self._database = next(iter(self.inputs.databases.values()), None)
        bindings = (each.binding for each in self.subquery.query.inputs if isinstance(each, ast.BindingInput))
        self._bindings = tuple(each if self._has_entities(each) else None for each in bindings)
        self.arguments = tuple(
            argument if binding is None or isinstance(argument, str) else self._named(binding, argument)
            for binding, argument in zip(self._bindings, self.arguments, strict=True)
        )
        # Without rules it is the same for every first batch.
        self._join = None if self.plan.program.strata else self.bind(self.inputs.relations)

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(a for a in self.arguments if isinstance(a, str))

    def results(self, batch: Batch) -> Column:
        """int64[n]: the code of the answer for each row; NIL where a scalar or tuple has none."""
        if not batch.size:
            return np.empty(0, np.int64)
        if not self.variables:
            with self._lock:
                return np.full(batch.size, self._answers([self._constants()])[0], np.int64)
        columns = [
            self._named_column(binding, batch.columns[a])
            if isinstance(a, str)
            else np.full(batch.size, a, np.int64)
            for binding, a in zip(self._bindings, self.arguments, strict=True)
        ]
        group, first = group_kernels.group_rows(stack(columns), self.run.cancel.check)
        tuples = list(zip(*(column[first].tolist() for column in columns), strict=True))
        return np.array(self._answers(tuples), np.int64)[group]

    def rows(self) -> list[Column]:
        """The columns that the query finds, where no argument is a variable."""
        query = self.plan.query
        most = _MOST_CODES // max(len(self.plan.answer), 1)
        # The rows are the outer query's from here on, and stay counted.
        found = self._found(self._joined([self._constants()], most, Held(self.run.cancel.budget)))
        whole = query.limit is None and query.offset == 0
        return (found if whole else self._ordered(found, [self._constants()]))[1 : 1 + len(query.find.elements)]

    def found_for(self, entities: Column) -> FoundValues:
        """What the query finds where its first argument is each of these entities, which are distinct."""
        parts: list[FoundValues] = []
        constants = self._constants()
        # The values are the pull's from here on, and stay counted.
        kept = Held(self.run.cancel.budget)
        for start in range(0, len(entities), _TOGETHER):
            tuples = [(entity, *constants) for entity in entities[start : start + _TOGETHER].tolist()]
            with Held(self.run.cancel.budget) as held:
                rows = self._joined(tuples, _MOST_ROWS, held)
                seeds, *columns = self._ordered(self._found(rows), tuples)
                parts.append(self._shown(seeds, columns, tuples, kept))
        if len(parts) == 1:
            return parts[0]
        values = [value for part in parts for value in part.values]
        sizes = np.concatenate([part.sizes for part in parts]) if parts else np.empty(0)
        return FoundValues(values, sizes, max((part.height for part in parts), default=0))

    def _constants(self) -> tuple[int, ...]:
        return tuple(a for a in self.arguments if isinstance(a, int))

    def _answers(self, tuples: Sequence[tuple[int, ...]]) -> list[int]:
        new = [each for each in tuples if each not in self._known]
        if len(self._known) + len(new) > _KEPT:
            self._known = {}
            new = list(tuples)
        known = self._known
        for start in range(0, len(new), _TOGETHER):
            some = new[start : start + _TOGETHER]
            known.update(zip(some, self._codes(some), strict=True))
        return [known[each] for each in tuples]

    def _codes(self, tuples: Sequence[tuple[int, ...]]) -> list[int]:
        with Held(self.run.cancel.budget) as held:
            return self._codes_of(self._joined(tuples, _MOST_ROWS, held), tuples, held)

    def _codes_of(self, rows: Batch, tuples: Sequence[tuple[int, ...]], held: Held) -> list[int]:
        find = self.plan.query.find
        seeds, *columns = self._ordered(self._found(rows), tuples)[: 1 + len(find.elements)]
        if find.shape == "scalar" and not isinstance(find.elements[0], ast.FindPull):
            made = np.full(len(tuples), NIL, np.int64)
            made[seeds] = columns[0]
            return [int(code) for code in made]
        return [self.run.values.intern(value) for value in self._shown(seeds, columns, tuples, held).values]

    def _shown(
        self, seeds: Column, columns: Sequence[Column], tuples: Sequence[tuple[int, ...]], held: Held
    ) -> FoundValues:
        """The values that the rows of each argument tuple are, which are held. `seeds`: the tuple of each row."""
        find = self.plan.query.find
        held.grow(VALUE * len(seeds))
        bounds = np.searchsorted(seeds, np.arange(len(tuples) + 1))
        sizes, height = np.zeros(len(seeds)), int(find.keys is not None)
        decoded: list[Sequence[Any]] = []
        for place, (element, column) in enumerate(zip(find.elements, columns, strict=False)):
            if isinstance(element, ast.FindPull):
                level = self._pulled(place, seeds, columns, tuples)
                decoded.append(level.maps)
                sizes += level.sizes
                height = max(height, int(find.keys is not None) + level.height)
            else:
                decoded.append(decoded_column(column, self.run.values, self.run.cancel, held).tolist())
                sizes += 1
        values = []
        for number, (start, stop) in enumerate(pairwise(bounds.tolist())):
            if number % 64 == 0:
                self.run.cancel.check()
            values.append(self._shaped([column[start:stop] for column in decoded]))
        total = np.concatenate(([0.0], np.cumsum(sizes)))
        return FoundValues(values, total[bounds[1:]] - total[bounds[:-1]], height)

    def _pulled(
        self, place: int, seeds: Column, columns: Sequence[Column], tuples: Sequence[tuple[int, ...]]
    ) -> PullLevel:
        """What a pull shows in the rows: made once for all argument tuples that are alike to its queries."""
        queries = by_pattern(self.plan.pulled)
        own = [each.binding for each in self.subquery.query.inputs if isinstance(each, ast.BindingInput)]
        taken = sorted({own.index(each) for inner in queries.values() for each in bindings_taken(inner.query)})
        given: dict[ast.Binding, int] = {}
        if not taken:
            return self._level(place, columns, PullQueries(queries, given.__getitem__, self._call))
        alike: dict[tuple[int, ...], int] = {}
        group = np.array([alike.setdefault(tuple(row[i] for i in taken), len(alike)) for row in tuples], np.int64)
        maps: list[Any] = [None] * len(seeds)
        sizes, height = np.zeros(len(seeds)), 0
        for number, codes in enumerate(alike):
            given = dict(zip((own[i] for i in taken), codes, strict=True))
            rows = np.flatnonzero(group[seeds] == number)
            asked = PullQueries(queries, given.__getitem__, self._call)
            level = self._level(place, [column[rows] for column in columns], asked)
            if len(alike) == 1:
                return level
            for row, shown in zip(rows.tolist(), level.maps, strict=True):
                maps[row] = shown
            sizes[rows] = level.sizes
            height = max(height, level.height)
        return PullLevel(maps, sizes, height)

    def _call(self, subquery: Subquery, codes: tuple[int, ...]) -> NestedCall:
        return self.pulled(subquery, ("entity", *codes))

    def _level(self, place: int, columns: Sequence[Column], queries: PullQueries) -> PullLevel:
        query = self.plan.query
        result = Result((), columns, self.run.values, len(columns[0]), query.find.shape, None, 0, "", 0.0)
        pulls = FindPulls(query, (), self.inputs.databases, (0, None), self.run.strict, queries)
        return pulls.level(result, place, self.run.cancel)

    def _shaped(self, columns: Sequence[Sequence[Any]]) -> Any:
        """The rows of one argument tuple as the value that the find spec names."""
        find = self.plan.query.find
        if find.shape == "collection":
            return tuple(columns[0])
        rows = list(zip(*columns, strict=True))
        if find.keys is not None:
            made: list[Any] = [EdnMap(zip(find.keys, row, strict=True)) for row in rows]
        else:
            made = list(rows)
        match find.shape:
            case "scalar":
                return rows[0][0] if rows else None
            case "tuple":
                return made[0] if made else None
        return tuple(made) if self.plan.query.order_by else EdnSet(made)

    def _found(self, rows: Batch) -> list[Column]:
        """The numbers of the argument tuples, and the columns that the query finds."""
        late = bound_calls(self.late, self.run)
        return answer_columns(self.plan.query, rows, self.run.values, self.run.cancel, ORIGIN, late)

    def _ordered(self, found: list[Column], tuples: Sequence[tuple[int, ...]]) -> list[Column]:
        """The rows by number, then as :order-by and the order of all values say; of each number those asked for."""
        keys = [(0, False), *order_keys(self.plan.query, 1)]
        order = sorted_rows(found, self.run.values, keys, None, self.run.cancel)
        found = [column[order] for column in found]
        windows = self._windows(tuples)
        if windows is None:
            return found
        place = np.arange(len(found[0])) - np.searchsorted(found[0], found[0])
        starts, stops = windows
        return [column[(place >= starts[found[0]]) & (place < stops[found[0]])] for column in found]

    def _windows(self, tuples: Sequence[tuple[int, ...]]) -> tuple[Column, Column] | None:
        """The first row to show of each argument tuple, and the first one after those; None where all are shown."""
        query = self.plan.query
        if not query.is_limited and query.find.shape not in ("scalar", "tuple"):
            return None
        if any(isinstance(each, ast.Var) for each in (query.limit, query.offset)):
            rows = (zip(self.subquery.inputs, map(self.run.values.decode, row), strict=True) for row in tuples)
            windows = [with_row_numbers(query, dict(row)).window for row in rows]
        else:
            start, stop = query.window
            return np.full(len(tuples), start), np.full(len(tuples), LONG_MAX if stop is None else stop)
        starts, stops = zip(*((start, LONG_MAX if stop is None else stop) for start, stop in windows), strict=True)
        return np.array(starts, np.int64), np.array(stops, np.int64)

    def _joined(self, tuples: Sequence[tuple[int, ...]], most: int, held: Held) -> Batch:
        """The distinct rows of all argument tuples, each with its number."""
        names = frozenset((ORIGIN, *self.plan.answer))
        gathered = Gathered(names, self.plan.distinct, most, self.position, held)
        given = zip(self.subquery.inputs, zip(*tuples, strict=True), strict=True)
        columns = {name: np.array(codes, np.int64) for name, codes in given}
        constants = constant_codes(self.plan, self._database, self.run.values)
        columns.update((name, np.full(len(tuples), code, np.int64)) for name, code in constants.items())
        start = Batch(len(tuples), {**columns, ORIGIN: np.arange(len(tuples))})
        join = self._join
        if self.plan.program.strata:
            join = self.bind(self.derive(self.plan, self.inputs, start, self.run))
        if join is not None:
            Driver(join, gathered, self.run.cancel).run(start)
        return gathered.rows()

    def _has_entities(self, binding: ast.Binding) -> bool:
        """Whether a variable of an input stands for entities within, so that an ident or a lookup ref will do."""
        if self._database is None:
            return False
        if isinstance(binding, ast.ScalarBinding | ast.CollectionBinding):
            targets: tuple[ast.Var | ast.Blank, ...] = (binding.target,)
        else:
            targets = binding.targets
        return any(isinstance(each, ast.Var) and each.name in self.plan.entities for each in targets)

    def _named(self, binding: ast.Binding, code: int) -> int:
        """The code of an argument with entities in place of what names them."""
        assert self._database is not None
        values, value = self.run.values, self.run.values.decode(code)
        named = entities_named(self._database, self.plan.entities, binding, value)
        return code if named is value else values.intern(named)

    def _named_column(self, binding: ast.Binding | None, column: Column) -> Column:
        if binding is None or (isinstance(binding, ast.ScalarBinding) and not tags_of(column).any()):
            return column
        codes, places = np.unique(column, return_inverse=True)
        watched = WatchedList(codes.tolist(), self.run.cancel.check)
        named = np.array([self._named(binding, code) for code in watched])
        return named[places].astype(np.int64)
