"""All of a process' memory as one array, for kernels that follow places (`store.tries.places`)."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

from adalog.executor.kernels import small_join, small_rules
from adalog.executor.kernels.range_kernels import Ints

ORIGIN: Final = 8
"""The address of place 0; NumPy takes none for nothing."""

# As many words as user space may have.
_WORDS: Final = 1 << 44


class _Whole:
    """What NumPy asks for an array that it does not own."""

    __array_interface__: Final[dict[str, Any]] = {
        "data": (ORIGIN, False),
        "shape": (_WORDS,),
        "typestr": "=i8",
        "version": 3,
    }


MEMORY: Final[Ints] = np.asarray(_Whole())
"""Never to be read but through the places of arrays that the reader holds."""


class Buffers(threading.local):
    """What `small_join.extend` writes to; each thread has its own."""

    def __init__(self) -> None:
        self.frames = np.empty((2, small_join.SLOTS, small_join.MOST_ROWS), np.int64)
        self.scratch = np.empty(small_join.SCRATCH, np.int64)
        self.scratch_place = (self.scratch.ctypes.data - ORIGIN) >> 3
        self.state = np.empty(small_join.STATE, np.int64)
        self.report = np.empty(small_join.REPORT + small_join.LEVEL * small_join.MOST_RECORDS, np.int64)


class RuleBuffers(threading.local):
    """What `small_rules.derive` writes to, beside `Buffers`; each thread has its own."""

    def __init__(self) -> None:
        self.words = np.empty(small_rules.MOST_WORDS, np.int64)
        self.start = np.empty(small_join.SLOTS, np.int64)
        # Zeros. The system gives pages of it when they are first written.
        self.arena = np.zeros(small_rules.ARENA, np.int64)
        self.arena_place = (self.arena.ctypes.data - ORIGIN) >> 3
