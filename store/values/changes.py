"""What a transaction changes, as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adalog.store.values.datom import ShownParts, Telling, nothing_to_tell


class Effect(NamedTuple):
    """One datom's coming or going: entity, the attribute's entity, the value's code."""

    e: int
    a: int
    v: int
    added: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """A transaction's effects, its instant in milliseconds, and the ids of the tempids that the user named.

    new: the ids of its new entities and those after them, (first, end), which nothing has. diagnostics: what is
    suspicious about it, found out when it is asked for. shown: what the viewer sees of it; None: everything.
    """

    effects: list[Effect]
    instant: int
    tempids: dict[str, int]
    new: tuple[int, int]
    diagnostics: Telling = nothing_to_tell
    shown: ShownParts | None = None


@dataclass(frozen=True, eq=False)
class BulkColumn:
    """New datoms of one attribute: entities and value codes, sorted, distinct. added: which of them are assertions;
    None: all."""

    attribute: int
    e: NDArray[np.int64]
    v: NDArray[np.int64]
    added: NDArray[np.bool_] | None = None
