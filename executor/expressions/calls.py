"""Calls of built-ins over columns of codes.

Values are decoded only here, a column at a time and once for each distinct tuple of arguments. Arithmetic and
comparisons of longs, of doubles and of short bigdecs are done on columns of numbers, also within each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.values import sort_key
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions import membership
from adalog.executor.expressions.number_columns import (
    ARITHMETIC,
    COMPARE,
    NumberColumns,
    Numbers,
    arithmetic,
    comparison,
)
from adalog.executor.expressions.text_columns import FALSE_OF_NIL, TextTest, pieces_of, text_test
from adalog.executor.join.batch import Batch, Column, Mask, stack
from adalog.executor.kernels import group_kernels
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import (
    FALSE,
    NIL,
    TAG_INSTANT,
    TRUE,
    one_tag,
)

# Work between two looks at the deadline, in characters gone through; a call by itself is worth so many.
_WORK = 1 << 16
_CALL = 1 << 10
# Rows of arguments that are decoded at once.
_DECODED = 1 << 14


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


Argument = str | int
"""A variable's name, or a constant's code."""
Operand = Argument | Results
"""An argument, or what gives its value."""
_Leaf = str | Results


def variables_of(operands: Sequence[Operand]) -> frozenset[str]:
    found: set[str] = set()
    for each in operands:
        if isinstance(each, str):
            found.add(each)
        elif not isinstance(each, int):
            found |= each.variables
    return frozenset(found)


def column_of(operand: Operand, batch: Batch) -> Column:
    """int64[n]: the codes of an argument."""
    if isinstance(operand, str):
        return batch.columns[operand]
    return np.full(batch.size, operand, np.int64) if isinstance(operand, int) else operand.results(batch)


@dataclass(frozen=True, eq=False)
class Call:
    """A built-in applied to arguments. `apply` takes EDN values and gives one, None for nil. `nil_gives_nil`: it is
    not applied to nil."""

    name: str
    arguments: tuple[Operand, ...]
    apply: Callable[..., Any]
    running: Running
    position: Position | None
    nil_gives_nil: bool = False

    @property
    def values(self) -> Scratch:
        return self.running.run.values

    @property
    def cancel(self) -> Cancel:
        return self.running.run.cancel

    @property
    def variables(self) -> frozenset[str]:
        return variables_of(self.arguments)

    @property
    def is_plain(self) -> bool:
        """Whether no argument is a call."""
        return not any(isinstance(each, Call) for each in self.arguments)

    def leaves(self) -> dict[_Leaf, None]:
        """The variables and conditionals that it is computed from, by way of the calls within it."""
        found: dict[_Leaf, None] = {}
        for each in self.arguments:
            if isinstance(each, Call):
                found |= each.leaves()
            elif not isinstance(each, int):
                found[each] = None
        return found

    def results(self, batch: Batch) -> Column:
        """int64[n]: the code of the result for each row; NIL where it is nil."""
        if not batch.size:
            return np.empty(0, np.int64)
        return self._results({leaf: column_of(leaf, batch) for leaf in self.leaves()}, batch.size)

    def holding(self, batch: Batch) -> Mask | None:
        """bool[n]: the rows whose result is neither nil nor false, of comparisons and tests of texts, which need no
        codes for that; None of others, and where it takes the values."""
        leaves = self.leaves()
        if not batch.size or not leaves:
            return None
        return self._holding({leaf: column_of(leaf, batch) for leaf in leaves})

    def numbers(self, batch: Batch, numbers: NumberColumns) -> Numbers | None:
        """The results of arithmetic on numbers, which need no codes then; None where some are nil or others."""
        leaves = self.leaves()
        if not batch.size or not leaves:
            return None
        return self._numbers({leaf: column_of(leaf, batch) for leaf in leaves}, numbers)

    def _results(self, columns: Mapping[_Leaf, Column], size: int) -> Column:
        of_nil = self._of_nil
        if columns and of_nil is not None:
            there = np.flatnonzero(np.all([column != NIL for column in columns.values()], axis=0))
            if len(there) < size:
                # Nil among numbers would keep all of them from being computed as numbers.
                found = np.full(size, of_nil, np.int64)
                if len(there):
                    few = {leaf: column[there] for leaf, column in columns.items()}
                    found[there] = self._results(few, len(there))
                return found
        quick = self._quick(columns)
        if quick is not None:
            return quick
        row = self._row_function(list(columns))
        if not columns:
            with watching(self.cancel.check):
                value = row(())
            return np.full(size, self.values.intern(value), np.int64)
        group, first = group_kernels.group_rows(stack(columns.values()), self.cancel.check)
        codes = np.empty(len(first), np.int64)
        pieces = [first[start : start + _DECODED] for start in range(0, len(first), _DECODED)]
        try:
            for number, piece in enumerate(pieces):
                start = number * _DECODED
                self._call(codes[start : start + _DECODED], self._decoded(columns, piece), row)
        except AdalogError as error:
            if error.code is not Code.QUERY_INVALID:
                raise
            raise self._least_refusal(columns, pieces, row, error) from error
        return codes[group]

    def _decoded(self, columns: Mapping[_Leaf, Column], rows: Column) -> list[Sequence[Any]]:
        return [self.values.decode_many(column[rows]) for column in columns.values()]

    def _least_refusal(
        self,
        columns: Mapping[_Leaf, Column],
        pieces: Sequence[Column],
        row: Callable[[Any], Any],
        first: AdalogError,
    ) -> AdalogError:
        """Of the arguments that are refused the least ones, by the order of values. That of codes is the order in
        which the database came to know them, which hidden data have a part in."""
        least, found = None, first
        with watching(self.cancel.check):
            for piece in pieces:
                for given in zip(*self._decoded(columns, piece), strict=True):
                    self.cancel.check()
                    try:
                        row(given)
                    except AdalogError as error:
                        if error.code is not Code.QUERY_INVALID:
                            raise
                        key = tuple(map(sort_key, given))
                        if least is None or key < least:
                            least, found = key, error
        return found

    def _call(self, codes: Column, decoded: Sequence[Sequence[Any]], row: Callable[[Any], Any]) -> None:
        """Writes the code of the result for each row of values."""
        longest = sum(max(map(len, column)) for column in decoded if type(column[0]) is str and _all_texts(column))
        every = max(1, _WORK // (_CALL + longest))
        with watching(self.cancel.check):
            for i, given in enumerate(zip(*decoded, strict=True)):
                if i % every == 0:
                    self.cancel.check()
                codes[i] = self.values.intern(row(given))

    # By the row

    def _row_function(self, leaves: Sequence[_Leaf]) -> Callable[[Any], Any]:
        """From the values of the leaves to the result."""
        if self.arguments == tuple(leaves) and not self.nil_gives_nil:
            return self._apply
        return self._over({leaf: place for place, leaf in enumerate(leaves)})

    def _over(self, places: Mapping[_Leaf, int]) -> Callable[[Any], Any]:
        getters = [self._getter(each, places) for each in self.arguments]
        apply, nil_gives_nil = self._apply, self.nil_gives_nil

        def result(row: Any) -> Any:
            given = [getter(row) for getter in getters]
            return None if nil_gives_nil and None in given else apply(given)

        return result

    def _getter(self, operand: Operand, places: Mapping[_Leaf, int]) -> Callable[[Any], Any]:
        if isinstance(operand, Call):
            return operand._over(places)
        if isinstance(operand, int):
            value = self.values.decode(operand)
            return lambda row: value
        return itemgetter(places[operand])

    def _apply(self, arguments: Sequence[Any]) -> Any:
        try:
            return self.apply(*arguments)
        except AdalogError as error:
            if error.position is None:
                raise AdalogError(error.code, error.message, self.position) from error
            raise

    # By the column

    @property
    def _of_nil(self) -> int | None:
        """The code of the result where an argument is nil, of comparisons and arithmetic of numbers; None of
        others, and where calls within may refuse what they are given."""
        if self.name in FALSE_OF_NIL and self._text_test is not None:
            return FALSE
        if self.name not in COMPARE.keys() | ARITHMETIC.keys() or len(self.arguments) < 2 or not self.is_plain:
            return None
        return FALSE if self.name in COMPARE else NIL if self.nil_gives_nil else None

    def _quick(self, columns: Mapping[_Leaf, Column]) -> Column | None:
        """The results on columns of codes or numbers; None where they take the values."""
        if not columns:
            return None
        holding = self._holding(columns)
        if holding is not None:
            test = self._text_test
            return np.where(holding, test.holds, test.fails) if test is not None else np.where(holding, TRUE, FALSE)
        match self.name, self.arguments:
            case "subs", (str() as text, int() as start, int() as end):
                return pieces_of(columns[text], start, end, self.running.run)
        if self.name in membership.NAMES:
            return self._membership(columns, len(next(iter(columns.values()))))
        numbers = NumberColumns(self.values, self.cancel.check)
        computed = self._numbers(columns, numbers)
        return None if computed is None else numbers.codes(computed)

    @cached_property
    def _text_test(self) -> TextTest | None:
        return text_test(self.name, self.arguments)

    def _holding(self, columns: Mapping[_Leaf, Column]) -> Mask | None:
        """As of `holding`."""
        test = self._text_test
        holds: Mask | None = None
        if test is not None:
            holds = test.holding(columns[test.variable], self.running.run)
        if holds is not None or len(self.arguments) != 2:
            return holds
        if self.name in ("=", "not=", "!=") and self.is_plain:
            a, b = (each if isinstance(each, int) else columns[each] for each in self.arguments)
            return np.asarray(((a == b) == (self.name == "=")) & (a != NIL) & (b != NIL))
        if self.name not in COMPARE:
            return None
        holds = self._instants_compared(columns)
        if holds is None:
            numbers = NumberColumns(self.values, self.cancel.check)
            pair = [self._numbers_of(each, columns, numbers) for each in self.arguments]
            holds = comparison(self.name, pair[0], pair[1])
        return None if holds is None else np.broadcast_to(holds, len(next(iter(columns.values()))))

    def _membership(self, columns: Mapping[_Leaf, Column], size: int) -> Column | None:
        subject, collection = self.arguments
        if not isinstance(collection, int) or isinstance(subject, int):
            return None
        codes = subject._results(columns, size) if isinstance(subject, Call) else columns[subject]
        return membership.among(self.name, codes, collection, self.values)

    def _instants_compared(self, columns: Mapping[_Leaf, Column]) -> Mask | None:
        """Which rows a comparison of instants holds for, whose codes are in their order; None of others."""
        if not self.is_plain:
            return None
        a, b = (np.array([each]) if isinstance(each, int) else columns[each] for each in self.arguments)
        if one_tag(a) != TAG_INSTANT or one_tag(b) != TAG_INSTANT:
            return None
        return COMPARE[self.name](a, b)

    def _numbers(self, columns: Mapping[_Leaf, Column], numbers: NumberColumns) -> Numbers | None:
        """The results of arithmetic as numbers; None where they are others, or might not fit."""
        if self.name not in ARITHMETIC or not self.arguments:
            return None
        found: Numbers | None = np.array(0) if len(self.arguments) == 1 and self.name == "-" else None
        if found is None and len(self.arguments) < 2:
            return None
        for operand in self.arguments:
            number = self._numbers_of(operand, columns, numbers)
            if number is None:
                return None
            found = number if found is None else arithmetic(self.name, found, number)
            if found is None:
                return None
        return found

    def _numbers_of(
        self, operand: Operand, columns: Mapping[_Leaf, Column], numbers: NumberColumns
    ) -> Numbers | None:
        if isinstance(operand, Call):
            return operand._numbers(columns, numbers)
        if isinstance(operand, int):
            return numbers.of_constant(operand)
        return numbers.of(columns[operand])


def _all_texts(values: Sequence[Any]) -> bool:
    return set(map(type, values)) == {str}
