"""A value as an attribute's type, where nothing is lost by it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow
from typing import Any, Final

from adalog.datalog.values import LONG_MAX, LONG_MIN, BigInt, Float, type_name

WHOLE: Final = frozenset({"long", "bigint"})
FIRST_ROUNDED: Final = 2.0**53
"""The first double that stands for several whole numbers."""
_MAX_DIGITS: Final = 20_000
_EXACT: Final = Context(prec=_MAX_DIGITS, traps=[Inexact, Overflow, InvalidOperation])


def coerced(value_type: str, value: Any) -> Any | None:
    """The value as this type (not ref or tuple, which need a schema), or None where that would lose something.

    A double becomes a float by rounding, since EDN has no way to write a float.
    """
    name = type_name(value)
    if name == value_type:
        if name == "long" and not LONG_MIN <= value <= LONG_MAX:
            return None
        return value
    convert = _CONVERSIONS.get((name, value_type))
    return None if convert is None else convert(value)


def asserted(value_type: str, value: Any) -> Any | None:
    """The same for a value that is written. A double from 2^53 on is no whole number then: it may have been another
    one that was rounded."""
    if isinstance(value, float) and value_type in WHOLE and abs(value) >= FIRST_ROUNDED:
        return None
    return coerced(value_type, value)


def added(old: Any, more: Any) -> Any | None:
    """The sum of two numbers of whatever types; a missing one counts as nothing. None for more digits than a bigdec
    may have."""
    if old is None:
        return more
    if isinstance(old, Decimal) or isinstance(more, Decimal):
        try:
            return _EXACT.add(Decimal(old), Decimal(more))
        except DecimalException:
            return None
    total = old + more
    return BigInt(total) if isinstance(old, BigInt) and isinstance(total, int) else total


def coerced_tuple(
    types: Sequence[str], value: Any, read: Callable[[str, Any], Any | None] = coerced
) -> tuple[Any, ...] | None:
    """A tuple with each item as its type, a ref being an entity id; None where it does not fit. nil always fits.
    read: `coerced` or `asserted`."""
    if type(value) is not tuple or len(value) != len(types):
        return None
    items = []
    for name, item in zip(types, value, strict=True):
        converted = None if item is None else read("long" if name == "ref" else name, item)
        if converted is None and item is not None:
            return None
        items.append(converted)
    return tuple(items)


def _whole(value: float | Decimal) -> int | None:
    if isinstance(value, Decimal) and value.adjusted() > _MAX_DIGITS:
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def _long(value: float | BigInt | Decimal) -> int | None:
    number = _whole(value)
    return None if number is None or not LONG_MIN <= number <= LONG_MAX else number


def _bigint(value: float | Decimal) -> BigInt | None:
    number = _whole(value)
    return None if number is None else BigInt(number)


def _double(value: int) -> float | None:
    return float(value) if abs(value) < 1 << 1000 and int(float(value)) == value else None


def _float(value: int | float) -> Float | None:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except (OverflowError, struct.error):
        return None
    return None if isinstance(value, int) and int(rounded) != value else Float(rounded)


_CONVERSIONS: Final[Mapping[tuple[str, str], Callable[[Any], Any]]] = {
    ("double", "long"): _long,
    ("bigint", "long"): _long,
    ("bigdec", "long"): _long,
    ("long", "double"): _double,
    ("bigint", "double"): _double,
    ("float", "double"): float,
    ("long", "float"): _float,
    ("double", "float"): _float,
    ("long", "bigint"): BigInt,
    ("double", "bigint"): _bigint,
    ("bigdec", "bigint"): _bigint,
    ("long", "bigdec"): Decimal,
    ("bigint", "bigdec"): Decimal,
}
