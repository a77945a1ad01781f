"""Clauses that only a comparison ties together, against the same join by one variable and against DuckDB."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Final

import duckdb
import numpy as np

from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench.line import Line
from bench.work import THREADS

_SCHEMA: Final = """[{:db/ident :g/n :db/valueType :db.type/long} {:db/ident :g/m :db/valueType :db.type/long}
 {:db/ident :g/d :db/valueType :db.type/double}]"""
# Forms of one transaction.
_AT_ONCE: Final = 5_000

_PLAIN: Final = "[:find ?e ?f :where [?e :g/n ?n] [?f :g/m ?n]]"
_NOT: Final = "[:find ?e :where [?e :g/n ?n] (not [_ :g/m ?n])]"
# By what is measured: the query, the one by one variable, the most that it may cost of that, and the SQL.
_TIES: Final[dict[str, tuple[str, str, float | None, str]]] = {
    "longs by =": (
        "[:find ?e ?f :where [?e :g/n ?n] [?f :g/m ?m] [(= ?n ?m)]]",
        _PLAIN,
        2.0,
        "select n.e, m.e from n join m on n.v = m.v",
    ),
    "longs by ==": (
        "[:find ?e ?f :where [?e :g/n ?n] [?f :g/m ?m] [(== ?n ?m)]]",
        _PLAIN,
        2.0,
        "select n.e, m.e from n join m on n.v = m.v",
    ),
    "longs and doubles by ==": (
        "[:find ?e ?f :where [?e :g/n ?n] [?f :g/d ?d] [(== ?n ?d)]]",
        _PLAIN,
        2.0,
        "select n.e, d.e from n join d on n.v = d.v",
    ),
    "longs and doubles by <": (
        "[:find ?e ?f :where [?e :g/n ?n] [?f :g/d ?d] [(- ?n 2) ?k] [(< ?k ?d ?n)]]",
        _PLAIN,
        None,
        "select n.e, d.e from n join d on d.v > n.v - 2 and d.v < n.v",
    ),
    "not by =": (
        "[:find ?e :where [?e :g/n ?n] (not [_ :g/m ?m] [(= ?m ?n)])]",
        _NOT,
        None,
        "select e from n where not exists (select 1 from m where m.v = n.v)",
    ),
    "not by >": (
        "[:find ?e :where [?e :g/n ?n] (not [_ :g/d ?d] [(> ?d ?n)])]",
        _NOT,
        None,
        "select e from n where not exists (select 1 from d where d.v > n.v)",
    ),
}


def ties(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Each query in turn with its peers, so that all have the same noise."""
    size, repeats = (2_000, 5) if quick else (20_000, 15)
    random = np.random.default_rng(1)
    columns = {
        "n": np.arange(size),
        "m": random.permutation(size),
        "d": random.permutation(size).astype(np.float64),
    }
    lines: list[Line] = []
    with _filled(columns) as database, duckdb.connect() as peer:
        peer.execute(f"set threads = {THREADS}")
        for name, column in columns.items():
            entities = np.arange(size) + 1 + size * list(columns).index(name)
            peer.register("given", {"e": entities, "v": column})
            peer.execute(f"create table {name} as select * from given")
        pool = Pool(database, PoolSettings(threads=THREADS))
        for name, (query, plain, bar, sql) in _TIES.items():
            runs: dict[str, Callable[[], int]] = {
                "ours": lambda query=query: _rows(pool, query),  # type: ignore[misc]
                "one variable": lambda plain=plain: _rows(pool, plain),  # type: ignore[misc]
                "DuckDB": lambda sql=sql: len(peer.sql(sql).to_arrow_table()),  # type: ignore[misc]
            }
            counts = {each: run() for each, run in runs.items()}
            assert counts["ours"] == counts["DuckDB"], f"{name}: {counts}"
            taken: dict[str, list[float]] = {each: [] for each in runs}
            for _ in range(repeats):
                for each, run in runs.items():
                    start = time.perf_counter()
                    run()
                    taken[each].append((time.perf_counter() - start) * 1000)
            ms = {each: statistics.median(values) for each, values in taken.items()}
            say(f"    {name}: " + ", ".join(f"{each} {value:.2f} ms" for each, value in ms.items()))
            title = f"{size:,} and {size:,}, {name}"
            lines.append(Line("ties", title, "ms", ms["ours"], "one variable", ms["one variable"], bar))
            lines.append(Line("ties", title, "ms", ms["ours"], "DuckDB", ms["DuckDB"]))
        pool.close()
    return lines


def _rows(pool: Pool, query: str) -> int:
    return len(pool.run(QueryRequest(query, engine="LOCAL", cached=False)).to_arrow())


def _filled(columns: dict[str, np.ndarray]) -> Database:  # type: ignore[type-arg]
    database = Database.open(":memory:")
    database.transact(_SCHEMA)
    for place, (name, column) in enumerate(columns.items()):
        first = 1 + place * len(column)
        forms = [f"[:db/add {first + i} :g/{name} {value}]" for i, value in enumerate(column.tolist())]
        for start in range(0, len(forms), _AT_ONCE):
            database.transact(f"[{' '.join(forms[start : start + _AT_ONCE])}]")
    database.compact()
    return database
