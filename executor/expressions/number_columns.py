"""Columns of longs, doubles and short bigdecs as numbers: their arithmetic and comparisons without their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.expressions import wide_decimals
from adalog.executor.expressions.decimals import (
    ScaledDecimals,
    as_decimals,
    compared,
    computed,
    scaled,
    scaled_values,
)
from adalog.executor.expressions.wide_decimals import WideDecimals
from adalog.executor.join.batch import Column, Mask
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import LONG_MAX, TAG_BIGDEC, TAG_DOUBLE, one_tag, tag_of

# Every integer up to here is a double.
_DOUBLE: Final = 1 << 53

COMPARE: Final[dict[str, Callable[[Any, Any], Mask]]] = {
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
}
ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}

Decimals = ScaledDecimals | WideDecimals
Numbers = NDArray[np.int64] | NDArray[np.float64] | Decimals
"""Longs, doubles or bigdecs, one for each row or one for all."""


class NumberColumns:
    """Reads columns of codes as numbers, each of them once."""

    def __init__(self, values: Scratch, check: Callable[[], None]) -> None:
        """`check` raises when the query should stop."""
        self._values = values
        self._check = check
        # With the codes, so that no other column has their identity.
        self._known: dict[int, tuple[Column, Numbers | None]] = {}

    def of(self, codes: Column) -> Numbers | None:
        """None where they are not all of one type of number, or one does not fit. Not of no codes."""
        known = self._known.get(id(codes))
        if known is None:
            known = self._known[id(codes)] = codes, self._read(codes)
        return known[1]

    def of_constant(self, code: int) -> Numbers | None:
        """One for all rows."""
        tag = tag_of(code)
        if tag == 0:
            return np.array(code)
        value = self._values.decode(code)
        return scaled_values([value]) if tag == TAG_BIGDEC else np.array(value) if tag == TAG_DOUBLE else None

    def codes(self, numbers: Numbers) -> Column:
        """int64[n]: the codes of numbers, one for each row."""
        if isinstance(numbers, ScaledDecimals | WideDecimals):
            return numbers.codes(self._values, self._check)
        if numbers.dtype == np.int64:
            return numbers.astype(np.int64, copy=False)
        each, where = np.unique(numbers, return_inverse=True)
        return self._values.intern_many(each.tolist())[where]

    def _read(self, codes: Column) -> Numbers | None:
        match one_tag(codes):
            case 0:
                return codes
            case int(tag) if tag == TAG_BIGDEC:
                return scaled(codes, self._values, self._check)
            case int(tag) if tag == TAG_DOUBLE:
                return self._values.doubles(codes)
        return None


def arithmetic(name: str, left: Numbers, right: Numbers) -> Numbers | None:
    """None where a long might not fit into its code, or the quotient is no double."""
    if isinstance(left, ScaledDecimals | WideDecimals) or isinstance(right, ScaledDecimals | WideDecimals):
        return _of_decimals(name, left, right)
    if left.dtype == np.int64 and right.dtype == np.int64:
        most, other = _largest(left), _largest(right)
        if name == "/" or (most * other if name == "*" else most + other) > LONG_MAX:
            return None
    elif name == "/" and not np.all(right):
        return None
    with np.errstate(all="ignore"):
        found: Numbers = np.asarray(ARITHMETIC[name](left, right))
        return found


def comparison(name: str, left: Numbers | None, right: Numbers | None) -> Mask | None:
    """Which rows a comparison holds for; None where comparing the columns would round some of them."""
    if left is None or right is None:
        return None
    if isinstance(left, ScaledDecimals | WideDecimals) or isinstance(right, ScaledDecimals | WideDecimals):
        return _decimals_compared(name, left, right)
    if left.dtype != right.dtype:
        longs = left if left.dtype == np.int64 else right
        if _largest(longs) > _DOUBLE:
            return None
    return COMPARE[name](left, right)


def _largest(numbers: NDArray[Any]) -> int:
    return max(-int(numbers.min()), int(numbers.max()))


def _of_decimals(name: str, left: Numbers, right: Numbers) -> Decimals | None:
    """As of `arithmetic`, of bigdecs or of bigdecs and longs: in 64 bits if they are enough."""
    if not isinstance(left, WideDecimals) and not isinstance(right, WideDecimals):
        a, b = as_decimals(left), as_decimals(right)
        found = None if a is None or b is None else computed(name, a, b)
        if found is not None:
            return found
    wide = _wide(left), _wide(right)
    return None if wide[0] is None or wide[1] is None else wide_decimals.computed(name, wide[0], wide[1])


def _decimals_compared(name: str, left: Numbers, right: Numbers) -> Mask | None:
    """As of `comparison`."""
    if not isinstance(left, WideDecimals) and not isinstance(right, WideDecimals):
        a, b = as_decimals(left), as_decimals(right)
        found: Mask | None = None if a is None or b is None else compared(COMPARE[name], a, b)
        if found is not None:
            return found
    wide = _wide(left), _wide(right)
    return None if wide[0] is None or wide[1] is None else wide_decimals.compared(name, wide[0], wide[1])


def _wide(numbers: Numbers) -> WideDecimals | None:
    """None of doubles."""
    if isinstance(numbers, WideDecimals):
        return numbers
    found = as_decimals(numbers)
    return None if found is None else WideDecimals.of(found)
