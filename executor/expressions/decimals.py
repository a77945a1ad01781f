"""Columns of bigdecs as integers over one power of ten, so that `+ - *`, comparisons and sums need no decimals.

Exact, or not at all: where an integer might not fit, the caller computes with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.datalog.builtins.arithmetic import trimmed
from adalog.executor.join.batch import Column
from adalog.store.values.codes import Scratch
from adalog.store.values.decimals import digits_of

# Two integers below this add up without wrapping around.
_MOST = 1 << 62
# Digits, and those after the point.
_LONGEST = 18
_IN_ARROW = 38
# Values between two looks at the deadline.
_AT_ONCE = 1 << 14

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ScaledDecimals:
    """`numbers`: int64[n], or one for all rows; each stands for its quotient through 10 to the power of `scale`."""

    numbers: NDArray[np.int64]
    scale: int

    @property
    def largest(self) -> int:
        return max(-int(self.numbers.min()), int(self.numbers.max()))

    def at(self, scale: int) -> ScaledDecimals | None:
        """The same over another power, which is not less; None where it might not fit."""
        if scale == self.scale:
            return self
        factor = 10 ** (scale - self.scale)
        return None if self.largest * factor >= _MOST else ScaledDecimals(self.numbers * factor, scale)

    def codes(self, values: Scratch, check: Check) -> Column:
        """int64[n]: the codes of the bigdecs. `check` raises when the query should stop."""
        each, where = np.unique(self.numbers, return_inverse=True)
        made = np.empty(len(each), np.int64)
        for start in range(0, len(each), _AT_ONCE):
            check()
            piece = slice(start, start + _AT_ONCE)
            made[piece] = values.intern_many(decimals_of(each[piece].tolist(), self.scale))
        return made[where]


def decimals_of(numbers: Sequence[int], scale: int) -> list[Decimal]:
    """The bigdecs of integers over a power of ten."""
    return [trimmed(Decimal(number).scaleb(-scale)) for number in numbers]


def scaled(codes: Column, values: Scratch, check: Check) -> ScaledDecimals | None:
    """The bigdecs of codes, at least one; None where one does not fit. `check` as above."""
    each, where = np.unique(codes, return_inverse=True)
    texts = values.decimal_texts(each)
    check()
    digits = digits_of(texts)
    if digits.fraction > _LONGEST or digits.whole + digits.fraction > _LONGEST:
        return None
    limbs = texts.cast(pa.decimal128(_IN_ARROW, digits.fraction)).buffers()[1]
    # Of two limbs the lower one, which has all of such a number.
    numbers = np.frombuffer(limbs, "<i8", 2 * len(each))[::2]
    return ScaledDecimals(numbers[where], digits.fraction)


def scaled_values(decimals: Sequence[Decimal]) -> ScaledDecimals | None:
    """Bigdecs, at least one, over the least power of ten that has all their digits; None where one does not fit."""
    exponents = {value.as_tuple().exponent for value in decimals}
    if not all(isinstance(each, int) and -_LONGEST <= each <= _LONGEST for each in exponents):
        return None
    scale = max(0, *(-int(each) for each in exponents))
    if max(value.adjusted() for value in decimals) + scale >= _LONGEST:
        return None
    return ScaledDecimals(np.array([int(value.scaleb(scale)) for value in decimals], np.int64), scale)


def computed(name: str, left: ScaledDecimals, right: ScaledDecimals) -> ScaledDecimals | None:
    """`left + right`, and so for `-` and `*`; None where it might not fit."""
    if name == "*":
        if left.largest * right.largest >= _MOST or left.scale + right.scale > _LONGEST:
            return None
        return ScaledDecimals(np.asarray(left.numbers * right.numbers), left.scale + right.scale)
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
