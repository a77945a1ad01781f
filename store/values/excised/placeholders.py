"""Keys that take the place of values in dictionaries that nothing has any more.

They are ordinary values of the same type, so that whatever reads a dictionary reads them as any other. They follow
from a seed and the number, which are all that the log keeps of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from secrets import randbelow
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import numpy as np

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Float, Keyword, Symbol, Uri
from adalog.store.values import layout
from adalog.store.values.keys import spell

# The first sign is a letter: keywords and symbols are made of texts.
SIGNS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
LETTERS: Final = 26
SEEDS: Final = LETTERS * len(SIGNS)
# Bits of a number.
NUMBER_BITS: Final = 36
# Floats that are neither tiny nor infinite.
_FIRST_FLOAT: Final = 0x0080_0000
_FLOATS: Final = 0x7F00_0000
_SPREAD: Final = 2_654_435_761


class NumberRun(NamedTuple):
    """Numbers of the dictionary of a tag, from `first` on."""

    tag: int
    first: int
    size: int

    @property
    def stop(self) -> int:
        return self.first + self.size


def runs_of(tag: int, numbers: Iterable[int]) -> list[NumberRun]:
    """Numbers, in order and each once, as runs."""
    found = np.fromiter(numbers, np.int64)
    starts = np.flatnonzero(np.diff(found, prepend=-2) != 1)
    sizes = np.diff(np.append(starts, len(found)))
    return [NumberRun(tag, *each) for each in zip(found[starts].tolist(), sizes.tolist(), strict=True)]


def _text(seed: int, number: int) -> str:
    signs = [SIGNS[seed % LETTERS], SIGNS[seed // LETTERS]]
    while number:
        number, sign = divmod(number, len(SIGNS))
        signs.append(SIGNS[sign])
    return "".join(signs)


def _whole(seed: int, number: int) -> int:
    return (seed << NUMBER_BITS) + number


def _float(seed: int, number: int) -> Float:
    bits = (seed * _SPREAD + number) % _FLOATS + _FIRST_FLOAT
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return Float(value)


_MAKERS: Final[Mapping[int, Callable[[int, int], Any]]] = {
    layout.TAG_STRING: _text,
    layout.TAG_KEYWORD: lambda *of: Keyword(_text(*of)),
    layout.TAG_SYMBOL: lambda *of: Symbol(_text(*of)),
    layout.TAG_DOUBLE: lambda *of: -float((1 << 52) + _whole(*of)),
    layout.TAG_FLOAT: _float,
    layout.TAG_UUID: lambda seed, number: UUID(int=(seed << 100) + number),
    layout.TAG_LONG: lambda *of: (1 << 62) + _whole(*of),
    layout.TAG_BIGINT: lambda *of: BigInt((1 << 80) + _whole(*of)),
    layout.TAG_BIGDEC: lambda *of: Decimal(1 + _whole(*of)).scaleb(-3),
    layout.TAG_URI: lambda *of: Uri(f"urn:{_text(*of)}"),
    layout.TAG_BYTES: lambda *of: _text(*of).encode(),
    layout.TAG_OTHER: lambda *of: (_text(*of),),
    layout.TAG_DURATION: lambda *of: Duration.read(f"PT{1 + _whole(*of)}S"),
}


def placeholder(tag: int, seed: int, number: int) -> bytes:
    """The key of a number."""
    made, key = spell(_MAKERS[tag](seed, number))
    assert made == tag, "a value of the type"
    assert isinstance(key, bytes), "of a type with a dictionary"
    return key


class Keys(Protocol):
    """What is asked of a dictionary."""

    def find_many(self, keys: Sequence[bytes]) -> list[int | None]: ...


def new_seed(runs: Iterable[NumberRun], dictionaries: Mapping[int, Keys]) -> int:
    """A seed by which no number of the runs gets a key that a dictionary has."""
    runs = list(runs)
    while True:
        seed = randbelow(SEEDS)
        if not any(_has(run, seed, dictionaries[run.tag]) for run in runs):
            return seed


def _has(run: NumberRun, seed: int, dictionary: Keys) -> bool:
    keys = [placeholder(run.tag, seed, number) for number in range(run.first, run.stop)]
    return any(found is not None for found in dictionary.find_many(keys))
