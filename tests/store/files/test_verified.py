"""Files that are as they were are not read when a folder is opened again; damage is found all the same."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.checkpoint import rechecks
from adalog.store.database import Database
from adalog.store.files import segment
from adalog.store.sources import read_folder
from tests.pipeline.pipeline_in_process import imported
from tests.store.log.folders.make import MAPPING, SCHEMA

NAMES = [f"name {n}" for n in range(500)]
SPOILT = b"name 123"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With an attribute and a dictionary in files."""
    path = tmp_path / "data"
    with Database.open(str(path)) as database:
        database.transact("[" + " ".join(f'[:db/add {n} :name "{name}"]' for n, name in enumerate(NAMES)) + "]")
        database.compact()
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose content is read, but that of young events, which is copied in any case."""
    names: list[str] = []
    original = segment._checksum_of

    def noted(file: Any, *pause: Any) -> int:
        if not Path(file.name).name.startswith("young"):
            names.append(Path(file.name).name)
        return original(file, *pause)

    monkeypatch.setattr(segment, "_checksum_of", noted)
    return names


def names_in(database: Database) -> list[str]:
    return sorted(datom.v for datom in database.snapshot().datoms("AEVT", [Keyword("name")]))


def dictionary_of(folder: Path) -> Path:
    [path] = (each for each in (folder / "segments").glob("dictionary*") if SPOILT in each.read_bytes())
    return path


def spoil(path: Path) -> None:
    """Changes a byte and sets the file's times back, as far as one can."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[content.index(SPOILT)] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def forge(folder: Path) -> None:
    """Makes the record one of the files as they are now, as though nobody had written to them."""
    record = folder / "verified.json"
    whole = json.loads(record.read_text())
    for name, entry in whole["files"].items():
        found = (folder / "segments" / name).stat()
        entry[1] = [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    record.write_text(json.dumps(whole))


def test_files_are_not_read_again(folder: Path, read: list[str]) -> None:
    for _ in range(2):
        with Database.open(str(folder)) as database:
            assert names_in(database) == sorted(NAMES)
        assert read_folder(str(folder)).t == 1
    assert read == []


def test_files_of_an_import_are_not_read_again(tmp_path: Path, read: list[str]) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        imported(database, tmp_path, MAPPING, {"people": pa.table({"name": ["Ada", "Bob"], "age": [36, 41]})})
        database.compact()
    read.clear()
    with Database.open(str(tmp_path / "data")):
        pass
    assert read == []


def test_a_changed_file_is_found_at_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    spoil(dictionary_of(folder))
    with Database.open(str(folder)) as database:
        assert names_in(database) == sorted(NAMES)
    assert "rebuilding from the log" in caplog.text


def test_a_copy_is_read_once(folder: Path, read: list[str]) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    with Database.open(str(copy)):
        assert sorted(read) == sorted(
            each.name for each in (copy / "segments").iterdir() if not each.name.startswith("young")
        )
    read.clear()
    with Database.open(str(copy)):
        assert read == []


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2}', '{"version": 1, "files": {"a": 1}}', "[" * 9999])
def test_a_record_that_is_none(folder: Path, text: str, read: list[str]) -> None:
    (folder / "verified.json").write_text(text)
    for is_first in (True, False):
        read.clear()
        with Database.open(str(folder)) as database:
            assert names_in(database) == sorted(NAMES)
        assert bool(read) is is_first


def test_a_folder_on_a_full_disk_opens(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "verified.json").unlink()

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adalog.store.files.verified.write_text", refused)
    with Database.open(str(folder)) as database:
        assert names_in(database) == sorted(NAMES)
    assert "verified.json cannot be written" in caplog.text


def wait_for_damage(database: Database) -> AdalogError:
    for _ in range(500):
        try:
            database.snapshot()
        except AdalogError as error:
            return error
        time.sleep(0.01)
    raise AssertionError("no damage was found")


def test_damage_by_the_disk_is_found_beside_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rechecks.Rechecks.__init__, "__defaults__", (0.0,))
    spoilt = dictionary_of(folder)
    spoil(spoilt)
    forge(folder)
    with Database.open(str(folder)) as database:
        error = wait_for_damage(database)
        assert error.code is Code.INTERNAL
        assert f"{spoilt.name} is damaged" in error.message
        for act in (lambda: database.at(t=0), lambda: database.transact("[[:db/add 1 :name 3]]")):
            with pytest.raises(AdalogError, match="is damaged"):
                act()
    with Database.open(str(folder)) as database:
        assert names_in(database) == sorted(NAMES)


def test_a_fold_takes_over_nothing_that_the_disk_damaged(folder: Path) -> None:
    before = (folder / "checkpoint.json").read_bytes()
    spoil(dictionary_of(folder))
    forge(folder)
    with Database.open(str(folder)) as database:
        database.transact("[" + " ".join(f'[:db/add {n} :name "x{n}"]' for n in range(600, 1200)) + "]")
        database.compact()
        with pytest.raises(AdalogError, match="is damaged"):
            database.snapshot()
    assert (folder / "checkpoint.json").read_bytes() == before
    with Database.open(str(folder)) as database:
        assert names_in(database) == sorted([*NAMES, *(f"x{n}" for n in range(600, 1200))])


def test_each_file_is_read_beside_the_work_once_a_day(
    folder: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    monkeypatch.setattr(rechecks.Rechecks.__init__, "__defaults__", (0.0,))
    for expected in (True, False):
        read.clear()
        with Database.open(str(folder)) as database:
            if database._rechecks is not None:
                database._rechecks._thread.join()
        assert bool(read) is expected
    record = folder / "verified.json"
    whole = json.loads(record.read_text())
    for entry in whole["files"].values():
        entry[2] -= 90_000
    record.write_text(json.dumps(whole))
    with Database.open(str(folder)) as database:
        assert database._rechecks is not None
        database._rechecks._thread.join()
    assert read
