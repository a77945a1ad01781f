"""What principals may use, for all workers together: when their buckets will be full, in shared memory.

A table of hashes of names and a table of seconds, each number written in one piece. Two workers that take from one
bucket in the same microsecond may take once; there are no locks, so a worker that is killed or stopped
delays no other.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Final

import numpy as np

SLOTS: Final = 16_384
# Where a name may be, beginning with its hash.
_PROBES: Final = 16


class SharedFills:
    """As `executor.bounds.meter.Fills`. Where all places for a name are taken, the one that owes least is
    forgotten."""

    def __init__(self, page: memoryview) -> None:
        """page: `nbytes` of them, zeros at first."""
        self._names = page[: 8 * SLOTS].cast("q")
        self._full = page[8 * SLOTS :].cast("d")
        self._now = 0.0

    @staticmethod
    def nbytes() -> int:
        return 16 * SLOTS

    def __len__(self) -> int:
        return int(np.count_nonzero(np.asarray(self._full) > self._now))

    def get(self, principal: str) -> float:
        slot = self._found(_name(principal))
        return -math.inf if slot is None else self._full[slot]

    def put(self, principal: str, full: float, now: float) -> None:
        self._now = now
        name = _name(principal)
        slot = self._found(name)
        if slot is None:
            if full <= now:
                return
            slot = min(_places(name), key=self._full.__getitem__)
            self._names[slot] = name
        self._full[slot] = full

    def _found(self, name: int) -> int | None:
        names = self._names
        return next((slot for slot in _places(name) if names[slot] == name), None)


def _places(name: int) -> range:
    first = name % (SLOTS - _PROBES + 1)
    return range(first, first + _PROBES)


def _name(principal: str) -> int:
    """The same in every process, and not 0, which marks a free slot."""
    digest = blake2b(principal.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
