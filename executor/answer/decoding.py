"""Codes as values while a query runs: in pieces, each counted before the next is made."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Column
from adalog.executor.kernels.group_kernels import group_rows
from adalog.store.values.codes import Coder
from adalog.store.values.layout import tags_of

# Codes that are decoded between two looks at the deadline and the budget.
_PIECE: Final = 4096
# A long with its place in a list.
_LONG: Final = 40
# A piece below this is not looked at more closely.
_LIGHT: Final = 1 << 18


def decoded(codes: Column, values: Coder, cancel: Cancel, held: Held) -> NDArray[np.object_]:
    """object[n]: the values of codes, each distinct one made once. What they take is held."""
    if len(codes) <= _PIECE:
        return _objects(_piece(codes, values, held))
    where, firsts = group_rows(codes.reshape(1, -1), cancel.check)
    held.grow(8 * len(codes))
    return _objects(decoded_distinct(codes[firsts], values, cancel, held))[where]


def decoded_distinct(codes: Column, values: Coder, cancel: Cancel, held: Held) -> list[Any]:
    held.grow(8 * len(codes))
    if len(codes) > _PIECE and not tags_of(codes).any():
        held.grow(_LONG * len(codes))
        longs: list[int] = codes.tolist()
        return longs
    made: list[Any] = []
    for start in range(0, len(codes), _PIECE):
        cancel.check()
        made += _piece(codes[start : start + _PIECE], values, held)
    return made


def _piece(codes: Column, values: Coder, held: Held) -> list[Any]:
    made = values.decode_many(codes)
    size = sum(map(sys.getsizeof, made))
    if size > _LIGHT:
        # Values that repeat are one object.
        size = sum(map(weight, {id(value): value for value in made}.values()))
    held.grow(size)
    return made


def weight(value: Any) -> int:
    size = sys.getsizeof(value)
    return 6 * size if isinstance(value, tuple) else size


def _objects(values: list[Any]) -> NDArray[np.object_]:
    """A list as an array; numpy itself would read a list of tuples as a matrix."""
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array
