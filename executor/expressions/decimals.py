"""Columns of bigdecs as integers over one power of ten, so that `+ - *`, comparisons and sums need no decimals.

Exact, or not at all: where an integer might not fit, the caller computes with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.builtins.arithmetic import trimmed
from adalog.executor.join.batch import Column
from adalog.executor.kernels import group_kernels
from adalog.executor.kernels.decimal_kernels import gather_parts, to_scale
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import PAYLOAD_MASK
from adalog.store.values.short_decimals import BOUNDS, FACTORS, MOST_DIGITS, DecimalParts

# Two integers below this add up without wrapping around.
_MOST = 1 << 62
# Values between two looks at the deadline, those that are made and those that are read.
_AT_ONCE = 1 << 16
_READ_AT_ONCE = 1 << 20
# From so many codes on a kernel reads them.
_MANY = 1 << 12

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ScaledDecimals:
    """`numbers`: int64[n], or one for all rows; each stands for its quotient through 10 to the power of `scale`.
    `most`: no number's magnitude is above it; None where no such bound is known."""

    numbers: NDArray[np.int64]
    scale: int
    most: int | None = None

    @property
    def largest(self) -> int:
        return max(-int(self.numbers.min()), int(self.numbers.max()))

    @property
    def bound(self) -> int:
        """A bound of the magnitudes, without a look at the numbers where one is known."""
        return self.largest if self.most is None else self.most

    def sum_fits(self, times: int, most: int) -> bool:
        """Whether so many times the largest magnitude is below `most`."""
        return self.bound * times < most or (self.most is not None and self.largest * times < most)

    def at(self, scale: int) -> ScaledDecimals | None:
        """The same over another power, which is not less; None where it might not fit."""
        if scale == self.scale:
            return self
        factor = 10 ** (scale - self.scale)
        return None if self.largest * factor >= _MOST else ScaledDecimals(self.numbers * factor, scale)

    def codes(self, values: Scratch, check: Check) -> Column:
        """int64[n]: the codes of the bigdecs. `check` raises when the query should stop."""
        where, firsts = group_kernels.group_rows(self.numbers[None], check)
        each = self.numbers[firsts]
        made = np.empty(len(each), np.int64)
        for start in range(0, len(each), _AT_ONCE):
            check()
            piece = slice(start, start + _AT_ONCE)
            made[piece] = values.intern_decimals(each[piece], self.scale)
        return made[where]


def decimals_of(numbers: Sequence[int], scale: int) -> list[Decimal]:
    """The bigdecs of integers over a power of ten."""
    return [trimmed(Decimal(number).scaleb(-scale)) for number in numbers]


def scaled(codes: Column, values: Scratch, check: Check) -> ScaledDecimals | None:
    """The bigdecs of codes, at least one; None where one does not fit. `check` as above."""
    table = values.decimal_table(codes) if len(codes) >= _MANY else None
    if table is not None:
        return _scaled_by_table(codes, table, check)
    numbers, places = values.decimal_parts(codes)
    check()
    scale = int(places.max())
    if places.min() == scale:
        return ScaledDecimals(numbers, scale) if scale >= 0 else None
    if places.min() < 0:
        return None
    missing = scale - places
    if (np.abs(numbers) >= BOUNDS[missing]).any():
        return None
    return ScaledDecimals(numbers * FACTORS[missing], scale)


def _scaled_by_table(codes: Column, table: DecimalParts, check: Check) -> ScaledDecimals | None:
    """As of `scaled`, by the parts of all keys."""
    n = len(codes)
    numbers, digits = np.empty(n, np.int64), np.empty(n, np.int8)
    pieces = [slice(start, start + _READ_AT_ONCE) for start in range(0, n, _READ_AT_ONCE)]
    codes = np.ascontiguousarray(codes)
    for piece in pieces:
        check()
        gather_parts(codes[piece], PAYLOAD_MASK, *table, numbers[piece], digits[piece])
    least, most = int(digits.min()), int(digits.max())
    if least < 0:
        return None
    read = ScaledDecimals(numbers, most)
    largest = read.largest
    if least < most:
        # Most columns need no look at each number.
        if largest >= BOUNDS[most - least] and (np.abs(numbers) >= BOUNDS[most - digits]).any():
            return None
        for piece in pieces:
            check()
            to_scale(numbers[piece], digits[piece], most, FACTORS)
        largest = read.largest
    return ScaledDecimals(numbers, most, largest)


def scaled_values(decimals: Sequence[Decimal]) -> ScaledDecimals | None:
    """Bigdecs, at least one, over the least power of ten that has all their digits; None where one does not fit."""
    exponents = {value.as_tuple().exponent for value in decimals}
    if not all(isinstance(each, int) and -MOST_DIGITS <= each <= MOST_DIGITS for each in exponents):
        return None
    scale = max(0, *(-int(each) for each in exponents))
    if max(value.adjusted() for value in decimals) + scale >= MOST_DIGITS:
        return None
    return ScaledDecimals(np.array([int(value.scaleb(scale)) for value in decimals], np.int64), scale)


def computed(name: str, left: ScaledDecimals, right: ScaledDecimals) -> ScaledDecimals | None:
    """`left + right`, and so for `-` and `*`; None where it might not fit."""
    if name == "*":
        if left.scale + right.scale > MOST_DIGITS:
            return None
        most = left.bound * right.bound
        if most >= _MOST and (most := left.largest * right.largest) >= _MOST:
            return None
        return ScaledDecimals(np.asarray(left.numbers * right.numbers), left.scale + right.scale, most)
    pair = _alike(left, right)
    if pair is None or name not in ("+", "-"):
        return None
    a, b = pair
    return ScaledDecimals(np.asarray(a.numbers + b.numbers if name == "+" else a.numbers - b.numbers), a.scale)


def as_decimals(numbers: NDArray[Any] | ScaledDecimals) -> ScaledDecimals | None:
    """Longs as bigdecs; None for doubles."""
    if isinstance(numbers, ScaledDecimals):
        return numbers
    return ScaledDecimals(numbers, 0) if numbers.dtype == np.int64 else None


def compared(compare: Callable[[Any, Any], Any], left: ScaledDecimals, right: ScaledDecimals) -> Any:
    """Which rows a comparison holds for; None where they cannot be brought to one scale."""
    pair = _alike(left, right)
    return None if pair is None else compare(pair[0].numbers, pair[1].numbers)


def _alike(left: ScaledDecimals, right: ScaledDecimals) -> tuple[ScaledDecimals, ScaledDecimals] | None:
    scale = max(left.scale, right.scale)
    a, b = left.at(scale), right.at(scale)
    if a is None or b is None or max(a.largest, b.largest) >= _MOST:
        return None
    return a, b
