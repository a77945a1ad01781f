"""adalog as a contestant: in memory, through the pool, the local engine on as many threads as the others."""

from __future__ import annotations

from bench.work import THREADS, Answer, Work, graph, is_graph
from datalog.values import Keyword
from examples.debian.load import load as load_debian
from executor.pool import Pool, PoolSettings, Request
from store.database import Database

EDGE = Keyword("g/to")
SCHEMA = "[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"


class Adalog:
    def __init__(self) -> None:
        self._database = Database.open(":memory:")
        self._pool = Pool(self._database, PoolSettings(threads=THREADS))

    def load(self, data: str) -> None:
        if is_graph(data):
            edges = graph(data)
            self._database.bulk_load(SCHEMA, {EDGE: (edges.source, edges.target)})
        else:
            load_debian(self._database)

    def run(self, work: Work) -> Answer:
        """Raises RuntimeError should an answer come from a cache: what is measured is the work."""
        request = Request(work.texts["adalog"], tuple(work.arguments.values()), engine="LOCAL")
        result = self._pool.run(request)
        if result.cache == "HIT":
            raise RuntimeError("the answer came from the cache")
        if work.arrow:
            return result.to_arrow()
        rows = result.rows()
        if len(rows) == 1 and len(rows[0]) == 1:
            number: int = rows[0][0]
            return number
        return rows
