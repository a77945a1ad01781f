"""The order of values among the keys of an attribute's base, where codes say nothing about it: an array of places
that a fold writes into the base's file.

Ranges and prefixes of values are found by binary search: O(log n) values are decoded, and nothing else is read.
Places, not codes: values that are given other numbers keep their order, so the array stays right.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, Protocol, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.datalog.values import NUMBER, order_key
from adalog.store.values import layout
from adalog.store.values.arrays import CodeColumn, Int64s
from adalog.store.values.codes import Codes

LEAST: Final = 30_000
"""Fewer keys are not worth an index: what compares them takes a millisecond."""

INDEXED: Final = frozenset({"string", "double", "bigdec"})
"""The types of attributes that may have an index."""

# What the values of a type are ordered among.
_GROUPS: Final = {layout.TAG_STRING: "string", layout.TAG_DOUBLE: NUMBER, layout.TAG_BIGDEC: NUMBER}
INDEXED_TAGS: Final = frozenset(_GROUPS)
"""The tags of their values."""
# Strings of more bytes than this are not sorted: a task has no memory for them.
_MOST_BYTES: Final = 1 << 31
_SAMPLES: Final = 1024
_WORD: Final = 8
# Bigdecs that are decoded at once.
_AT_ONCE: Final = 1 << 16
_MOST: Final = np.iinfo(np.int32).max


class Decoder(Protocol):
    def decode(self, code: int) -> Any: ...


def order_of_keys(keys: CodeColumn, codes: Codes) -> NDArray[np.int32] | None:
    """int32[n]: the places of sorted keys in the order of their values, NaN last; None of keys without an index."""
    if not may_have_index(keys[:1], keys[-1:], len(keys)):
        return None
    match layout.one_tag(keys[:1]):
        case layout.TAG_STRING:
            sample = keys[:: max(len(keys) // _SAMPLES, 1)]
            if codes.encoded(sample).nbytes / len(sample) * len(keys) > _MOST_BYTES:
                return None
            # The order of UTF-8 is the order of code points.
            order = _order_of_bytes(codes.encoded(keys))
        case layout.TAG_DOUBLE:
            order = codes.doubles(keys).argsort()
        case _:
            order = _order_of_decimals(keys, codes)
    return order.astype(np.int32, copy=False)


def may_have_index(first: CodeColumn, last: CodeColumn, length: int) -> bool:
    """Whether sorted keys are many enough and of one type with an index, by the first and the last one."""
    if not LEAST <= length <= _MOST:
        return False
    tag = layout.tag_of(int(first[0]))
    return tag in _GROUPS and tag == layout.tag_of(int(last[-1]))


def _order_of_bytes(texts: pa.LargeBinaryArray) -> Int64s:
    """Sorts by the eight bytes after the common prefix, and texts that agree in these by all bytes."""
    import pyarrow.compute as pc

    least, greatest = pc.min_max(texts).as_py().values()
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(least, greatest, strict=False)))
    words = _words(texts, shared)
    order: Int64s = words.argsort()
    words = words[order]
    same = words[1:] == words[:-1]
    alike = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(alike):
        places = order[alike]
        order[alike] = places[pc.array_sort_indices(texts.take(pa.array(places))).to_numpy()]
    return order


def _words(texts: pa.LargeBinaryArray, start: int) -> NDArray[np.uint64]:
    """uint64[n]: eight bytes of each text from a place on, the first one highest; zeros where it has no more."""
    _, offset_buffer, heap_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset :][: len(texts) + 1]
    heap = np.frombuffer(heap_buffer, np.uint8)
    words = np.zeros(len(texts), np.uint64)
    for byte in range(start, start + _WORD):
        at = offsets[:-1] + byte
        words <<= np.uint64(8)
        words |= np.where(at < offsets[1:], heap[np.minimum(at, len(heap) - 1)], 0).astype(np.uint64)
    return words


def _order_of_decimals(keys: CodeColumn, codes: Codes) -> Int64s:
    """Sorts by the nearest doubles, and decimals of one nearest double by their values."""
    nearest = np.empty(len(keys))
    for at in range(0, len(keys), _AT_ONCE):
        some = codes.decode_many(keys[at : at + _AT_ONCE])
        nearest[at : at + len(some)] = [float(value) for value in some]
    order: Int64s = nearest.argsort()
    nearest = nearest[order]
    starts = np.flatnonzero(np.append(np.append(True, nearest[1:] != nearest[:-1]), True))
    for at in np.flatnonzero(np.diff(starts) > 1).tolist():
        alike = slice(int(starts[at]), int(starts[at + 1]))
        places = order[alike]
        values = codes.decode_many(keys[places])
        order[alike] = places[sorted(range(len(places)), key=values.__getitem__)]
    return order


class IndexedValues(Sequence[Any]):
    """The values of a base's keys in their order, each decoded when it is looked at; NaN excepted."""

    def __init__(self, keys: CodeColumn, order: NDArray[np.int32], decoder: Decoder) -> None:
        self._keys = keys
        self._order = order
        self._decoder = decoder
        self._group = _GROUPS.get(layout.tag_of(int(keys[0])))
        self._length = len(order)
        if self._group == NUMBER:
            self._length = bisect_left(self, True, key=lambda value: bool(value != value))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(self._length))]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        if at < 0:
            at += self._length
        return self._decoder.decode(int(self._keys[self._order[at]]))

    def compared(self, name: str, bound: Any) -> tuple[int, int]:
        """Where those begin and end that are `<`, `<=`, `>` or `>=` a value; none are where there is no order."""
        among = order_key(bound)
        if among is None or among[0] != self._group:
            return 0, 0
        match name:
            case "<":
                return 0, bisect_left(self, among[1])
            case "<=":
                return 0, bisect_right(self, among[1])
            case ">":
                return bisect_right(self, among[1]), self._length
        return bisect_left(self, among[1]), self._length

    def starting(self, prefix: str) -> tuple[int, int] | None:
        """Where those begin and end that start with a text; None where they are no texts."""
        if self._group == NUMBER:
            return None
        first = bisect_left(self, prefix)
        return first, bisect_left(self, True, first, key=lambda text: not text.startswith(prefix))
