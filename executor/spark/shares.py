"""Cuts a join into shares of about equal work: prefixes to start from, with one variable bound or with more.

The values of the first variable are shared out by how many candidates each has at the next level. What is left of a
value with too many for one share, a hub, is bound one variable further and shared out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from executor.bounds.cancel import Cancel
from executor.join.batch import Batch, Column, concatenate
from executor.join.extender import UNBOUNDED
from executor.join.generic_join import GenericJoin

_DEEPEST = 3
_MOST_PREFIXES = 1 << 21
# A prefix costs something even where it has no extension.
_PREFIX_WORK = 1.0
# With n candidates at this level and more levels to come the join looks at about n^1.5, not at n.
_EXPONENT = 1.5


@dataclass(frozen=True, slots=True)
class Share:
    """Prefixes with the variables of the first `depth` levels bound."""

    depth: int
    prefixes: Batch
    work: float


def split(join: GenericJoin, start: Batch, wanted: int, cancel: Cancel) -> list[Share]:
    """About `wanted` shares, the largest first; none where the join has no answer."""
    frontier, depth = join.start(start), 0
    last = len(join.levels) - 1
    shares: list[Share] = []
    shared = 0.0
    while frontier.size and depth < min(last, _DEEPEST):
        cancel.check()
        if _candidates(join, frontier, depth).sum() > _MOST_PREFIXES:
            break
        frontier = _extended(join, frontier, depth, cancel)
        depth += 1
        if not frontier.size:
            break
        work = _work(join, frontier, depth)
        most = (shared + float(work.sum())) / wanted
        heavy = work > most
        light = ~heavy
        if light.any():
            shares += cut(frontier.keep(light), depth, work[light], most)
            shared += float(work[light].sum())
        frontier = frontier.keep(heavy) if heavy.any() else Batch(0, {})
    if frontier.size:
        shares += cut(frontier, depth, _work(join, frontier, depth), 0.0 if depth else np.inf)
    return sorted(shares, key=lambda share: -share.work)


def dealt(variable: str, values: Column, wanted: int) -> list[Share]:
    """The values of a variable dealt out like cards: neighbours are often alike in how much work they are."""
    hands = min(wanted, len(values))
    return [
        Share(0, Batch(len(hand), {variable: hand}), float(len(hand)))
        for hand in (values[i::hands] for i in range(hands))
    ]


def cut(prefixes: Batch, depth: int, work: NDArray[np.float64], most: float) -> list[Share]:
    """Neighbouring prefixes together, up to about `most` work a share."""
    ends = np.cumsum(work)
    pieces = max(1, round(float(ends[-1]) / most)) if most > 0 else prefixes.size
    marks = np.searchsorted(ends, np.linspace(0, float(ends[-1]), pieces + 1)[1:-1], side="right")
    edges = np.unique(np.concatenate(([0], marks, [prefixes.size]))).tolist()
    return [
        Share(depth, prefixes.slice(lo, hi), float(ends[hi - 1] - (ends[lo - 1] if lo else 0)))
        for lo, hi in pairwise(edges)
    ]


def _extended(join: GenericJoin, batch: Batch, depth: int, cancel: Cancel) -> Batch:
    chunks: list[Batch] = []
    for chunk in join.extend(batch, depth):
        cancel.check()
        chunks.append(chunk)
    if not chunks:
        return Batch(0, {})
    whole = concatenate(chunks)
    return whole.distinct() if join.levels[depth].merge else whole


def _candidates(join: GenericJoin, batch: Batch, depth: int) -> NDArray[np.int64]:
    """Per prefix an upper bound on its extensions at the level; 1 where nothing constrains the variable."""
    counts = join.count(batch, depth)
    return np.where(counts >= UNBOUNDED, 1, counts)


def _work(join: GenericJoin, batch: Batch, depth: int) -> NDArray[np.float64]:
    if depth == len(join.levels):
        return np.ones(batch.size)
    candidates = _candidates(join, batch, depth).astype(np.float64)
    if depth < len(join.levels) - 1:
        candidates **= _EXPONENT
    return candidates + _PREFIX_WORK
