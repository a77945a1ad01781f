"""The compiled loop of exact sums: doubles added without rounding, and rounded once at the end.

A sum is kept as one long integer in units of 2^-1074, the least double, in limbs of 32 bits that may run over until
they are settled (Neal, "Fast exact summation using small and large superaccumulators", 2015). So it depends neither
on the order of the numbers nor on what is summed beside them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.executor.kernels.compiling import inlined, kernel
from adalog.executor.kernels.range_kernels import Ints

Doubles = NDArray[np.float64]

_UNIT = 1074
# A double reaches bit 2097; 62 bits of weights above it, and room for a sign, end below bit 70 * 32.
_LIMBS = 70
_LOW = (1 << 32) - 1
# Bits of a weight that are multiplied at once: with the 53 of a double they stay below 64.
_WEIGHT_BITS = 10


@inlined
def _add(limbs: Ints, magnitude: Any, place: Any, sign: Any) -> None:
    """Adds or takes away magnitude * 2^place, the magnitude below 2^63."""
    limb = place >> 5
    shift = np.uint64(place & 31)
    back = np.uint64(32) - shift
    low = np.uint64(_LOW)
    limbs[limb] += sign * np.int64((magnitude << shift) & low)
    limbs[limb + 1] += sign * np.int64((magnitude >> back) & low)
    limbs[limb + 2] += sign * np.int64((magnitude >> np.uint64(32)) >> back)


@kernel
def _settle(limbs: Ints, low: Any, stop: Any) -> tuple[int, int]:
    """Brings limbs low..stop to 32 bits each, of the magnitude; returns the sum's sign, and its top limb or -1."""
    sign = 1
    carry = np.int64(0)
    for i in range(low, stop):
        carry += limbs[i]
        limbs[i] = carry & _LOW
        carry >>= 32
    if carry < 0:
        sign = -1
        carry = np.int64(1)
        for i in range(low, stop):
            carry += limbs[i] ^ _LOW
            limbs[i] = carry & _LOW
            carry >>= 32
    top = stop - 1
    while top >= low and limbs[top] == 0:
        top -= 1
    return sign, top if top >= low else -1


@kernel
def _quotient(limbs: Ints, low: Any, top: int, divisor: Any) -> float:
    """The double nearest to the settled limbs through a divisor below 2^62, ties to even: long division by bits."""
    bit = 32 * top + 31
    while (limbs[top] >> (bit & 31)) & 1 == 0:
        bit -= 1
    last = np.int64(0)  # the lowest bit that a double can hold beside the highest
    quotient = np.int64(0)
    rest = np.int64(0)
    while bit >= last:
        rest = 2 * rest + ((limbs[bit >> 5] >> (bit & 31)) & 1)
        digit = rest >= divisor
        if digit:
            rest -= divisor
            if quotient == 0 and bit > 52:
                last = np.int64(bit - 52)
        quotient = 2 * quotient + digit
        bit -= 1
    rest *= 2
    inexact = False
    if bit >= 0:
        rest += (limbs[bit >> 5] >> (bit & 31)) & 1
        inexact = limbs[bit >> 5] & ((np.int64(1) << (bit & 31)) - 1) != 0
        for i in range(low, bit >> 5):
            inexact = inexact or limbs[i] != 0
    if rest > divisor or (rest == divisor and (inexact or quotient & 1)):
        quotient += 1
    return math.ldexp(np.float64(quotient), int(last) - _UNIT)


@kernel
def _by_group(numbers: Doubles, group: Ints, weight: Ints, groups: int) -> tuple[Doubles, Ints, Ints]:
    """The numbers and weights group by group, and where each group begins and the last ends."""
    begins = np.zeros(groups + 1, np.int64)
    for i in range(group.size):
        begins[group[i] + 1] += 1
    for g in range(groups):
        begins[g + 1] += begins[g]
    if groups == 1:
        return numbers, weight, begins
    free = begins[:-1].copy()
    moved = np.empty_like(numbers)
    weights = np.empty_like(weight)
    for i in range(group.size):
        at = free[group[i]]
        free[group[i]] = at + 1
        moved[at] = numbers[i]
        weights[at] = weight[i]
    return moved, weights, begins


@kernel
def exact_sums(numbers: Doubles, group: Ints, weight: Ints, groups: int, average: bool) -> Doubles:
    """float64[groups]: of each group the double nearest to the exact sum of number * weight; with `average` to that
    sum through the sum of the weights.

    Fewer than 2^28 rows, so that no limb overflows before it is settled; weights whose magnitudes sum up to less
    than 2^62, for an average with a sum above zero. A sum beyond the largest double is an infinity; a NaN, or
    infinities of both signs, make a NaN.
    """
    numbers, weight, begins = _by_group(numbers, group, weight, groups)
    bits = numbers.view(np.int64)
    limbs = np.zeros(_LIMBS, np.int64)
    made = np.empty(groups, np.float64)
    for g in range(groups):
        low = np.int64(_LIMBS)
        high = np.int64(0)
        infinite = 0.0
        times = np.int64(0)
        for i in range(begins[g], begins[g + 1]):
            exponent = (bits[i] >> 52) & 0x7FF
            if exponent == 0x7FF:
                infinite += numbers[i] if weight[i] > 0 else -numbers[i]
                continue
            magnitude = np.uint64(bits[i] & ((1 << 52) - 1))
            if exponent > 0:
                magnitude |= np.uint64(1 << 52)
                exponent -= 1
            sign = np.int64(1) | (bits[i] >> 63)
            low = min(low, exponent >> 5)
            more = abs(weight[i])
            times += weight[i]
            if weight[i] < 0:
                sign = -sign
            while more > 1:
                part = np.uint64(more & ((1 << _WEIGHT_BITS) - 1))
                _add(limbs, magnitude * part, exponent, sign)
                exponent += _WEIGHT_BITS
                more >>= _WEIGHT_BITS
            if more == 1:
                _add(limbs, magnitude, exponent, sign)
            high = max(high, exponent >> 5)
        stop = min(high + 5, np.int64(_LIMBS))
        sign, top = _settle(limbs, low, stop)
        if infinite != 0.0:
            made[g] = infinite
        elif top < 0:
            made[g] = 0.0
        else:
            # A zero has no sign: equal values have equal codes.
            made[g] = sign * _quotient(limbs, low, top, times if average else np.int64(1)) + 0.0
        limbs[low:stop] = 0
    return made
