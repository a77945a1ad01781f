"""Graph libraries: Dijkstra's algorithm in C (SciPy) and in Python (NetworkX), on graphs made when loading."""

from __future__ import annotations

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from scipy.sparse.csgraph import dijkstra  # type: ignore[import-untyped]

from bench.facts import tables
from bench.work import Answer, Work


class SciPy:
    def load(self, data: str) -> None:
        table = tables(data)["weighted"]
        size = int(max(table["a"].max(), table["b"].max())) + 1
        self._graph = csr_matrix((table["w"].astype(float), (table["a"], table["b"])), (size, size))

    def run(self, work: Work) -> Answer:
        """How many others can be reached, and the sum of their distances."""
        distances = dijkstra(self._graph, indices=work.arguments["start"])
        reached = distances[np.isfinite(distances)]
        return [(len(reached) - 1, int(reached.sum()))]


class NetworkX:
    def load(self, data: str) -> None:
        table = tables(data)["weighted"]
        self._graph = nx.DiGraph()
        edges = zip(*(table[column].tolist() for column in ("a", "b", "w")), strict=True)
        self._graph.add_weighted_edges_from(edges)

    def run(self, work: Work) -> Answer:
        """As SciPy's."""
        distances = nx.single_source_dijkstra_path_length(self._graph, work.arguments["start"])
        return [(len(distances) - 1, sum(distances.values()))]
