"""Which keys are placeholders: the seed and the number that they follow from.

For blocks that leave placeholders out, since the seed and the number are enough to make them again. Of types whose
placeholders take arithmetic on decimals, none is recognised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adalog.store.values import layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.excised.placeholders import LETTERS, NUMBER_BITS, SEEDS, SIGNS

NONE: Final = -1
"""The seed of a key that is no placeholder."""
# What comes before the seed's two signs in the keys of types that are texts.
_TEXTS: Final[Mapping[int, bytes]] = {
    layout.TAG_STRING: b"",
    layout.TAG_KEYWORD: b"",
    layout.TAG_SYMBOL: b"",
    layout.TAG_BYTES: b"",
    layout.TAG_URI: b"urn:",
}
# What the keys of types that are words lie above, which is a power of two above all placeholders.
_LEAST: Final[Mapping[int, int]] = {layout.TAG_DOUBLE: 1 << 52, layout.TAG_LONG: 1 << 62}
_UUID_SHIFT: Final = 36
_UUID_BYTES: Final = 16
_WORD_BYTES: Final = 8
_BASE: Final = len(SIGNS)
# Signs of the largest number.
_MOST_SIGNS: Final = next(n for n in range(64) if _BASE**n > (1 << NUMBER_BITS))
_NO_SIGN: Final = 255
_SIGN_OF: Final = np.full(256, _NO_SIGN, np.uint8)
_SIGN_OF[np.frombuffer(SIGNS.encode(), np.uint8)] = np.arange(_BASE)
_NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1

TAGS: Final = frozenset((*_TEXTS, *_LEAST, layout.TAG_UUID))
"""The types whose placeholders are recognised."""


class Recognised(NamedTuple):
    """What keys are placeholders of: int16[n] seeds, `NONE` for other keys, and int64[n] numbers."""

    seeds: NDArray[np.int16]
    numbers: Int64s


def recognised(tag: int, offsets: Int64s, heap: NDArray[np.uint8]) -> Recognised:
    """Of n keys, key i being `heap[offsets[i]:offsets[i + 1]]`."""
    found = Recognised(np.full(len(offsets) - 1, NONE, np.int16), np.zeros(len(offsets) - 1, np.int64))
    if tag in _TEXTS:
        _recognise_texts(_TEXTS[tag], offsets, heap, found)
    elif tag in TAGS:
        size = _UUID_BYTES if tag == layout.TAG_UUID else _WORD_BYTES
        at = np.flatnonzero(np.diff(offsets) == size)
        keys = heap[offsets[at][:, None] + np.arange(size)]
        seeds, numbers = _of_uuids(keys) if tag == layout.TAG_UUID else _of_words(tag, keys)
        right = (seeds >= 0) & (seeds < SEEDS)
        found.seeds[at[right]], found.numbers[at[right]] = seeds[right], numbers[right]
    return found


def recognise(tag: int, key: bytes) -> tuple[int, int] | None:
    """The seed and the number of one key."""
    if tag in _TEXTS:
        return _text(_TEXTS[tag], key)
    if tag not in TAGS or len(key) != (_UUID_BYTES if tag == layout.TAG_UUID else _WORD_BYTES):
        return None
    words = np.frombuffer(key, np.uint8)[None]
    seeds, numbers = _of_uuids(words) if tag == layout.TAG_UUID else _of_words(tag, words)
    return (int(seeds[0]), int(numbers[0])) if 0 <= seeds[0] < SEEDS else None


def _text(prefix: bytes, key: bytes) -> tuple[int, int] | None:
    size = len(key) - len(prefix)
    if not 2 <= size <= 2 + _MOST_SIGNS or not key.startswith(prefix):
        return None
    first, second, *signs = _SIGN_OF[np.frombuffer(key, np.uint8)[len(prefix) :]].tolist()
    if first >= LETTERS or second == _NO_SIGN or _NO_SIGN in signs or (signs and not signs[-1]):
        return None
    return first + LETTERS * second, sum(sign * _BASE**at for at, sign in enumerate(signs))


def _recognise_texts(prefix: bytes, offsets: Int64s, heap: NDArray[np.uint8], found: Recognised) -> None:
    signs = np.diff(offsets) - len(prefix) - 2
    at = np.flatnonzero((signs >= 0) & (signs <= _MOST_SIGNS))
    signs, start = signs[at], offsets[at]
    right = np.ones(len(at), np.bool_)
    for place, byte in enumerate(prefix):
        right &= heap[start + place] == byte
    start = start + len(prefix)
    first, second = _SIGN_OF[heap[start]], _SIGN_OF[heap[start + 1]]
    right &= (first < LETTERS) & (second != _NO_SIGN)
    numbers = np.zeros(len(at), np.int64)
    for place in range(int(signs.max(initial=0))):
        longer = np.flatnonzero(signs > place)
        sign = _SIGN_OF[heap[start[longer] + 2 + place]].astype(np.int64)
        # A number has no zeros at its end.
        right[longer] &= (sign != _NO_SIGN) & ((sign > 0) | (signs[longer] > place + 1))
        numbers[longer] += sign * _BASE**place
    found.seeds[at[right]] = first[right].astype(np.int16) + LETTERS * second[right].astype(np.int16)
    found.numbers[at[right]] = numbers[right]


def _of_words(tag: int, keys: NDArray[np.uint8]) -> tuple[Int64s, Int64s]:
    """The seeds and the numbers of keys uint8[n, 8]. A seed out of range is none."""
    least = _LEAST[tag]
    if tag == layout.TAG_DOUBLE:
        values = -np.ascontiguousarray(keys).view("<f8")[:, 0]
        whole = np.where((values >= least) & (values < 2 * least), values, 0).astype(np.int64)
    else:
        whole = np.ascontiguousarray(keys).view("<i8")[:, 0]
    # What is less has a seed below zero.
    above = whole - least
    return above >> NUMBER_BITS, above & _NUMBER_MASK


def _of_uuids(keys: NDArray[np.uint8]) -> tuple[Int64s, Int64s]:
    """The same of keys uint8[n, 16]."""
    high, low = np.ascontiguousarray(keys).view(">u8").T.astype(np.uint64)
    seeds = (high >> np.uint64(_UUID_SHIFT)).astype(np.int64)
    plain = (high & np.uint64((1 << _UUID_SHIFT) - 1) == 0) & (low <= _NUMBER_MASK)
    return np.where(plain, seeds, NONE), (low & np.uint64(_NUMBER_MASK)).astype(np.int64)
