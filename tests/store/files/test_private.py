"""What is in a data folder is its owner's, whatever the umask says."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.store.checkpoint import compactor
from adalog.store.database import Database


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The permissions of the folder and of all in it."""
    return {
        str(path.relative_to(folder.parent)): stat.S_IMODE(path.stat().st_mode)
        for path in [folder, *folder.rglob("*")]
    }


def written(path: Path) -> None:
    with Database.open(str(path)) as database:
        database.transact("[" + " ".join(f"[:db/add {n} :n {n}]" for n in range(1, 60)) + "]")
        assert stat.S_IMODE((path / "log.sqlite-wal").stat().st_mode) == 0o600
    check_private(path)


def check_private(folder: Path) -> None:
    for name, mode in modes(folder).items():
        assert mode == (0o700 if (folder.parent / name).is_dir() else 0o600), name


def test_what_is_made_is_private(tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "_LEAST", 10)
    monkeypatch.setattr(compactor, "_ENOUGH", 10)
    folder = tmp_path / "data"
    written(folder)
    assert (folder / "checkpoint.json").exists()
    assert list((folder / "segments").iterdir())


def loosened(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    Database.open(str(folder)).close()
    for path in (folder, folder / "segments"):
        path.chmod(0o755)
    (folder / "log.sqlite").chmod(0o644)
    return folder


def test_a_folder_that_was_open_is_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = loosened(tmp_path)
    with caplog.at_level(logging.INFO):
        Database.open(str(folder)).close()
    check_private(folder)
    assert "was open to other users" in caplog.text


def test_a_folder_with_files_of_others_stays_open_and_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = loosened(tmp_path)
    (folder / "notes.txt").write_text("mine")
    (folder / "notes.txt").chmod(0o644)
    Database.open(str(folder)).close()
    found = modes(folder)
    assert found["data"] == 0o755
    assert found["data/notes.txt"] == 0o644
    assert found["data/log.sqlite"] == 0o600
    (record,) = caplog.records
    assert "stays so" in record.getMessage()
