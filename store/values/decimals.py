"""Bigdecs as columns of Arrow, whose decimals have one number of digits after the point, and 76 digits at most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from adalog.store.files.packing import canonical_decimal

_COMMON: Final = 38
"""Digits that all readers of Parquet have."""
_MOST: Final = 76


class DecimalDigits(NamedTuple):
    """The most digits before and after the point that values have."""

    whole: int = 0
    fraction: int = 0

    def union(self, other: DecimalDigits) -> DecimalDigits:
        return DecimalDigits(max(self.whole, other.whole), max(self.fraction, other.fraction))

    @property
    def type(self) -> pa.DataType | None:
        """The column of such values, as wide as there are; None if there is none."""
        digits = self.whole + self.fraction
        if digits > _MOST:
            return None
        return pa.decimal128(_COMMON, self.fraction) if digits <= _COMMON else pa.decimal256(_MOST, self.fraction)


def digits_of(texts: pa.Array) -> DecimalDigits:
    """Of texts of decimals in their canonical form, as dictionaries have them."""
    import pyarrow.compute as pc

    small = pc.match_substring(texts, "E")
    plain = texts.filter(pc.invert(small))
    found = digits_among(map(Decimal, texts.filter(small).to_pylist()))
    if not len(plain):
        return found
    before = pc.starts_with(plain, "-").to_numpy(zero_copy_only=False).astype(np.int64)
    before += pc.match_substring_regex(plain, r"^-?0\.").to_numpy(zero_copy_only=False)
    length, point = pc.binary_length(plain).to_numpy(), pc.find_substring(plain, ".").to_numpy()
    whole = np.where(point < 0, length, point) - before
    fraction = np.where(point < 0, 0, length - point - 1)
    return found.union(DecimalDigits(int(whole.max()), int(fraction.max())))


def digits_among(values: Iterable[Decimal | None]) -> DecimalDigits:
    found = DecimalDigits()
    for value in values:
        if value is not None:
            _, digits, exponent = canonical_decimal(value).as_tuple()
            assert isinstance(exponent, int), "a bigdec is a number"
            found = found.union(DecimalDigits(max(len(digits) + exponent, 0), max(-exponent, 0)))
    return found


def decimal_column(values: Sequence[Decimal | None]) -> pa.Array | None:
    """The values as decimals; None if these have not so many digits."""
    kind = digits_among(values).type
    return None if kind is None else pa.array(values, kind)
