"""Random graphs, the same on every machine: with the skewed degrees of real ones (R-MAT), sparse, and long chains.

For the join and the recursion benchmarks. Source of R-MAT: Chakrabarti, Zhan, Faloutsos, "R-MAT: A Recursive Model
for Graph Mining" (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

# The chances of the quadrants: source and target low, target high, source high; the rest is both high.
_A: Final = 0.57
_B: Final = 0.19
_C: Final = 0.19

_SEED: Final = 1

# Draws a scale, before self-loops and duplicates are dropped:
#   scale 16: 913,473 edges, 21,341,738 triangles a→b, a→c, b→c;  scale 14: 177,749 edges, 2,623,495 triangles.
_DRAWS: Final = {10: 8_000, 12: 40_000, 14: 200_000, 16: 1_000_000, 18: 5_000_000, 20: 17_500_000}


@dataclass(frozen=True, eq=False)
class Graph:
    """Edge i goes from source[i] to target[i]; sorted by (source, target), distinct, no self-loops."""

    scale: int
    source: Ids
    target: Ids

    def __len__(self) -> int:
        return len(self.source)

    @property
    def out_degrees(self) -> Ids:
        """int64[2^scale]"""
        return np.bincount(self.source, minlength=1 << self.scale).astype(np.int64)

    def hub(self) -> int:
        """The vertex with the most edges going out."""
        return int(np.argmax(self.out_degrees))

    def ordinary(self) -> int:
        """The first vertex of median out-degree, of those that have any."""
        degrees = self.out_degrees
        return int(np.flatnonzero(degrees == int(np.median(degrees[degrees > 0])))[0])

    def starts(self, count: int) -> Ids:
        """`count` vertices that have edges going out, drawn evenly; sorted."""
        some = np.unique(self.source)
        return np.sort(np.random.default_rng(_SEED).choice(some, size=min(count, len(some)), replace=False))


def rmat(scale: int) -> Graph:
    """The R-MAT graph on 2^scale vertices, entity ids 0 up; one of the scales of `_DRAWS`."""
    draws = _DRAWS[scale]
    random = np.random.default_rng(_SEED)
    source = np.zeros(draws, np.int64)
    target = np.zeros(draws, np.int64)
    for _ in range(scale):
        place = random.random(draws)
        low_high = (place >= _A) & (place < _A + _B)
        source = source * 2 + (place >= _A + _B)
        target = target * 2 + (low_high | (place >= _A + _B + _C))
    return _graph((1 << scale) - 1, source, target)


def sparse(vertices: int, degree: float) -> Graph:
    """Edges drawn evenly, `degree` out of each vertex on average.

    Above 1 a part of all vertices reach each other: of 5,000 at 1.2 about 1,600, at 2 about 4,000.
    """
    random = np.random.default_rng(_SEED)
    draws = random.integers(1, vertices + 1, (round(vertices * degree), 2))
    return _graph(vertices, draws[:, 0], draws[:, 1])


def chain(vertices: int) -> Graph:
    """Each vertex before the next, and from one in ten a shortcut of 2 to 50 vertices ahead."""
    random = np.random.default_rng(_SEED)
    starts = random.choice(vertices - 50, vertices // 10, replace=False) + 1
    one_ahead = np.arange(1, vertices)
    source = np.concatenate([one_ahead, starts])
    return _graph(vertices, source, np.concatenate([one_ahead + 1, starts + random.integers(2, 51, len(starts))]))


def _graph(vertices: int, source: Ids, target: Ids) -> Graph:
    scale = vertices.bit_length()
    proper = source != target
    edges = np.unique((source[proper] << scale) | target[proper])
    return Graph(scale, edges >> scale, edges & ((1 << scale) - 1))
