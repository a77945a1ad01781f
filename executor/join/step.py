"""The join's step for one variable: for each prefix the part with the fewest values proposes, the others intersect.

That choice for each prefix, not for each level, makes the join worst-case optimal. `executor.join.shortcuts` has
what the join does instead where that is cheaper; `tests/engine/test_step.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, concatenate
from adalog.executor.join.protocol import Extender, accepted


def extend(
    parts: Sequence[Extender], batch: Batch, variable: str, counts: Sequence[NDArray[np.int64]], row: str = "#row"
) -> Batch:
    """Each prefix with each value of `variable` that all parts accept: sorted per prefix, in the prefixes' order.
    counts: each part's own. row: the name of a column for the number of the prefix, which no batch has yet."""
    if not batch.size:
        return batch.having(variable, np.empty(0, np.int64))
    winner = np.argmin(np.stack(counts), axis=0)
    numbered = batch.having(row, np.arange(batch.size))
    pieces: list[Batch] = []
    for i, proposer in enumerate(parts):
        mine = numbered.keep(winner == i)
        if mine.size:
            proposed = proposer.propose(mine, variable)
            pieces.append(accepted(proposed, variable, (*parts[:i], *parts[i + 1 :])))
    whole = concatenate(pieces)
    if len(pieces) > 1:
        whole = whole.take(np.argsort(whole.columns[row], kind="stable"))
    return whole.without(frozenset((row,)))
