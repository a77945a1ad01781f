"""What tests of backups share: a database's steps, what it holds, refusals, faults of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.backup.creation import BackupResult, take
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace, Place
from adalog.store.sources import source_of

PEOPLE = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"]})
N = Keyword("n")


def grow(database: Database, number: int) -> None:
    database.transact(f"[{' '.join(f'[:db/add {e} :n {e * 10 + number}]' for e in range(1, 30))}]")


def back_up(data: Path | str, place: Place, keep: int | None = None, segments: str | None = None) -> BackupResult:
    with source_of(str(data), segments) as source:
        return take(source, place, keep)


def held(path: Path) -> tuple[int, list[tuple[int, int]]]:
    with Database.open(str(path)) as database:
        return held_in(database)


def held_in(database: Database) -> tuple[int, list[tuple[int, int]]]:
    snapshot = database.snapshot()
    attribute = snapshot.attribute(N)
    if attribute is None:
        return snapshot.t, []
    columns = snapshot.columns(attribute)
    return snapshot.t, list(zip(columns.e.tolist(), columns.v.tolist(), strict=True))


def held_in_past(database: Database, t: int) -> tuple[int, list[tuple[int, int]]]:
    snapshot = database.at(t=t)
    attribute = snapshot.attribute(N)
    columns = None if attribute is None else snapshot.columns(attribute)
    return t, [] if columns is None else list(zip(columns.e.tolist(), columns.v.tolist(), strict=True))


def files(place: LocalPlace) -> set[str]:
    return {str(path.relative_to(place.path)) for path in place.path.rglob("*") if path.is_file()}


def refused(act: Callable[[], object], code: Code, *said: str) -> None:
    with pytest.raises(AdalogError) as raised:
        act()
    assert raised.value.code is code, raised.value
    for text in said:
        assert text in raised.value.message


def truncated(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def missing(path: Path) -> None:
    path.unlink()


def unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


FAULTS = [truncated, flipped, missing, unreadable]
