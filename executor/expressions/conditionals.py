"""`if`, `cond`, `case`, `coalesce`, `and`, `or` over columns of codes: each argument for the rows that need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adalog.executor.expressions.calls import Operand, column_of, variables_of
from adalog.executor.join.batch import Batch, Column, Mask
from adalog.store.values.layout import FALSE, NIL


def truthy(codes: Column) -> Mask:
    holds: Mask = (codes != FALSE) & (codes != NIL)
    return holds


class _Rows:
    """The rows that have no result yet."""

    def __init__(self, batch: Batch, variables: frozenset[str]) -> None:
        self.batch = Batch(batch.size, {name: batch.columns[name] for name in variables})
        self.places: NDArray[np.int64] = np.arange(batch.size)
        self.codes = np.full(batch.size, NIL, np.int64)

    def settle(self, operand: Operand, mask: Mask) -> None:
        """Gives some of the rows the value of an operand, and goes on with the others."""
        if mask.any():
            self.codes[self.places[mask]] = column_of(operand, self.batch.keep(mask))
            self.batch, self.places = self.batch.keep(~mask), self.places[~mask]


@dataclass(frozen=True, eq=False)
class Conditions:
    """`if` and `cond`: (condition, value) in order, and the value where none holds."""

    pairs: Sequence[tuple[Operand, Operand]]
    default: Operand

    @property
    def variables(self) -> frozenset[str]:
        return variables_of([*(each for pair in self.pairs for each in pair), self.default])

    def results(self, batch: Batch) -> Column:
        rows = _Rows(batch, self.variables)
        for condition, value in self.pairs:
            rows.settle(value, truthy(column_of(condition, rows.batch)))
        rows.settle(self.default, np.ones(rows.batch.size, np.bool_))
        return rows.codes


@dataclass(frozen=True, eq=False)
class Cases:
    """`case`: (codes of constants, value) in order, and the value for all others."""

    subject: Operand
    pairs: Sequence[tuple[Column, Operand]]
    default: Operand

    @property
    def variables(self) -> frozenset[str]:
        return variables_of([self.subject, *(value for _, value in self.pairs), self.default])

    def results(self, batch: Batch) -> Column:
        rows = _Rows(batch, self.variables)
        subject = column_of(self.subject, rows.batch)
        for constants, value in self.pairs:
            rows.settle(value, np.isin(subject[rows.places], constants))
        rows.settle(self.default, np.ones(rows.batch.size, np.bool_))
        return rows.codes


@dataclass(frozen=True, eq=False)
class ShortCircuit:
    """`and`, `or` and `coalesce`: the first value that settles it, else the last one."""

    name: str
    operands: Sequence[Operand]

    @property
    def variables(self) -> frozenset[str]:
        return variables_of(self.operands)

    def results(self, batch: Batch) -> Column:
        rows = _Rows(batch, self.variables)
        for operand in self.operands[:-1]:
            codes = column_of(operand, rows.batch)
            rows.codes[rows.places] = codes
            go_on = codes == NIL if self.name == "coalesce" else truthy(codes) == (self.name == "and")
            rows.batch, rows.places = rows.batch.keep(go_on), rows.places[go_on]
        rows.settle(self.operands[-1], np.ones(rows.batch.size, np.bool_))
        return rows.codes
