"""adalog as a contestant: in memory, through the pool, the local engine on as many threads as the others."""

from __future__ import annotations

import numpy as np

from adalog.datalog.values import Keyword
from adalog.examples.debian.load import load as load_debian
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench.facts import Table, is_facts, tables
from bench.work import THREADS, Answer, Work

# Peers may take what they like.
MEMORY = 16 << 30

EDGE = Keyword("g/to")
SCHEMA = "[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"
# A table of pairs is an attribute, any other has an entity a row.
_PAIRS = "{:db/ident :g/%s :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}"
_COLUMN = "{:db/ident :%s/%s :db/valueType :db.type/long :db/cardinality :db.cardinality/one}"

# Above every vertex.
_FIRST_ROW = 1 << 24


class Adalog:
    def __init__(self) -> None:
        self._database = Database.open(":memory:")
        self._pool = Pool(self._database, PoolSettings(threads=THREADS, memory_bytes=MEMORY))

    def load(self, data: str) -> None:
        if is_facts(data):
            for name, table in tables(data).items():
                self._load_table("to" if name == "edge" else name, table)
        else:
            load_debian(self._database)

    def _load_table(self, name: str, table: Table) -> None:
        if set(table) == {"a", "b"}:
            self._database.bulk_load(f"[{_PAIRS % name}]", {Keyword(f"g/{name}"): (table["a"], table["b"])})
            return
        rows = np.arange(1, len(table["a"]) + 1) + _FIRST_ROW
        schema = " ".join(_COLUMN % (name, column) for column in table)
        columns = {Keyword(f"{name}/{column}"): (rows, values) for column, values in table.items()}
        self._database.bulk_load(f"[{schema}]", columns)

    def run(self, work: Work) -> Answer:
        """Raises RuntimeError should an answer come from a cache: what is measured is the work."""
        request = QueryRequest(work.texts["adalog"], tuple(work.arguments.values()), engine="LOCAL")
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
