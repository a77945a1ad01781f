"""Exports: datoms a second as Parquet and as lines of EDN, and what importing them again takes.

`python -m bench.exporting [MILLIONS OF DATOMS]`. The time is that of the export, the session having started before.
DuckDB, where it is installed, writes the same rows to Parquet from tables of its own, and reads what was exported.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from adalog.cluster.session import Session
from adalog.pipeline.exporting.export import export
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write.loading import load
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.sources import read_folder
from bench.importing import MAPPING, PER_ROW, SCHEMA, cpu_seconds, memory, write_people


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(folder, millions) as session:
            exports(folder, session)
            for form in ("parquet", "edn"):
                _import(session, folder, form)
        _duckdb(folder)


@contextmanager
def running(folder: Path, millions: float) -> Iterator[Session]:
    """A session, with a database of people who know one another in the folder."""
    (folder / "schema.edn").write_text(SCHEMA)
    (folder / "mapping.yaml").write_text(MAPPING)
    # In a process of its own, whose memory is not this one's.
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        other.submit(write_people, folder / "people.parquet", 0, int(millions * 1e6) // PER_ROW).result()
    session = Session("local[2]")
    session.start()
    try:
        session.wait(300)
        with Database.open(str(folder / "data")) as database:
            load(database, SparkRunner(session.live(), Silent()), read_mapping(folder / "mapping.yaml", {}))
        yield session
    finally:
        session.close()


def exports(folder: Path, session: Session) -> None:
    """Exports in both formats, and of the history."""
    newest = read_folder(str(folder / "data"))
    for form, view in (("parquet", newest), ("parquet", newest.history()), ("edn", newest)):
        _export(view, session, folder / f"{form}-{view.is_history}", form)


class Silent:
    """Nobody is told anything."""

    def stage(self, name: str) -> None:
        pass

    def tasks(self, done: int, total: int, rows: int) -> None:
        pass


def _export(view: Snapshot, session: Session, to: Path, form: str) -> None:
    live = session.live()
    before, cpu = memory(), cpu_seconds(live.process.pid)
    outcome = export(view, SparkRunner(live, Silent()), to, form)
    cpu = cpu_seconds(live.process.pid) - cpu
    what = "a history" if view.is_history else "what holds"
    print(
        f"{outcome.datoms:,} datoms of {what} as {form}: {outcome.seconds:.1f} s, "
        f"{outcome.datoms / outcome.seconds:,.0f} a second; {cpu:.1f} s of CPU; {outcome.bytes / 1e6:,.0f} MB in "
        f"{outcome.files} files; {(memory() - before) / 2**20:,.0f} MB more in the driver at most",
        flush=True,
    )


def _import(session: Session, folder: Path, form: str) -> None:
    mapping = folder / "mapping.yaml"
    mapping.write_text(f"sources: {{all: {{path: {folder / f'{form}-False'}, format: adalog, ids: keep}}}}")
    live = session.live()
    before, cpu = memory(), cpu_seconds(live.process.pid)
    with Database.open(str(folder / f"from-{form}")) as database:
        outcome = load(database, SparkRunner(live, Silent()), read_mapping(mapping, {}))
    cpu = cpu_seconds(live.process.pid) - cpu
    print(
        f"{outcome.datoms:,} datoms imported from {form}: {outcome.seconds:.1f} s, "
        f"{outcome.datoms / outcome.seconds:,.0f} a second; {cpu:.1f} s of CPU; "
        f"{(memory() - before) / 2**20:,.0f} MB more in the driver at most",
        flush=True,
    )


def _duckdb(folder: Path) -> None:
    try:
        import duckdb
    except ImportError:
        print("DuckDB is not installed")
        return
    names = [path.name for path in sorted((folder / "parquet-False").glob("person.*"))]
    with duckdb.connect(str(folder / "duck.db")) as duck:
        duck.execute("SET threads = 2")
        began = time.perf_counter()
        for name in names:
            source = folder / "parquet-False" / name / "*.parquet"
            duck.execute(f"CREATE TABLE \"{name}\" AS SELECT * FROM read_parquet('{source}')")
        print(f"DuckDB, reading the Parquet into tables: {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        for name in names:
            duck.execute(f"COPY \"{name}\" TO '{folder / name}.parquet' (FORMAT parquet, COMPRESSION zstd)")
        print(f"DuckDB, writing these to Parquet: {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
