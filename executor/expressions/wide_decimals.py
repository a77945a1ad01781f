"""Columns of bigdecs that 64 bits do not hold, as integers of several limbs over one power of ten.

Their products, sums and comparisons are exact. The value of a row is the sum of limb k times 2 to the power of
30 k. In their normal form all limbs but the last are from 0 to 2^30 - 1, and the last one has the sign: so
products of limbs add up within 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.builtins.arithmetic import EXACT, trimmed
from adalog.executor.expressions.decimals import Check, ScaledDecimals
from adalog.executor.join.batch import Column, Mask
from adalog.executor.kernels import group_kernels
from adalog.store.values.codes import Scratch

_BITS: Final = 30
_LOW: Final = (1 << _BITS) - 1
# Limbs of a column, and products that are added up before their sum is brought to its normal form.
_MOST_LIMBS: Final = 6
_MOST_TERMS: Final = 3
# The power of ten that a number without limbs may be.
_POWER: Final = 18
# Sums of so many limbs do not wrap around.
_MOST_WEIGHT: Final = 1 << (62 - _BITS)
# Values between two looks at the deadline.
_AT_ONCE: Final = 1 << 14

Limb = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WideDecimals:
    """`limbs`: each int64[n], or one for all rows, in their normal form; each integer stands for its quotient
    through 10 to the power of `scale`."""

    limbs: tuple[Limb, ...]
    scale: int

    @staticmethod
    def of(numbers: ScaledDecimals) -> WideDecimals:
        return WideDecimals(_normal((numbers.numbers,)), numbers.scale)

    def at(self, scale: int) -> WideDecimals | None:
        """The same over another power, which is not less; None where it has too many limbs."""
        found: WideDecimals | None = self
        while found is not None and found.scale < scale:
            power = min(scale - found.scale, _POWER)
            limbs = _product(found.limbs, _normal((np.array(10**power),)))
            found = None if limbs is None else WideDecimals(limbs, found.scale + power)
        return found

    def codes(self, values: Scratch, check: Check) -> Column:
        """int64[n]: the codes of the bigdecs. `check` raises when the query should stop."""
        limbs = np.stack(np.broadcast_arrays(*self.limbs))
        where, firsts = group_kernels.group_rows(np.ascontiguousarray(limbs), check)
        made = np.empty(len(firsts), np.int64)
        for start in range(0, len(firsts), _AT_ONCE):
            check()
            piece = slice(start, start + _AT_ONCE)
            numbers = _whole([limb[firsts[piece]].astype(object) for limb in limbs])
            made[piece] = values.intern_many(decimal_of(number, self.scale) for number in numbers)
        return made[where]

    def sums(self, group: Column, weight: Column, count: int) -> list[int] | None:
        """The sum of each group, times ten to the power of `scale`; None where it might not fit."""
        if int(np.abs(weight).sum()) >= _MOST_WEIGHT:
            return None
        return list(
            _whole([group_kernels.sum_by_group(group, limb * weight, count).astype(object) for limb in self.limbs])
        )


def decimal_of(number: int, scale: int) -> Decimal:
    """The bigdec of an integer of any size over a power of ten."""
    return trimmed(EXACT.scaleb(Decimal(number), -scale))


def computed(name: str, left: WideDecimals, right: WideDecimals) -> WideDecimals | None:
    """`left + right`, and so for `-` and `*`; None where it has too many limbs."""
    if name == "*":
        limbs = _product(left.limbs, right.limbs)
        return None if limbs is None else WideDecimals(limbs, left.scale + right.scale)
    if name not in ("+", "-"):
        return None
    scale = max(left.scale, right.scale)
    a, b = left.at(scale), right.at(scale)
    if a is None or b is None:
        return None
    size = max(len(a.limbs), len(b.limbs))
    pairs = zip(_padded(a.limbs, size), _padded(b.limbs, size), strict=True)
    limbs = _normal([x + y if name == "+" else x - y for x, y in pairs])
    return WideDecimals(limbs, scale) if len(limbs) <= _MOST_LIMBS else None


def compared(name: str, left: WideDecimals, right: WideDecimals) -> Mask | None:
    """Which rows a comparison holds for; None where they cannot be brought to one scale."""
    found = computed("-", left, right)
    if found is None:
        return None
    less: Mask = np.asarray(found.limbs[-1] < 0)
    same: Mask = np.all([limb == 0 for limb in np.broadcast_arrays(*found.limbs)], axis=0)
    match name:
        case "<":
            return less
        case "<=":
            return less | same
        case ">":
            return ~(less | same)
        case ">=":
            return ~less
        case _:
            return same


def _normal(limbs: Sequence[Limb]) -> tuple[Limb, ...]:
    """The normal form of limbs, each below 2^62."""
    made: list[Limb] = []
    carry: Limb = np.array(0)
    for limb in limbs[:-1]:
        limb = limb + carry
        made.append(np.asarray(limb & _LOW))
        carry = np.asarray(limb >> _BITS)
    last = np.asarray(limbs[-1] + carry)
    while ((last > _LOW) | (last < -_LOW)).any():
        made.append(np.asarray(last & _LOW))
        last = np.asarray(last >> _BITS)
    made.append(last)
    while len(made) > 1 and not made[-1].any():
        made.pop()
    return tuple(made)


def _product(left: Sequence[Limb], right: Sequence[Limb]) -> tuple[Limb, ...] | None:
    if min(len(left), len(right)) > _MOST_TERMS or len(left) + len(right) > _MOST_LIMBS + 1:
        return None
    limbs: list[Limb] = [np.array(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for k, b in enumerate(right, i):
            limbs[k] = np.asarray(limbs[k] + a * b)
    made = _normal(limbs)
    return made if len(made) <= _MOST_LIMBS else None


def _padded(limbs: Sequence[Limb], size: int) -> list[Limb]:
    return [*limbs, *[np.array(0)] * (size - len(limbs))]


def _whole(limbs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Python's integers of limbs that are such."""
    numbers = limbs[-1]
    for limb in reversed(limbs[:-1]):
        numbers = numbers * (1 << _BITS) + limb
    return numbers
