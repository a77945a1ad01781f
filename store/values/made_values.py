"""The values that one query made, by number. Short bigdecs may come as words, and become values when read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.store.files.packing import canonical_decimal
from adalog.store.values.arrays import Int64s
from adalog.store.values.short_decimals import DecimalParts, decimal_of, number_and_places, parts_of_keys

_UNREAD: Final = object()
# No word: none has 31 digits after the point.
_NONE: Final = -1
_NO_WORDS: Final = np.empty(0, np.int64)


class MadeValues:
    """For one thread that adds at a time, and any number that read."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._values: list[Any] = list(values)
        self._words = _NO_WORDS

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: Any, word: int | None) -> None:
        """`word`: of a short bigdec."""
        if word is not None:
            self._make_room(1)
            self._words[len(self._values)] = word
        self._values.append(value)

    def extend(self, words: Int64s) -> None:
        """Short bigdecs."""
        self._make_room(len(words))
        first = len(self._values)
        self._words[first : first + len(words)] = words
        self._values += [_UNREAD] * len(words)

    def __getitem__(self, number: int) -> Any:
        value = self._values[number]
        if value is _UNREAD:
            value = self._values[number] = decimal_of(int(self._words[number]))
        return value

    def listed(self, start: int = 0) -> list[Any]:
        return [self[number] for number in range(start, len(self._values))]

    def decimal_parts(self, numbers: Int64s) -> DecimalParts:
        """Of values that are all bigdecs."""
        words = np.full(len(numbers), _NONE, np.int64)
        inside = numbers < len(self._words)
        words[inside] = self._words[numbers[inside]]
        parts = number_and_places(words)
        others = np.flatnonzero(words == _NONE)
        if len(others):
            texts = [str(canonical_decimal(self[number])).encode() for number in numbers[others].tolist()]
            found = parts_of_keys(pa.array(texts, pa.large_binary()))
            parts.numbers[others], parts.places[others] = found
        return parts

    def fork(self) -> MadeValues:
        """One that begins with the same values and goes on by itself."""
        made = MadeValues(self._values)
        made._words = self._words.copy()
        return made

    def _make_room(self, more: int) -> None:
        size = len(self._values) + more
        if size > len(self._words):
            words = np.full(max(size, 2 * len(self._words)), _NONE, np.int64)
            words[: len(self._words)] = self._words
            self._words = words
