"""Predicates, functions and unnesting as extenders."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.values import EdnMap, EdnSet, type_name
from adalog.executor.expressions.calls import Call, Results
from adalog.executor.expressions.conditionals import truthy
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.protocol import UNBOUNDED, AtLevel, Check, level_of
from adalog.executor.kernels.group_kernels import group_rows
from adalog.store.tries.trie import distinct
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import NIL


class FilterExtender(AtLevel, Check):
    """`[(pred …)]`: keeps the rows whose result is neither nil nor false. `after`: variables that are bound first,
    besides its own."""

    def __init__(self, call: Results, rank: dict[str, int], *, after: Iterable[str] = ()) -> None:
        self.call = call
        self.level = level_of(call.variables.union(after), rank)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        holding = self.call.holding(batch) if isinstance(self.call, Call) else None
        return batch.keep(truthy(self.call.results(batch)) if holding is None else holding)


class FunctionExtender(AtLevel):
    """`[(f …) ?out]`: proposes its one value where the arguments are bound first, else compares.

    `keeps_nil`: nil is a value like others. `after`: as of a filter."""

    def __init__(
        self,
        call: Results,
        out: str,
        rank: dict[str, int],
        *,
        keeps_nil: bool = False,
        after: Iterable[str] = (),
    ) -> None:
        self.call = call
        self.out = out
        self.keeps_nil = keeps_nil
        self.level = level_of(call.variables.union((out,), after), rank)
        self.proposes = self.level == out and out not in call.variables

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return np.full(batch.size, 1 if self.proposes else UNBOUNDED, np.int64)

    def propose(self, batch: Batch, variable: str) -> Batch:
        codes = self.call.results(batch)
        made = batch.having(self.out, codes)
        return made if self.keeps_nil else made.keep(codes != NIL)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        codes = self.call.results(batch)
        same = codes == batch.columns[self.out]
        return batch.keep(same if self.keeps_nil else same & (codes != NIL))


class UnnestExtender(AtLevel):
    """One row for each element of a collection value: the bindings `[?x ...]` and `[[?a ?b]]`. `after`: as of a
    filter."""

    def __init__(
        self,
        collection: str,
        out: str,
        values: Scratch,
        position: Position | None,
        rank: dict[str, int],
        *,
        after: Iterable[str] = (),
    ) -> None:
        self.collection = collection
        self.out = out
        self.values = values
        self.position = position
        self.level = level_of(frozenset((collection, out, *after)), rank)
        self.proposes = self.level == out
        self._known: dict[int, Column] = {}

    def _elements(self, code: int) -> Column:
        """The distinct codes of a collection's elements, sorted; nil has none."""
        found = self._known.get(code)
        if found is None:
            value = self.values.decode(code)
            value = () if value is None else tuple(value.items()) if isinstance(value, EdnMap) else value
            if not isinstance(value, tuple | EdnSet):
                raise AdalogError(
                    Code.QUERY_INVALID,
                    f"this binding takes apart a collection, not the {type_name(value)} {write(value)}",
                    self.position,
                )
            codes = np.array([self.values.intern(element) for element in value], np.int64)
            found = self._known[code] = distinct(codes[codes != NIL])
        return found

    def _runs(self, batch: Batch) -> tuple[list[Column], Column]:
        """(the elements of each collection, int64[n]: the number of each row's)."""
        collections = batch.columns[self.collection]
        group, first = group_rows(collections[None])
        return [self._elements(code) for code in collections[first].tolist()], group

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        if not self.proposes:
            return np.full(batch.size, UNBOUNDED, np.int64)
        runs, group = self._runs(batch)
        return np.fromiter(map(len, runs), np.int64, count=len(runs))[group]

    def propose(self, batch: Batch, variable: str) -> Batch:
        runs, group = self._runs(batch)
        lengths = np.fromiter(map(len, runs), np.int64, count=len(runs))
        sizes = lengths[group]
        parent = np.repeat(np.arange(batch.size), sizes)
        # Where each row's run begins among all runs, and how far into it each new row is.
        begins = (np.cumsum(lengths) - lengths)[group] - (np.cumsum(sizes) - sizes)
        elements = np.concatenate(runs) if runs else np.empty(0, np.int64)
        return batch.extend(parent, self.out, elements[np.arange(len(parent)) + begins[parent]])

    def intersect(self, batch: Batch, variable: str) -> Batch:
        wanted, held = batch.columns[self.out], np.zeros(batch.size, np.bool_)
        collections = batch.columns[self.collection]
        order = np.argsort(collections, kind="stable")
        ordered = collections[order]
        for rows in np.split(order, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1):
            if len(rows):
                held[rows] = np.isin(wanted[rows], self._elements(int(collections[rows[0]])))
        return batch.keep(held)
