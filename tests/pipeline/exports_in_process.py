"""Exports without Spark, and what they say: the same steps, one after the other in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adalog.datalog import edn
from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Float, Keyword, Uri, identity, instant
from adalog.pipeline.exporting.export import ExportOutcome, export
from adalog.pipeline.exporting.folder import Listing, read_manifest
from adalog.pipeline.exporting.origin import ExportOrigin
from adalog.pipeline.exporting.schema import movable
from adalog.pipeline.importing.write.loading import ImportOutcome
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.pipeline.pipeline_in_process import InProcess, imported

Said = set[tuple[Any, ...]]
"""(entity, attribute, identity of the value, transaction, whether added)."""


def exported(
    snapshot: Snapshot, to: Path, form: str = "parquet", rows: int = 1 << 21
) -> tuple[ExportOutcome, Listing]:
    outcome = export(snapshot, InProcess(), to, form, rows)
    return outcome, read_manifest(ExportOrigin(str(to)))


def said(snapshot: Snapshot) -> Said:
    """What the view holds of attributes that are not adalog's own."""
    return {
        (datom.e, str(datom.a), identity(datom.v), datom.t, datom.added)
        for datom in snapshot.datoms("AEVT")
        if not str(datom.a).startswith(":db")
    }


def held(snapshot: Snapshot, *, moved: bool = False) -> Said:
    """The same without time, and with idents; `moved`: as it is where it was imported."""
    refs = {str(each.ident) for each in snapshot.attributes() if each.is_ref}
    rows = {(e, a, v) for e, a, v, _, _ in said(snapshot)}
    rows |= {
        (datom.e, str(datom.a), identity(datom.v))
        for datom in snapshot.datoms("AEVT", [Keyword("db/ident")])
        if not str(datom.v).startswith(":db")
    }
    if not moved:
        return rows
    names = {e for e, a, _ in rows if a == ":db/ident"}
    return {(_moved(e, names), a, _moved(v, names) if a in refs else v) for e, a, v in rows}


def _moved(e: int, names: set[int]) -> int:
    import numpy as np

    built_in = (1 << 41) < e < (1 << 41) + 1000
    return e if e in names or built_in else int(movable(np.array([e]))[0])


_READERS: dict[str, Any] = {
    "bigint": BigInt,
    "float": Float,
    "uri": Uri,
    "keyword": edn.read,
    "symbol": edn.read,
    "tuple": edn.read,
    "instant": instant,
    "bigdec": lambda text: edn.read(f"{text}M"),
    "duration": Duration.read,
    "uuid": lambda text: edn.read(f'#uuid "{text}"'),
}


def in_parquet(folder: Path) -> Said:
    """What the files of an export say, read by PyArrow."""
    manifest, found = read_manifest(ExportOrigin(str(folder))), set()
    for attribute in manifest.attributes:
        if attribute.attribute == ":db/txInstant":
            continue
        read = _READERS.get(attribute.type, lambda value: value)
        rows = 0
        for file in attribute.files:
            table = pq.read_table(folder / attribute.folder / file.name, partitioning=None)
            assert table.schema.metadata[b"adalog.attribute"].decode() == attribute.attribute
            assert table.schema.metadata[b"adalog.type"].decode() == attribute.type
            assert table.column_names == ["e", "v", "t", "added"][: 4 if manifest.history else 3]
            rows += table.num_rows
            for row in table.to_pylist():
                key = (row["e"], attribute.attribute, identity(read(row["v"])), row["t"], row.get("added", True))
                assert key not in found
                found.add(key)
        assert rows == attribute.datoms
    return found


def lines(folder: Path) -> Iterator[str]:
    """The lines of an export, but those of transactions' instants."""
    for path in sorted(folder.glob("*/part-*.edn")):
        if path.parent.name != "db.txInstant":
            yield from path.read_text(encoding="utf-8").split("\n")[:-1]


def in_edn(folder: Path) -> Said:
    """What the lines of an export say."""
    found = set()
    for line in lines(folder):
        e, a, v, t, added = edn.read(line)
        key = (e, str(a), identity(v), t, added)
        assert key not in found
        found.add(key)
    return found


def loaded(
    database: Database, folder: Path, source: dict[str, Any], *texts: str, **options: Any
) -> tuple[ImportOutcome, list[tuple[str, int, str]]]:
    """An import of one source; texts: its lines, where it is not an export whose lines are read."""
    mapping: dict[str, Any] = {"sources": {"all": {"path": "x.edn", **source}}}
    if "schema" in options:
        mapping["schema"] = str(options.pop("schema"))
    tables = {"all": pa.table({"value": pa.array(texts, pa.string())})} if source["format"] == "edn" else {}
    return imported(database, folder, mapping, tables, **options)
