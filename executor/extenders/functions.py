"""Predicates, functions and unnesting as extenders.

Values are decoded only here, a column at a time and once for each distinct argument tuple; comparisons and simple
arithmetic on longs are done on the codes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.values import EdnMap, EdnSet, type_name
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.join.batch import Batch, Column, Mask, stack
from adalog.executor.join.protocol import UNBOUNDED, AtLevel, Check, level_of
from adalog.executor.kernels import group_kernels
from adalog.store.tries.trie import distinct
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import FALSE, LONG_MAX, LONG_MIN, NIL, TRUE

Argument = str | int
"""A variable's name, or a constant's code."""

# Work between two looks at the deadline, in characters gone through; a call by itself is worth so many.
_WORK = 1 << 16
_CALL = 1 << 10
# Rows of arguments that are decoded at once.
_DECODED = 1 << 14

_COMPARE: dict[str, Callable[[Column, Column], Mask]] = {
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
}
_ARITHMETIC: dict[str, Callable[[Column, Column], Column]] = {"+": np.add, "-": np.subtract, "*": np.multiply}


class Running(Protocol):
    """What has a run: the one that is under way, where it is bound once and run several times."""

    @property
    def run(self) -> QueryRun: ...


class Results(Protocol):
    """What gives a value for each row: a built-in applied to arguments, or a query within the query."""

    @property
    def variables(self) -> frozenset[str]: ...

    def results(self, batch: Batch) -> Column:
        """int64[n]: the code of the result for each row; NIL where it is nil."""


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in applied to arguments. `apply` takes EDN values and gives one, None for nil."""

    name: str
    arguments: tuple[Argument, ...]
    apply: Callable[..., Any]
    running: Running
    position: Position | None

    @property
    def values(self) -> Scratch:
        return self.running.run.values

    @property
    def cancel(self) -> Cancel:
        return self.running.run.cancel

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(a for a in self.arguments if isinstance(a, str))

    def _columns(self, batch: Batch) -> list[Column]:
        return [
            batch.columns[a] if isinstance(a, str) else np.full(batch.size, a, np.int64) for a in self.arguments
        ]

    def results(self, batch: Batch) -> Column:
        """int64[n]: the code of the result for each row; NIL where it is nil."""
        columns = self._columns(batch)
        quick = self._on_longs(columns)
        if quick is not None:
            return quick
        variables = sorted(self.variables)
        if not variables:
            with watching(self.cancel.check):
                value = self._apply([self.values.decode(a) for a in self.arguments if isinstance(a, int)])
            return np.full(batch.size, self.values.intern(value), np.int64)
        group, first = group_kernels.group_rows(stack(batch.columns[name] for name in variables), self.cancel.check)
        codes = np.empty(len(first), np.int64)
        for start in range(0, len(first), _DECODED):
            decoded = [self.values.decode_many(column[first[start : start + _DECODED]]) for column in columns]
            self._call(codes[start : start + _DECODED], decoded)
        return codes[group]

    def _call(self, codes: Column, decoded: Sequence[Sequence[Any]]) -> None:
        """Writes the code of the result for each row of values."""
        longest = sum(max(map(len, column)) for column in decoded if type(column[0]) is str and _all_texts(column))
        every = max(1, _WORK // (_CALL + longest))
        with watching(self.cancel.check):
            for i, row in enumerate(zip(*decoded, strict=True)):
                if i % every == 0:
                    self.cancel.check()
                codes[i] = self.values.intern(self._apply(row))

    def _apply(self, arguments: Sequence[Any]) -> Any:
        try:
            return self.apply(*arguments)
        except AdalogError as error:
            if error.position is None:
                raise AdalogError(error.code, error.message, self.position) from error
            raise

    def _on_longs(self, columns: list[Column]) -> Column | None:
        if len(columns) != 2:
            return None
        a, b = columns
        if self.name in ("=", "not=", "!="):
            return np.where((a == b) == (self.name == "="), TRUE, FALSE)
        if self.name not in _COMPARE and self.name not in _ARITHMETIC:
            return None
        if not (_all_longs(a) and _all_longs(b)):
            return None
        if self.name in _COMPARE:
            return np.where(_COMPARE[self.name](a, b), TRUE, FALSE)
        limit = 1 << (29 if self.name == "*" else 57)
        if len(a) and max(-int(a.min()), int(a.max()), -int(b.min()), int(b.max())) >= limit:
            return None
        return _ARITHMETIC[self.name](a, b)


def _all_texts(values: Sequence[Any]) -> bool:
    return set(map(type, values)) == {str}


def _all_longs(codes: Column) -> bool:
    return bool(((codes >= LONG_MIN) & (codes <= LONG_MAX)).all())


class FilterExtender(AtLevel, Check):
    """`[(pred …)]`: keeps the rows whose result is neither nil nor false."""

    def __init__(self, call: Call, rank: dict[str, int]) -> None:
        self.call = call
        self.level = level_of(call.variables, rank)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        codes = self.call.results(batch)
        return batch.keep((codes != FALSE) & (codes != NIL))


class FunctionExtender(AtLevel):
    """`[(f …) ?out]`: proposes its one value where the arguments are bound first, else compares."""

    def __init__(self, call: Results, out: str, rank: dict[str, int]) -> None:
        self.call = call
        self.out = out
        self.level = level_of(call.variables | {out}, rank)
        self.proposes = self.level == out and out not in call.variables

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return np.full(batch.size, 1 if self.proposes else UNBOUNDED, np.int64)

    def propose(self, batch: Batch, variable: str) -> Batch:
        codes = self.call.results(batch)
        return batch.having(self.out, codes).keep(codes != NIL)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        codes = self.call.results(batch)
        return batch.keep((codes == batch.columns[self.out]) & (codes != NIL))


class UnnestExtender(AtLevel):
    """One row for each element of a collection value: the bindings `[?x ...]` and `[[?a ?b]]`."""

    def __init__(
        self, collection: str, out: str, values: Scratch, position: Position | None, rank: dict[str, int]
    ) -> None:
        self.collection = collection
        self.out = out
        self.values = values
        self.position = position
        self.level = level_of(frozenset((collection, out)), rank)
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

    def _runs(self, batch: Batch) -> list[Column]:
        return [self._elements(code) for code in batch.columns[self.collection].tolist()]

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        if not self.proposes:
            return np.full(batch.size, UNBOUNDED, np.int64)
        return np.fromiter((len(run) for run in self._runs(batch)), np.int64, count=batch.size)

    def propose(self, batch: Batch, variable: str) -> Batch:
        runs = self._runs(batch)
        lengths = np.fromiter((len(run) for run in runs), np.int64, count=batch.size)
        parent = np.repeat(np.arange(batch.size), lengths)
        return batch.extend(parent, self.out, np.concatenate(runs) if runs else np.empty(0, np.int64))

    def intersect(self, batch: Batch, variable: str) -> Batch:
        runs = self._runs(batch)
        wanted = batch.columns[self.out].tolist()
        held = [bool(np.isin(x, run)) for x, run in zip(wanted, runs, strict=True)]
        return batch.keep(np.array(held, np.bool_))
