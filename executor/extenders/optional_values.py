"""`(optional [?e :attribute ?v])` where one end is bound before the other: what each has, or nil, as one part.

What it is short for, an `or` of the pattern and of its negation with nil, needs two branches, the state of both,
and a sort of what they propose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.protocol import AtLevel, ExactCount
from adalog.executor.join.ranges import expand
from adalog.store.values.layout import NIL


@dataclass(eq=False)
class OptionalExtender(AtLevel, ExactCount):
    """`pair`: the pattern, one end of which is the variable of this level."""

    pair: PairExtender
    level: str

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return np.maximum(self.pair.count(batch, variable), 1)

    def propose(self, batch: Batch, variable: str) -> Batch:
        ranges = self.pair.ranges(batch, variable)
        counts = ranges.length
        none = counts == 0
        _, found = expand(ranges)
        if not none.any():
            return batch.extend(np.repeat(np.arange(batch.size), counts), variable, found)
        parents = np.repeat(np.arange(batch.size), np.maximum(counts, 1))
        values: Column = np.full(len(parents), NIL)
        values[~none[parents]] = found
        return batch.extend(parents, variable, values)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        is_nil = batch.columns[variable] == NIL
        held = self.pair.holds(batch, variable)
        if is_nil.any():
            held |= is_nil & (self.pair.count(batch, variable) == 0)
        return batch.keep(held)
