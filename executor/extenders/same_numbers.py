"""What `==` accepts of a column: the same code, or a number of another type with the same value.

A value has at most one code of each type. So where all numbers of a column have one type, there is at most one that
is equal to a value, and it is found without a search: the value itself, or what it is as a long.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.values import Float
from adalog.executor.bounds.run import QueryRun
from adalog.executor.extenders.value_order import AT_ONCE, NUMBERS, are_longs, order_of, present
from adalog.executor.join.batch import Column
from adalog.executor.join.shortcuts.narrowing import Within
from adalog.store.values.layout import LONG_MAX, LONG_MIN, NIL, TAG_DOUBLE, tags_of

_IS_NUMBER: Final = np.isin(np.arange(16), NUMBERS)
_NANS: Final = (float("nan"), Float("nan"), Decimal("nan"))


def same_in(column: Column, probes: Column, run: QueryRun) -> Within | None:
    """Per probe the codes of a sorted column that `==` says are the same; None where it is better to check each."""
    kinds = [0] if are_longs(column) else [tag for tag in present(tags_of(column)) if tag in NUMBERS]
    tags = tags_of(probes)
    first = np.arange(len(probes))
    is_number = _IS_NUMBER[tags]
    if not is_number.any() or not kinds:
        there = ~is_number & (probes != NIL)
        return Within(probes, is_sorted=True, first=first, end=first + there, is_inside=False)
    if len(kinds) == 1:
        (kind,) = kinds
        others = np.flatnonzero(is_number & (tags != kind))
        fits = (probes != NIL) if kind == 0 else ~_are_nan(probes, run) & (probes != NIL)
        codes = probes
        if len(others):
            found = (
                _as_longs(probes[others], tags[others], run)
                if kind == 0
                else _found(column, probes[others], len(probes), run)
            )
            if found is None:
                return None
            codes = probes.copy()
            codes[others], fits[others] = found
        return Within(codes, is_sorted=True, first=first, end=first + fits, is_inside=False)
    return _among_several(column, probes, is_number, run)


def _are_nan(probes: Column, run: QueryRun) -> NDArray[np.bool_]:
    nans = [code for code in map(run.values.lookup, _NANS) if code is not None]
    return np.isin(probes, nans) if nans else np.zeros(len(probes), np.bool_)


def _as_longs(probes: Column, tags: NDArray[np.int8], run: QueryRun) -> tuple[Column, NDArray[np.bool_]]:
    """(the longs that numbers of other types are equal to, whether there is one that is its own code)."""
    codes, fits = np.zeros(len(probes), np.int64), np.zeros(len(probes), np.bool_)
    rows = np.flatnonzero(tags == TAG_DOUBLE)
    numbers = run.values.doubles(probes[rows])
    # Both bounds are doubles, where the largest long of these is none. A comparison with NaN is false.
    inside = (numbers >= float(LONG_MIN)) & (numbers < float(LONG_MAX + 1))
    whole = np.where(inside, numbers, 0.5)
    longs = whole.astype(np.int64)
    codes[rows], fits[rows] = longs, longs == whole
    others = np.flatnonzero(tags != TAG_DOUBLE)
    for start in range(0, len(others), AT_ONCE):
        run.cancel.check()
        piece = others[start : start + AT_ONCE]
        for row, value in zip(piece.tolist(), run.values.decode_many(probes[piece]), strict=True):
            if LONG_MIN <= value <= LONG_MAX and value == int(value):
                codes[row], fits[row] = int(value), True
    return codes, fits


def _found(column: Column, probes: Column, prefixes: int, run: QueryRun) -> tuple[Column, NDArray[np.bool_]] | None:
    """(the codes that numbers are equal to in a column whose numbers have one type, whether there is one)."""
    order = order_of(column, run, prefixes, numbers_alone=True)
    if order is None:
        return None
    places = order.places(probes, run.values)
    return order.codes[np.minimum(places.below, len(column) - 1)], places.below < places.above


def _among_several(column: Column, probes: Column, is_number: NDArray[np.bool_], run: QueryRun) -> Within | None:
    """The same where numbers of several types stand in the column: each probe has a range of equal ones."""
    order = order_of(column, run, len(probes), numbers_alone=True)
    if order is None:
        return None
    places = order.places(probes, run.values)
    own = len(order.codes) + np.arange(len(probes))
    codes = np.concatenate((order.codes, probes))
    first, end = np.where(is_number, places.below, own), np.where(is_number, places.above, own + (probes != NIL))
    return Within(codes, is_sorted=False, first=first, end=end, is_inside=False)
