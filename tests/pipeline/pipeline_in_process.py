"""Imports without Spark, of tables that are written as files first; tasks are small, and what they get pickles."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from adalog.pipeline.importing.read.mapping import ImportPlan
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.runner import InProcessRunner
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.database import Database

T = TypeVar("T")
R = TypeVar("R")

_NUMBER = "number of the row"


class InProcess(InProcessRunner):
    """Each file is read by a task of its own."""

    def __init__(self, buckets: int = 3, rows: int = 3) -> None:
        super().__init__()
        self.buckets = buckets
        self.chunk_rows = rows
        self.share_bytes = 61

    def each(
        self, stage: str, work: Callable[[T], R], items: Sequence[T], rows: Callable[[], int] = lambda: 0
    ) -> list[R]:
        # As over a wire: what tasks get and give back pickles.
        copied = pickle.loads(pickle.dumps(work))

        def task(item: T) -> R:
            made: R = pickle.loads(pickle.dumps(copied(pickle.loads(pickle.dumps(item)))))
            return made

        return super().each(stage, task, items, rows)


def imported(
    database: Database,
    folder: Path,
    mapping: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    *,
    buckets: int = 3,
    partitions: int = 2,
    rows: int = 3,
    **options: Any,
) -> tuple[ImportOutcome, list[tuple[str, int, str]]]:
    """What an import did, and the rows that it rejected: source, number, reason. The mapping is YAML's data. The
    tables are the sources by name, each in some files; one of lines has a column `value`."""
    plan = planned(folder, mapping, tables, partitions)
    quarantine = folder / "quarantine"
    for left in quarantine.glob("*.jsonl"):
        left.unlink()
    outcome = load(database, InProcess(buckets, rows), plan, quarantine=quarantine, **options)
    found = []
    for path in sorted(quarantine.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            said = json.loads(line)
            if said["source"] in tables:
                number = said["row"].get(_NUMBER, said.get("line", 0) - 1)
                found.append((said["source"], number, said["reason"]))
    return outcome, sorted(found)


def planned(
    folder: Path, mapping: Mapping[str, Any], tables: Mapping[str, pa.Table], partitions: int = 2
) -> ImportPlan:
    """The mapping's plan for tables, which are written."""
    file = folder / "mapping.yaml"
    file.write_text(json.dumps(mapping))
    paths = {name: str(written(folder, name, table, partitions)) for name, table in tables.items()}
    return read_mapping(file, paths)


def written(folder: Path, name: str, table: pa.Table, partitions: int = 1) -> Path:
    """A table as a folder of Parquet files, or as a file of lines."""
    if table.column_names == ["value"]:
        path = folder / f"{name}.edn"
        path.write_text("".join(f"{line}\n" for line in table.column("value").to_pylist()), newline="")
        return path
    path = folder / f"{name}.parquet"
    path.mkdir(exist_ok=True)
    for left in path.iterdir():
        left.unlink()
    size = max(-(-table.num_rows // partitions), 1)
    numbered = table.append_column(_NUMBER, pa.array(range(table.num_rows), pa.int64()))
    for number, start in enumerate(range(0, max(table.num_rows, 1), size)):
        pq.write_table(numbered.slice(start, size), path / f"{number}.parquet")
    return path
