"""Value codes of one attribute as a column of its type, for Parquet: by the column.

Text is a column of dictionary indices, so that each distinct value is fetched once. Tuples, which no column holds,
are EDN text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from adalog.datalog.edn.writer import write
from adalog.store.values import layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.codes import Codes
from adalog.store.values.keys import value_of_key

TYPES: Final[Mapping[str, pa.DataType]] = {
    "long": pa.int64(),
    "ref": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "instant": pa.timestamp("ms", "UTC"),
    "bytes": pa.binary(),
}
"""The column's type by the attribute's; text for all others."""

# Longs that are their own code have none.
_TAGS: Final = {kind: tag for tag, kind in layout.TYPES.items() if kind != "long"} | {"tuple": layout.TAG_OTHER}
_PAYLOAD: Final = np.int64(layout.PAYLOAD_MASK)
# Of the distinct values of a column.
_MOST_BYTES: Final = 1 << 29
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES: Final = (8, 13, 18, 23)


class OtherType(Exception):
    """Values that are not of the attribute's type: of a time when it had another."""


class TooLarge(Exception):
    """Values with too many bytes for one column."""


def type_of(value_type: str) -> pa.DataType:
    return TYPES.get(value_type, pa.string())


def tags_of(value_type: str) -> set[int]:
    """Whose dictionaries have the values."""
    tag = layout.TAG_LONG if value_type == "long" else _TAGS.get(value_type, 0)
    return {tag} & set(layout.DICTIONARY_TAGS)


def column_of(codes: Codes, v: Int64s, value_type: str) -> pa.Array:
    """The values, of `type_of` the attribute's type or a dictionary of it. Raises OtherType and TooLarge."""
    check(v, value_type)
    if value_type in ("long", "ref"):
        return pa.array(longs(codes, v))
    if value_type == "boolean":
        return pa.array((v & _PAYLOAD) == 1)
    if value_type == "instant":
        return pa.array((v & _PAYLOAD) - layout.INSTANT_BIAS).cast(TYPES["instant"])
    encoded = pa.array(v & _PAYLOAD).dictionary_encode()
    keys = codes.dictionaries()[_TAGS[value_type]].gather(encoded.dictionary.to_numpy())
    distinct = _DISTINCT.get(value_type, _text)(keys)
    if value_type in ("double", "float"):
        return distinct.take(encoded.indices)
    return pa.DictionaryArray.from_arrays(encoded.indices, distinct)


def check(v: Int64s, value_type: str) -> None:
    """Raises OtherType unless all codes are of values of a type."""
    tags = layout.tags_of(v)
    wrong = tags != _TAGS.get(value_type, 0)
    if value_type == "long":
        wrong &= tags != layout.TAG_LONG
    if wrong.any():
        raise OtherType


def longs(codes: Codes, v: Int64s) -> Int64s:
    """int64[n]: the numbers of codes of longs, large ones among them."""
    large = np.flatnonzero(layout.tags_of(v) == layout.TAG_LONG)
    if not len(large):
        return v
    v = v.copy()
    v[large] = _fixed(codes.dictionaries()[layout.TAG_LONG].gather(v[large] & _PAYLOAD), np.dtype("<i8"))
    return v


def _fixed(keys: pa.LargeBinaryArray, kind: np.dtype[np.generic]) -> NDArray[np.generic]:
    """Keys of one size as what they hold."""
    if not len(keys):
        return np.empty(0, kind)
    first = int(np.frombuffer(keys.buffers()[1], np.int64)[keys.offset])
    return np.frombuffer(keys.buffers()[2], kind, len(keys), first)


def _text(keys: pa.LargeBinaryArray) -> pa.Array:
    return small(keys.cast(pa.large_string()))


def decimal_texts(codes: Codes, v: Int64s) -> pa.Array:
    """The distinct values of bigdecs as texts."""
    return codes.dictionaries()[layout.TAG_BIGDEC].gather(np.unique(v) & _PAYLOAD).cast(pa.large_string())


def uuid_texts(keys: pa.LargeBinaryArray) -> pa.Array:
    """UUIDs of 16 bytes as their 36 characters."""
    content = _fixed(keys, np.dtype("V16")).view(np.uint8).reshape(-1, 16)
    digits = np.empty((len(keys), 32), np.uint8)
    digits[:, ::2], digits[:, 1::2] = _HEX[content >> 4], _HEX[content & 15]
    texts = np.full((len(keys), 36), ord("-"), np.uint8)
    texts[:, [place for place in range(36) if place not in _DASHES]] = digits
    ends = pa.py_buffer(36 * np.arange(len(keys) + 1, dtype=np.int64))
    return small(pa.LargeStringArray.from_buffers(len(keys), ends, pa.py_buffer(texts)))


def _tuples(keys: pa.LargeBinaryArray) -> pa.Array:
    return pa.array([write(value_of_key(layout.TAG_OTHER, key)) for key in keys.to_pylist()], pa.string())


def small(values: pa.Array) -> pa.Array:
    """Text or bytes with offsets of 32 bits, which is what a file's column is made of."""
    if values.nbytes > _MOST_BYTES:
        raise TooLarge
    return values.cast(pa.binary() if pa.types.is_large_binary(values.type) else pa.string())


_DISTINCT: Final[Mapping[str, Callable[[pa.LargeBinaryArray], pa.Array]]] = {
    "double": lambda keys: pa.array(_fixed(keys, np.dtype("<f8"))),
    "float": lambda keys: pa.array(_fixed(keys, np.dtype("<f4"))),
    "keyword": lambda keys: pc.binary_join_element_wise(":", _text(keys), ""),
    "uuid": uuid_texts,
    "bytes": small,
    "tuple": _tuples,
}
