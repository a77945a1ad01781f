"""Imports: datoms a second from Parquet into an empty database and into a full one, beside `transact` and DuckDB.

`python -m bench.importing [MILLIONS OF DATOMS]`. The time is that of the import, the session having started before;
what starting takes is said beside it. Memory is that of this process, which is the driver.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adalog.cluster.session import Session
from adalog.datalog.values import EdnMap, Keyword
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.database import Database

SCHEMA: Final = """[
 {:db/ident :person/id :db/valueType :db.type/long :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :person/score :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :person/at :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :person/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
MAPPING: Final = """
schema: schema.edn
sources:
  people:
    path: people.parquet
    entity: {attribute: person/id, column: id}
    attributes:
      person/name: name
      person/score: score
      person/at: at
      person/knows: {column: knows, ref: person/id}
"""
PER_ROW: Final = 5
_TRANSACTED: Final = 20_000
_CHUNK: Final = 1_000_000


class Stages:
    """Prints how long each stage took."""

    def __init__(self) -> None:
        self._name = ""
        self._began = 0.0

    def stage(self, name: str) -> None:
        if self._name:
            print(f"    {self._name:24} {time.perf_counter() - self._began:7.2f} s", flush=True)
        self._name, self._began = name, time.perf_counter()

    def tasks(self, done: int, total: int, rows: int) -> None:
        pass


def people(first: int, count: int) -> pa.Table:
    """Rows of people who know one another."""
    random = np.random.default_rng(first)
    ids = np.arange(first, first + count)
    return pa.table(
        {
            "id": ids,
            "name": _names(ids % 1_000_000),
            "score": random.integers(0, 100_000, count) / 1000,
            "at": pa.array(random.integers(0, 10**12, count), pa.timestamp("ms", "UTC")),
            "knows": random.integers(0, first + count, count),
        }
    )


def _names(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    return pc.binary_join_element_wise("name", pa.array(numbers).cast(pa.string()), " ")


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    rows = int(millions * 1e6) // PER_ROW
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schema.edn").write_text(SCHEMA)
        (folder / "mapping.yaml").write_text(MAPPING)
        # In a process of its own, whose memory is not this one's.
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            other.submit(write_people, folder / "first.parquet", 0, rows).result()
            other.submit(write_people, folder / "second.parquet", rows, rows).result()
        began = time.perf_counter()
        session = Session("local[2]")
        session.start()
        session.wait(300)
        print(f"the session took {time.perf_counter() - began:.1f} s to start")
        try:
            with Database.open(str(folder / "data")) as database:
                first = _import(database, session, folder, "first", "an empty database")
                second = _import(database, session, folder, "second", "that one")
        finally:
            session.close()
        rate = _transacted(folder)
        print(f"transact: {rate:,.0f} a second; imports are {first / rate:,.0f} and {second / rate:,.0f} times")
        _duckdb(folder, rows)


def write_people(path: Path, first: int, count: int) -> None:
    """A file of so many of them, from a number on."""
    with pq.ParquetWriter(path, people(0, 1).schema) as writer:
        for start in range(first, first + count, _CHUNK):
            writer.write_table(people(start, min(_CHUNK, first + count - start)))


def _import(database: Database, session: Session, folder: Path, name: str, into: str) -> float:
    plan = read_mapping(folder / "mapping.yaml", {"people": str(folder / f"{name}.parquet")})
    live = session.live()
    stages, before, cpu = Stages(), memory(), cpu_seconds(live.process.pid)
    outcome: ImportOutcome = load(database, SparkRunner(live, stages), plan)
    stages.stage("")
    cpu = cpu_seconds(live.process.pid) - cpu
    rate = outcome.datoms / outcome.seconds
    print(
        f"{outcome.datoms:,} datoms into {into}: {outcome.seconds:.1f} s, {rate:,.0f} a second; "
        f"{cpu:.1f} s of CPU; {(memory() - before) / 2**20:,.0f} MB more at most",
        flush=True,
    )
    return rate


def cpu_seconds(java: int) -> float:
    """What this process, Java and its workers have used: on a busy machine it says more than the clock."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            fields = rest.split()
            if int(fields[3]) == java or int(name.split()[0]) == os.getpid():
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory() -> int:
    """The most bytes that this process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _transacted(folder: Path) -> float:
    table = people(0, _TRANSACTED)
    with Database.open(str(folder / "transacted")) as database:
        database.transact(SCHEMA)
        began = time.perf_counter()
        names = [Keyword(f"person/{name}") for name in ("id", "name", "score", "at")]
        columns = [table.column(name).to_pylist() for name in ("id", "name", "score", "at")]
        rows = list(zip(*columns, strict=True))
        for start in range(0, len(rows), 1000):
            forms = [EdnMap(zip(names, row, strict=True)) for row in rows[start : start + 1000]]
            database.transact(forms)
        knows = Keyword("person/knows")
        refs = [
            EdnMap({names[0]: row[0], knows: (names[0], other)})
            for row, other in zip(rows, table.column("knows").to_pylist(), strict=True)
        ]
        for start in range(0, len(refs), 1000):
            database.transact(refs[start : start + 1000])
        return PER_ROW * len(rows) / (time.perf_counter() - began)


def _duckdb(folder: Path, rows: int) -> None:
    try:
        import duckdb
    except ImportError:
        print("DuckDB is not installed")
        return
    began = time.perf_counter()
    with duckdb.connect(str(folder / "duck.db")) as duck:
        duck.execute("SET threads = 2")
        source = folder / "first.parquet"
        for name in ("name", "score", "at", "knows"):
            pairs = f"SELECT id AS e, \"{name}\" AS v FROM read_parquet('{source}') ORDER BY e, v"
            duck.execute(f"CREATE TABLE {name}_of AS {pairs}")
        duck.execute("CREATE INDEX by_id ON name_of (e)")
    seconds = time.perf_counter() - began
    print(f"DuckDB, four sorted tables and one index: {seconds:.1f} s, {PER_ROW * rows / seconds:,.0f} a second")


if __name__ == "__main__":
    main()
