"""DuckDB, in memory: facts as tables of BIGINT columns, sorted; the packages as in `bench.debian`."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from bench import debian, facts
from bench.work import THREADS, Answer, Work


class DuckDb:
    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": THREADS})
        self._connection.execute("set enable_progress_bar = false").fetchall()

    def load(self, data: str) -> None:
        if facts.is_facts(data):
            tables = {name: pa.table(dict(columns)) for name, columns in facts.tables(data).items()}
        else:
            tables = debian.tables()
        for name, table in tables.items():
            self._connection.register("incoming", table)
            self._connection.execute(f"create or replace table {name} as select * from incoming").fetchall()
            self._connection.unregister("incoming")

    def run(self, work: Work) -> Answer:
        arguments = {
            name: list(value) if isinstance(value, tuple) else value for name, value in work.arguments.items()
        }
        text = work.texts["DuckDB"]
        if work.arrow:
            return self._connection.sql(text, params=arguments or None).to_arrow_table()
        rows: list[tuple[int, ...]] = self._connection.execute(text, arguments or None).fetchall()
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows
