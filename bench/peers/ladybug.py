"""Ladybug, the successor of Kuzu, in memory: one node table keyed by number, one relationship table."""

from __future__ import annotations

import ladybug
import numpy as np
import pyarrow as pa

from bench.work import THREADS, Answer, Work, graph

# Of 24 GiB, which the others share. For the 4-cliques at scale 14 neither 6 nor 14 GiB are enough.
_BUFFER_POOL = 14 << 30


class Ladybug:
    def __init__(self) -> None:
        self._database = ladybug.Database(":memory:", buffer_pool_size=_BUFFER_POOL, max_num_threads=THREADS)
        self._connection = ladybug.Connection(self._database, num_threads=THREADS)

    def load(self, data: str) -> None:
        edges = graph(data)
        ids = pa.table({"id": np.unique(np.concatenate([edges.source, edges.target]))})
        pairs = pa.table({"from": edges.source, "to": edges.target})
        self._connection.execute("CREATE NODE TABLE V(id INT64, PRIMARY KEY(id))")
        self._connection.execute("COPY V FROM $ids", {"ids": ids})
        self._connection.execute("CREATE REL TABLE E(FROM V TO V)")
        self._connection.execute("COPY E FROM $pairs", {"pairs": pairs})

    def run(self, work: Work) -> Answer:
        arguments = {
            name: list(value) if isinstance(value, tuple) else value for name, value in work.arguments.items()
        }
        result = self._connection.execute(work.texts["Ladybug"], arguments)
        if isinstance(result, list):
            result = result[-1]
        if work.arrow:
            return result.get_as_arrow()
        rows = [tuple(row) for row in result.get_all()]
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows
