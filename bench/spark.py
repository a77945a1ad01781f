"""What Spark costs and brings on this machine: an empty job, each further task, and a join beside the local engine.

`python -m bench.spark [SCALE]`. The two engines take turns in one run, so that their ratio means something even
where the machine is not quiet; each figure is the least of its repeats, which others' load can only raise.
`python -m bench.spark SCALE sql`: beside Spark SQL's own join of the same edges, in the same session.
`python -m bench.spark SCALE workers`: with one worker of one core, and with two.
`python -m bench.spark SCALE parquet`: large answers as Parquet files, written by this process and by tasks.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from adalog.cluster.cluster import Cluster
from adalog.cluster.job import run_tasks
from adalog.cluster.session import unchanged
from adalog.datalog.errors import AdalogError
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from bench.adalog import EDGE, MEMORY, SCHEMA
from bench.graphs import Graph
from bench.work import THREADS, graph

_REPEATS: Final = 7
# A join of scale 20 takes a worker half a minute.
_REPEATS_OF_WORKERS: Final = 3
_TASKS: Final = (2, 4, 8, 16, 32, 64)
_COUNT: Final = "[:find (count ?c) . :with ?a ?b :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]"
_ROWS: Final = "[:find ?a ?b ?c :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]"
_SQL: Final = """SELECT count(*) FROM edges a JOIN edges b ON a.t = b.s JOIN edges c ON a.s = c.s AND b.t = c.t"""
_WRITTEN: Final = (
    ("triangles, every row", _ROWS),
    ("edges in another order", "[:find ?a ?b :where [?a :g/to ?b] :order-by ?b ?a]"),
    ("edges that close triangles, each once", "[:find ?b ?c :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]"),
    ("edges of triangles, counted", "[:find ?a ?b (count ?c) :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]"),
)
_TIMES: Final = 3
_JOINS: Final = (("triangles counted", _COUNT), ("triangles, every row", _ROWS))


def main() -> None:
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    edges = graph(f"rmat{scale}")
    if "workers" in sys.argv:
        _workers(edges)
        return
    engine = SparkEngine(f"local[{THREADS}]")
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=THREADS, memory_bytes=MEMORY), spark=engine)
        try:
            database.bulk_load(SCHEMA, {EDGE: (edges.source, edges.target)})
            began = time.perf_counter()
            assert engine.wait_ready(300), engine.state
            print(f"session ready after another {time.perf_counter() - began:.1f} s")
            _empty_jobs(engine)
            print(f"R-MAT scale {scale}, {len(edges):,} edges, {THREADS} threads and {engine.cores} tasks at once")
            if "parquet" in sys.argv:
                for title, query in _WRITTEN:
                    _compare_files(pool, title, query)
                return
            for title, query in _JOINS:
                try:
                    _compare(pool, title, query)
                except AdalogError as error:
                    # Rows of a large graph are more than a query may hold.
                    print(f"{title}: {error}")
            if "sql" in sys.argv:
                _spark_sql(engine, edges)
        finally:
            pool.close()


def _spark_sql(engine: SparkEngine, edges: Graph) -> None:
    """Spark's own join, planned by Spark with its defaults."""
    spark = engine.session.live().spark.newSession()
    for name in ("spark.sql.leafNodeDefaultParallelism", "spark.sql.execution.arrow.maxRecordsPerBatch"):
        spark.conf.unset(name)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    with tempfile.TemporaryDirectory() as folder:
        table = pa.table({"s": edges.source, "t": edges.target})
        pq.write_table(table, f"{folder}/edges.parquet", row_group_size=max(1, len(table) // THREADS))
        spark.read.parquet(f"{folder}/edges.parquet").createOrReplaceTempView("edges")
        began = time.perf_counter()
        ((count,),) = spark.sql(_SQL).collect()
        print(f"Spark SQL, triangles counted: {count:,}   {time.perf_counter() - began:.2f} s")


def _workers(edges: Graph) -> None:
    """The same join on one worker and on two, processes of one core each with a Java of their own."""
    least: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder, Database.open(f"{folder}/data") as database:
        database.bulk_load(SCHEMA, {EDGE: (edges.source, edges.target)})
        database.compact()
        for workers in (1, 2):
            engine = SparkEngine(
                f"local-cluster[{workers},1,1024]", properties={"spark.pyspark.python": sys.executable}
            )
            pool = Pool(database, PoolSettings(threads=THREADS, memory_bytes=MEMORY), spark=engine)
            try:
                assert engine.wait_ready(300), engine.state
                counted = partial(pool.run, QueryRequest(_COUNT, engine="SPARK"))
                least[workers] = _least(counted, _REPEATS_OF_WORKERS)
                print(f"triangles counted with {workers} workers of one core: {least[workers]:.2f} s")
            finally:
                pool.close()
    print(f"speed-up {least[1] / least[2]:.2f}")


def _empty_jobs(engine: SparkEngine) -> None:
    live: Cluster = engine.session.live()
    least = {}
    for tasks in _TASKS:
        values = pa.array([b""] * tasks, pa.binary())
        least[tasks] = _least(lambda values=values: run_tasks(live.spark, values, unchanged))  # type: ignore[misc]
        print(f"an empty job of {tasks:2} tasks   {least[tasks] * 1000:7.1f} ms")
    further = (least[_TASKS[-1]] - least[_TASKS[0]]) / (_TASKS[-1] - _TASKS[0])
    print(f"each further task           {further * 1000:7.1f} ms")


def _compare(pool: Pool, title: str, query: str) -> None:
    seconds: dict[str, list[float]] = {"LOCAL": [], "SPARK": []}
    answers = set()
    for _ in range(_REPEATS):
        for engine, taken in seconds.items():
            began = time.perf_counter()
            result = pool.run(QueryRequest(query, engine=engine))
            taken.append(time.perf_counter() - began)
            answers.add(result.rows(0, 1)[0][0] if len(result) == 1 else len(result))
    assert len(answers) == 1, answers
    local, spark = min(seconds["LOCAL"]), min(seconds["SPARK"])
    first = seconds["SPARK"][0]
    print(
        f"{title}: {answers.pop():,}   LOCAL {local:.2f} s   SPARK {spark:.2f} s   "
        f"ratio {spark / local:.2f}   (SPARK the first time {first:.2f} s)"
    )


def _compare_files(pool: Pool, title: str, query: str) -> None:
    seconds: dict[str, list[float]] = {"LOCAL": [], "SPARK": []}
    written = set()
    for _ in range(_TIMES):
        for engine, taken in seconds.items():
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                parts = pool.write(QueryRequest(query, engine=engine), folder)
                taken.append(time.perf_counter() - began)
                written.add(sum(part.rows for part in parts))
    assert len(written) == 1, written
    local, spark = min(seconds["LOCAL"]), min(seconds["SPARK"])
    print(
        f"{title}: {written.pop():,} rows in {len(parts)} files   by this process {local:.2f} s   "
        f"by tasks {spark:.2f} s   ratio {spark / local:.2f}"
    )


def _least(work: Callable[[], object], repeats: int = _REPEATS) -> float:
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


if __name__ == "__main__":
    main()
