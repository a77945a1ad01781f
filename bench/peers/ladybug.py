"""Ladybug, the successor of Kuzu, in memory: nodes keyed by number, and a relationship table for each table."""

from __future__ import annotations

import ladybug
import numpy as np
import pyarrow as pa

from bench.facts import tables
from bench.work import THREADS, Answer, Work

# Of 24 GiB, which the others share. For the 4-cliques at scale 14 neither 6 nor 14 GiB are enough.
_BUFFER_POOL = 14 << 30


class Ladybug:
    def __init__(self) -> None:
        self._database = ladybug.Database(":memory:", buffer_pool_size=_BUFFER_POOL, max_num_threads=THREADS)
        self._connection = ladybug.Connection(self._database, num_threads=THREADS)

    def load(self, data: str) -> None:
        edges = {"E" if name == "edge" else name: table for name, table in tables(data).items()}
        ends = [column for table in edges.values() for column in (table["a"], table["b"])]
        ids = pa.table({"id": np.unique(np.concatenate(ends))})
        self._connection.execute("CREATE NODE TABLE V(id INT64, PRIMARY KEY(id))")
        self._connection.execute("COPY V FROM $ids", {"ids": ids})
        for name, table in edges.items():
            pairs = pa.table({"from": table["a"], "to": table["b"]})
            self._connection.execute(f"CREATE REL TABLE `{name}`(FROM V TO V)")
            self._connection.execute(f"COPY `{name}` FROM $pairs", {"pairs": pairs})

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
