"""Bigdecs as columns of integers: the number without its point, and the digits after the point.

For those of at most 18 digits. A dictionary's are read from its texts once, page by page, and found by their
numbers in sorted runs, so that what a query computes needs no text to get its code.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.store.values.arrays import Int64s
from adalog.store.values.dictionary import Dictionary
from adalog.store.values.layout import PAYLOAD_MASK

MOST_DIGITS: Final = 18
"""Digits that a short bigdec has at most, and digits after its point."""
FACTORS: Final = 10 ** np.arange(MOST_DIGITS + 1)
"""What a number is multiplied by that gets so many digits."""
BOUNDS: Final = 10 ** (MOST_DIGITS - np.arange(MOST_DIGITS + 1))
"""What a number is below then."""
_LEAST: Final = -(1 << 58)
_MOST: Final = (1 << 58) - 1
# A number and its digits after the point as one word.
_SHIFT: Final = 5

# Keys that are read together.
_PAGE: Final = 1 << 12
# It is worth reading so many keys, or indexing them, for one that is asked for.
_WORTH: Final = 8
# A run of the index takes in the one before it once it has this share of its size.
_MERGE_SHARE: Final = 0.5


class DecimalParts(NamedTuple):
    """`numbers`: int64[n], without the point. `places`: int8[n], the digits after it; -1 where a bigdec is not
    short. A fraction has no zeros at its end, so equal bigdecs have equal parts."""

    numbers: Int64s
    places: NDArray[np.int8]

    def packed(self) -> Int64s:
        """int64[n]: a word for each, of those that `fit`."""
        words: Int64s = (self.numbers << _SHIFT) | self.places
        return words

    def fit(self) -> NDArray[np.bool_]:
        """Which have a word."""
        fits: NDArray[np.bool_] = (self.places >= 0) & (self.numbers >= _LEAST) & (self.numbers <= _MOST)
        return fits


def parts_of(numbers: Int64s, scale: int) -> DecimalParts:
    """Of integers over 10 to the power of `scale`, which is 0 to 18."""
    numbers, places = numbers.copy(), np.full(len(numbers), scale, np.int8)
    places[numbers == 0] = 0
    left = np.flatnonzero(places)
    while len(left):
        some = numbers[left]
        tenths = some // 10
        ends = tenths * 10 == some
        left = left[ends]
        numbers[left] = tenths[ends]
        places[left] -= 1
        left = left[places[left] > 0]
    return DecimalParts(numbers, places)


def word_of(key: bytes) -> int | None:
    """The word of a bigdec's canonical text; None where it has none."""
    if len(key) > MOST_DIGITS or b"E" in key or key[-1:] > b"9":
        part = _part(key)
        return None if part is None or not _LEAST <= part[0] <= _MOST else part[0] << _SHIFT | part[1]
    whole, _, fraction = key.partition(b".")
    number = int(whole + fraction)
    return number << _SHIFT | len(fraction) if _LEAST <= number <= _MOST else None


def decimal_of(word: int) -> Decimal:
    return Decimal(word >> _SHIFT).scaleb(-(word & ((1 << _SHIFT) - 1)))


def number_and_places(words: Int64s) -> DecimalParts:
    """The parts of words."""
    return DecimalParts(words >> _SHIFT, (words & ((1 << _SHIFT) - 1)).astype(np.int8))


def _part(key: bytes) -> tuple[int, int] | None:
    """The parts of one canonical text; None if it is not that of a short bigdec."""
    _, digits, exponent = Decimal(key.decode()).as_tuple()
    if not isinstance(exponent, int) or not -MOST_DIGITS <= exponent <= 0 or len(digits) > MOST_DIGITS:
        return None
    return int(Decimal(key.decode()).scaleb(-exponent)), -exponent


def parts_of_keys(keys: pa.LargeBinaryArray) -> DecimalParts:
    """Of canonical texts, as the dictionary has them."""
    import pyarrow.compute as pc

    n = len(keys)
    if not n:
        return DecimalParts(np.empty(0, np.int64), np.empty(0, np.int8))
    texts = keys.cast(pa.large_string())
    length, point = pc.binary_length(texts).to_numpy(), pc.find_substring(texts, ".").to_numpy()
    places = np.where(point < 0, 0, length - point - 1)
    digits = length - (point >= 0) - pc.starts_with(texts, "-").to_numpy(zero_copy_only=False)
    odd = pc.match_substring_regex(texts, "[^-.0-9]").to_numpy(zero_copy_only=False) | (digits > MOST_DIGITS)
    plain = texts if not odd.any() else pc.if_else(pa.array(odd), pa.scalar("0", pa.large_string()), texts)
    numbers = pc.replace_substring(plain, ".", "", max_replacements=1).cast(pa.int64()).to_numpy().copy()
    places[odd] = -1
    for at in np.flatnonzero(odd).tolist():
        part = _part(keys[at].as_py())
        if part is not None:
            numbers[at], places[at] = part
    return DecimalParts(numbers, places.astype(np.int8))


class ShortDecimals:
    """The short bigdecs of a dictionary. Thread-safe."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._parts = DecimalParts(np.empty(0, np.int64), np.empty(0, np.int8))
        self._read = np.empty(0, np.int64)
        self._known = 0
        self._runs: list[tuple[Int64s, Int64s]] = []
        self._indexed = 0
        # How many were to be found in keys that no run had.
        self._asked = 0
        self._lock = threading.Lock()

    def parts(self, numbers: Int64s) -> DecimalParts:
        """Of the keys with some numbers."""
        if not len(numbers):
            return parts_of_keys(pa.array([], pa.large_binary()))
        parts = self._pages(numbers)
        if parts is None:
            return parts_of_keys(self._dictionary.gather(numbers))
        return DecimalParts(parts.numbers[numbers], parts.places[numbers])

    def table(self, codes: Int64s) -> DecimalParts | None:
        """The parts of keys by their numbers, of all that some codes have in their payload; None where reading them
        costs more than to read the texts of these keys."""
        with self._lock:
            if self._known == len(self._dictionary):
                return self._parts
        return self._pages(codes & PAYLOAD_MASK)

    def find(self, parts: DecimalParts) -> Int64s | None:
        """int64[n]: the numbers of the keys with some parts, -1 where the dictionary has none; None where finding
        out costs more than to look each up by its text. Those that do not fit are given as -1."""
        length = len(self._dictionary)
        self._asked += len(parts.numbers)
        if length - self._indexed > _WORTH * self._asked + _PAGE:
            return None
        found = np.full(len(parts.numbers), -1, np.int64)
        fits = parts.fit()
        words = parts.packed()
        for known, numbers in self._index(length):
            at = np.minimum(known.searchsorted(words), len(known) - 1)
            same = (known[at] == words) & fits
            found[same] = numbers[at[same]]
        return found

    def nbytes(self) -> int:
        return 10 * len(self._parts.numbers) + 16 * self._indexed

    def _pages(self, numbers: Int64s) -> DecimalParts | None:
        """The parts of all keys, with the pages of some read; None where these are too many for that."""
        with self._lock:
            length = len(self._dictionary)
            if self._known == length:
                return self._parts
            self._grow(-(-length // _PAGE))
            starts = np.arange(len(self._read)) * _PAGE
            ends = np.minimum(length - starts, _PAGE)
            wanted = np.zeros(len(self._read), np.bool_)
            wanted[numbers // _PAGE] = True
            pages = np.flatnonzero(wanted & (self._read < ends))
            if int((ends - self._read)[pages].sum()) > _WORTH * len(numbers) + _PAGE:
                return None
            for page in pages.tolist():
                start, stop = int(starts[page] + self._read[page]), int(starts[page] + ends[page])
                found = parts_of_keys(self._dictionary.gather(np.arange(start, stop)))
                self._parts.numbers[start:stop], self._parts.places[start:stop] = found
                self._known += int(ends[page] - self._read[page])
                self._read[page] = ends[page]
            return self._parts

    def _grow(self, pages: int) -> None:
        """Makes room for so many pages."""
        former = len(self._read)
        if pages <= former:
            return
        pages = max(pages, 2 * former)
        # Zeros take no memory before they are written.
        numbers, places = np.zeros(pages * _PAGE, np.int64), np.zeros(pages * _PAGE, np.int8)
        numbers[: former * _PAGE], places[: former * _PAGE] = self._parts
        self._read = np.concatenate([self._read, np.zeros(pages - former, np.int64)])
        self._parts = DecimalParts(numbers, places)

    def _index(self, length: int) -> Sequence[tuple[Int64s, Int64s]]:
        """The keys below `length`, in runs that are sorted by their words, with the numbers of the keys."""
        with self._lock:
            if self._indexed < length:
                numbers = np.arange(self._indexed, length)
                parts = parts_of_keys(self._dictionary.gather(numbers))
                fits = parts.fit()
                words, numbers = parts.packed()[fits], numbers[fits]
                runs = self._runs.copy()
                while runs and len(words) >= _MERGE_SHARE * len(runs[-1][0]):
                    older = runs.pop()
                    words, numbers = np.concatenate([older[0], words]), np.concatenate([older[1], numbers])
                if len(words):
                    order = np.argsort(words, kind="stable")
                    runs.append((words[order], numbers[order]))
                self._runs, self._indexed, self._asked = runs, length, 0
            return self._runs
