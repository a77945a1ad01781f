"""The entities, transactions, attributes and values that Spark's filters leave of the datoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from pyspark.sql import datasource

from adalog.datalog.values import LONG_MAX, LONG_MIN, Keyword
from adalog.executor.source.arrow_types import value_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.columns import Columns
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import Attribute

# What a filter adds to its value for the first and for the last number; None: it has no such bound.
_BOUNDS: Final[Mapping[type, tuple[int | None, int | None]]] = {
    datasource.EqualTo: (0, 0),
    datasource.GreaterThanOrEqual: (0, None),
    datasource.GreaterThan: (1, None),
    datasource.LessThanOrEqual: (None, 0),
    datasource.LessThan: (None, -1),
}


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Numbers from `first` to `last`, of which `among`, if it is given."""

    first: int = LONG_MIN
    last: int = LONG_MAX
    among: frozenset[int] | None = None

    def narrowed(self, filter_: datasource.Filter) -> NumberRange | None:
        """With a filter of the column; None for one that it cannot keep."""
        if isinstance(filter_, datasource.IsNotNull):
            return self
        value = getattr(filter_, "value", None)
        if isinstance(filter_, datasource.In):
            numbers = frozenset(each for each in value or () if type(each) is int)
            if len(numbers) < len(set(value or ())):
                return None
            return replace(self, among=numbers if self.among is None else self.among & numbers)
        if type(value) is not int or type(filter_) not in _BOUNDS:
            return None
        above, below = _BOUNDS[type(filter_)]
        first = self.first if above is None else max(self.first, value + above)
        return replace(self, first=first, last=self.last if below is None else min(self.last, value + below))

    def of(self, numbers: Int64s) -> np.ndarray[Any, np.dtype[np.bool_]]:
        if self.first > self.last:
            return np.zeros(len(numbers), np.bool_)
        which = (numbers >= max(self.first, LONG_MIN)) & (numbers <= min(self.last, LONG_MAX))
        if self.among is not None:
            which &= np.isin(
                numbers, np.array([each for each in self.among if LONG_MIN <= each <= LONG_MAX], np.int64)
            )
        return which


@dataclass(frozen=True, slots=True)
class DatomFilter:
    """attributes: idents as text; None: all. codes: of values; None: any."""

    entities: NumberRange = field(default_factory=NumberRange)
    transactions: NumberRange = field(default_factory=NumberRange)
    attributes: frozenset[str] | None = None
    codes: frozenset[int] | None = None

    def narrowed(
        self, filter_: datasource.Filter, attribute: Attribute | None, snapshot: Snapshot
    ) -> DatomFilter | None:
        """With a filter; None for one that Spark has to keep itself. attribute: whose values the column `v` has."""
        path: Sequence[str] = getattr(filter_, "attribute", ())
        match tuple(path):
            case ("e",):
                span = self.entities.narrowed(filter_)
                return None if span is None else replace(self, entities=span)
            case ("t",):
                span = self.transactions.narrowed(filter_)
                return None if span is None else replace(self, transactions=span)
            case ("a",):
                return self._of_attributes(filter_)
            case ("v",):
                return self._of_values(filter_, attribute, snapshot)
        return None

    def _of_attributes(self, filter_: datasource.Filter) -> DatomFilter | None:
        if isinstance(filter_, datasource.IsNotNull):
            return self
        given = _given(filter_)
        if given is None:
            return None
        names = frozenset(each for each in given if isinstance(each, str))
        return replace(self, attributes=names if self.attributes is None else self.attributes & names)

    def _of_values(
        self, filter_: datasource.Filter, attribute: Attribute | None, snapshot: Snapshot
    ) -> DatomFilter | None:
        if isinstance(filter_, datasource.IsNotNull):
            return self
        given = _given(filter_)
        if given is None or attribute is None or attribute.kind.value_type is None:
            return None
        values = [value_of(each, attribute.kind.value_type) for each in given]
        if any(each is None for each in values):
            return None
        found = {each if attribute.is_ref else snapshot.value_code(attribute, each) for each in values}
        codes = frozenset(code for code in found if code is not None)
        return replace(self, codes=codes if self.codes is None else self.codes & codes)

    def takes(self, ident: Keyword) -> bool:
        return self.attributes is None or str(ident) in self.attributes

    def of(self, columns: Columns) -> Columns:
        which = self.entities.of(columns.e) & self.transactions.of(columns.t)
        if self.codes is not None:
            which &= np.isin(columns.v, np.array(sorted(self.codes), np.int64))
        return columns if which.all() else columns.take(which)


def _given(filter_: datasource.Filter) -> tuple[Any, ...] | None:
    """The values of which a column is to have one; None for other filters."""
    match filter_:
        case datasource.EqualTo(value=value):
            return (value,)
        case datasource.In(value=values):
            return tuple(values)
    return None
