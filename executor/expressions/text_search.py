"""Which texts of a column start with a part, include others and end with another one: a search of their bytes.

The texts of a dictionary's block lie one after the other, so those of a column are searched where they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.builtins.regex import like_regex, literal_regex
from adalog.datalog.errors import AdalogError
from adalog.executor.join.batch import Column
from adalog.executor.kernels.text_kernels import LONGEST_PART, Bytes, search_texts
from adalog.store.values.dictionary import KeyColumn

# Bytes between two looks at the deadline. In the worst case each is compared with all of a part.
_AT_ONCE: Final = 1 << 21
# Of so many bytes it is counted which are rare: few pages of a mapped file.
_SAMPLE: Final = 1 << 14
_ANY_LENGTH: Final = np.iinfo(np.int64).max
_TOKEN: Final = re.compile(r"([^\\])|\\(.?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextPattern:
    """Parts of UTF-8: a text starts with the first one, ends with the last one, and has the others between them, in
    this order and apart. `longest`: bytes of a text beyond which the built-in refuses it."""

    parts: tuple[bytes, ...]
    longest: int = _ANY_LENGTH

    @property
    def is_searched(self) -> bool:
        """Whether `search_texts` takes its parts."""
        return len(self.parts) == 2 or max(map(len, self.parts[1:-1])) <= LONGEST_PART


def pattern_of(name: str, text: str) -> TextPattern | None:
    """What a built-in looks for; None where that is more than parts."""
    match name:
        case "starts-with?":
            return TextPattern((text.encode(), b""))
        case "ends-with?":
            return TextPattern((b"", text.encode()))
        case "includes?":
            return _anywhere(text)
        case "re-find":
            regex = literal_regex(text)
            return None if regex is None else replace(_anywhere(text), longest=regex.longest)
    return _of_like(text)


def _anywhere(text: str) -> TextPattern:
    return TextPattern((b"", text.encode(), b"") if text else (b"", b""))


@lru_cache
def _of_like(text: str) -> TextPattern | None:
    """None where a character may be any, or a whole text is meant."""
    pieces = [""]
    for plain, escaped in _TOKEN.findall(text):
        if plain == "_":
            return None
        if plain == "%":
            pieces.append("")
        else:
            pieces[-1] += escaped or plain
    if len(pieces) < 2:
        return None
    try:
        longest = like_regex(text).longest
    except AdalogError:
        return None
    first, *others, last = (piece.encode() for piece in pieces)
    return TextPattern((first, *(each for each in others if each), last), longest)


class PatternSearch:
    """A pattern as the kernel takes it."""

    def __init__(self, pattern: TextPattern) -> None:
        self._longest = pattern.longest
        self._bytes = _frozen(np.frombuffer(b"".join(pattern.parts), np.uint8))
        self._cuts = _frozen(np.cumsum([0, *map(len, pattern.parts)]))
        self._part = np.frombuffer(pattern.parts[1] if len(pattern.parts) > 2 else b"", np.uint8)

    def search(
        self, texts: KeyColumn, codes: Column, base: int, known: Bytes, found: Bytes, check: Callable[[], None]
    ) -> bool:
        """As of `search_texts`; False where a text is too long. base: the code of text number 0."""
        anchors, row = _frozen(self._anchors(texts.heap)), 0
        codes, offsets, heap = _frozen(codes), _frozen(texts.offsets), _frozen(texts.heap)
        while 0 <= row < len(codes):
            check()
            row = search_texts(
                codes,
                base + texts.start,
                offsets,
                heap,
                self._bytes,
                self._cuts,
                anchors,
                known,
                found,
                row,
                _AT_ONCE,
                self._longest,
            )
        return row >= 0

    def _anchors(self, heap: Bytes) -> NDArray[np.int64]:
        """The places of the two bytes of the part that is looked for which seem to be the rarest in some texts."""
        if not len(self._part):
            return np.zeros(2, np.int64)
        counts = np.bincount(heap[:_SAMPLE], minlength=256)[self._part]
        places = np.argsort(counts, kind="stable")[:2]
        return np.array([places[0], places[-1]], np.int64)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written, which is one type of arrays for the kernel, whatever the array is."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
