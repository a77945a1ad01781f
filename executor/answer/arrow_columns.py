"""Columns of codes as columns of Arrow, for the Python library and for what is sent to it over HTTP.

Each distinct value is decoded once. What Arrow has no type for is text; nil is null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from adalog.executor.answer.types import type_of
from adalog.executor.join.batch import Column as Codes
from adalog.executor.kernels.group_kernels import group_rows
from adalog.store.values.decimals import DecimalDigits, decimal_column
from adalog.store.values.layout import NIL

if TYPE_CHECKING:
    from adalog.store.values.codes import Coder

# Types whose codes are numbers already, or nearly.
_NUMBERS: Final = frozenset({"long", "double", "boolean", "instant"})
# Of these a text says all, and a column of one type needs no tags.
_SPELT: Final = frozenset({"uuid", "symbol", "duration", "bigint"})
_TEXTS: Final = frozenset({"string", "keyword", "uri"})
_TYPES: Final = {
    "long": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "instant": pa.timestamp("ms", "UTC"),
    "bytes": pa.large_binary(),
    # What is pulled is EDN text.
    "map": pa.string(),
}
"""Of types whose columns are no dictionaries."""

# Rows that are told apart without the kernel, which may have to be loaded: on the event loop there are no more.
_FEW: Final = 400


class Distinct(NamedTuple):
    """The distinct codes of a column without nil, and for each row the place of its own, null for nil."""

    codes: Codes
    places: pa.Array

    @classmethod
    def of(cls, codes: Codes) -> Distinct:
        if not len(codes):
            return cls(codes, pa.array([], pa.int32()))
        if len(codes) <= _FEW:
            numbers: dict[int, int] = {}
            places = np.array([numbers.setdefault(code, len(numbers)) for code in codes.tolist()], np.int32)
            distinct = np.array(list(numbers), np.int64)
        else:
            # The kernel is compiled for arrays that can be written to.
            group, first = group_rows(np.require(codes, requirements=["C", "W"])[np.newaxis])
            distinct, places = codes[first], group.astype(np.int32)
        nil = np.flatnonzero(distinct == NIL)
        if not len(nil):
            return cls(distinct, pa.array(places))
        absent = places == nil[0]
        places[places > nil[0]] -= 1
        return cls(np.delete(distinct, nil), pa.array(places, mask=absent))


def arrow_column(codes: Codes, values: Coder, expected: str = "any") -> pa.Array:
    """Texts, and values of several types as EDN text, are dictionaries of the values that the column has. expected:
    the type of a column without rows."""
    if not len(codes):
        return pa.array([], _empty_type(expected))
    kind = _kind(codes)
    if kind in _NUMBERS:
        return _numbers(codes, values)
    distinct = Distinct.of(codes)
    return spread(distinct_column(distinct.codes, values), distinct.places)


def spread(values: pa.Array, places: pa.Array) -> pa.Array:
    """A column of distinct values by their places: a dictionary if they are texts."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pa.DictionaryArray.from_arrays(places, values)
    return values.take(places)


def distinct_column(codes: Codes, values: Coder) -> pa.Array:
    """The values of distinct codes without nil, one by one."""
    kind = type_of(codes)
    if not len(codes):
        return pa.nulls(0)
    if kind in _NUMBERS:
        return _numbers(codes, values)
    if kind in ("string", "keyword", "uri", "symbol", "duration", "bytes"):
        return values.to_arrow(codes)
    decoded = values.decode_many(codes)
    if kind == "bigdec":
        decimals = decimal_column(decoded)
        return pa.array(list(map(str, decoded)), pa.string()) if decimals is None else decimals
    if kind in _SPELT:
        return pa.array(list(map(str, decoded)), pa.string())
    return pa.array(decoded, pa.float32()) if kind == "float" else edn_column(decoded)


def edn_column(values: Sequence[Any]) -> pa.Array:
    """Values as EDN text."""
    from adalog.datalog.edn import write

    return pa.array([None if value is None else write(value) for value in values], pa.string())


def _empty_type(kind: str) -> pa.DataType:
    """The type that a column with values of this type has; of `any` it is not known."""
    if kind == "bigdec":
        # Which digits there are behind the point is not known.
        return DecimalDigits().type
    if kind in _SPELT or kind in _TEXTS:
        return pa.dictionary(pa.int32(), pa.string())
    return _TYPES.get(kind, pa.null())


def _kind(codes: Codes) -> str:
    kind = type_of(codes)
    return type_of(codes[codes != NIL]) if kind == "any" else kind


def _numbers(codes: Codes, values: Coder) -> pa.Array:
    try:
        return values.to_arrow(codes)
    except ValueError:
        # Longs are of two kinds of codes.
        return pa.array(values.decode_many(codes), pa.int64())
