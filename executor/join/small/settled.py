"""A whole small join over one snapshot, for one prefix: its places were asked for once, each run only calls the
kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.executor.join.batch import Column
from adalog.executor.join.small.parts import Place
from adalog.executor.kernels.memory import MEMORY, Buffers
from adalog.executor.kernels.seed import SEED
from adalog.executor.kernels.small_join import MERGED, extend

BUFFERS = Buffers()
EMPTY: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class SettledJoin:
    """`numbers`: of a program of so many `records`, with its places. `last`: the first word of the last one.
    `held`: what the places lead to. `slots`: of the columns after the last record. Thread-safe: runs write to
    buffers of their thread alone."""

    numbers: Column
    records: int
    last: int
    held: Sequence[Place]
    slots: Mapping[str, int]

    def merge(self) -> None:
        """Has the kernel make rows distinct by all of their columns."""
        self.numbers[self.last + 2] |= MERGED

    def columns(self, prefix: Sequence[int], slots: Sequence[int], most: int) -> list[Column] | None:
        """The rows that extend a prefix, as columns of what is in some slots. Rows may be equal. None for more than
        `most`, or where the kernel does not make them all."""
        own = BUFFERS
        frames, report = own.frames, own.report
        for slot, code in enumerate(prefix):
            frames[0, slot, 0] = code
        rows = extend(
            MEMORY, self.numbers, self.records, frames, 1, own.scratch, own.scratch_place, own.state, report, SEED
        )
        if rows > most or not report[0]:
            return None
        if not rows:
            return [EMPTY for _ in slots]
        if report[0] != self.records:
            return None
        here = frames[report[1]]
        return [here[slot, :rows].copy() for slot in slots]
