"""Where the arrays of a trie lie in memory, as numbers that compiled code follows.

A place is counted in words of 8 bytes from `ORIGIN`, that of bytes and of 32-bit numbers in bytes. Whoever reads
through a place holds the `Placed` meanwhile: it keeps the arrays.
"""

from __future__ import annotations

from array import array
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

ORIGIN: Final = 8
"""The address of place 0."""


_INT64: Final = np.dtype(np.int64)
_CLOSE: Final = (8,)


class Placed:
    """Numbers that describe something, as int64s in memory. `place`: theirs. It keeps what they lead to."""

    __slots__ = ("_held", "numbers", "place")

    def __init__(self, numbers: list[int], held: tuple[object, ...]) -> None:
        self.numbers = array("q", numbers)
        self.place = start_of(self.numbers) >> 3
        self._held = held

    def __reduce__(self) -> NoReturn:
        raise TypeError("places are those of one process; leave them out with `without_places`")


def without_places(described: object) -> dict[str, Any]:
    """The state of an object for another process, as `__getstate__`: without `placed`, which is made anew there."""
    return {name: value for name, value in vars(described).items() if name != "placed"}


def byte_of(column: NDArray[Any]) -> int:
    """The place of an array in bytes."""
    address: int = column.__array_interface__["data"][0]
    return address - ORIGIN


def start_of(column: array[int]) -> int:
    """The place of an array of the standard library in bytes; of its words, at a whole word."""
    return column.buffer_info()[0] - ORIGIN


def words_of(*arrays: NDArray[np.int64]) -> list[int] | None:
    """The places of arrays of words; None unless all are int64s, one after the other, at whole words."""
    places = []
    # On the way of every live step, where an array's flags would cost as much again.
    for each in arrays:
        byte = byte_of(each)
        if each.dtype != _INT64 or byte & 7 or (each.strides != _CLOSE and len(each) > 1):
            return None
        places.append(byte >> 3)
    return places
