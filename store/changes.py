"""What a transaction changes, as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Effect(NamedTuple):
    """One datom's coming or going: entity, the attribute's entity, the value's code."""

    e: int
    a: int
    v: int
    added: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """A transaction's effects, its instant in milliseconds, and the ids of the tempids that the user named.

    new: the ids of its new entities and those after them, (first, end), which nothing has.
    """

    effects: list[Effect]
    instant: int
    tempids: dict[str, int]
    new: tuple[int, int]


@dataclass(frozen=True, eq=False)
class BulkColumn:
    """New datoms of one attribute: entities and value codes, sorted, distinct."""

    attribute: int
    e: NDArray[np.int64]
    v: NDArray[np.int64]
