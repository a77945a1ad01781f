"""Backups on other file systems, which know no locks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.restoration import restore
from adalog.store.files import place as places
from adalog.store.files.place import LocalPlace, ObjectStore, place_of
from tests.store.backup.support import back_up, held, refused


def elsewhere(system: Any = None) -> ObjectStore:
    return ObjectStore(system or pafs._MockFileSystem(), "bucket/backups", "s3://bucket/backups")


def test_other_file_systems(data: Path, tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    for place in (elsewhere(), elsewhere(pafs.SubTreeFileSystem(str(below), pafs.LocalFileSystem()))):
        first = back_up(data, place)
        assert back_up(data, place).written == 0
        assert first.written == first.bytes
        assert check_backups(place, deep=True).findings == []
        path = tmp_path / f"restored-{id(place)}"
        assert restore(place, path).t == 11
        assert held(path) == held(data)
        refused(lambda: restore(place, path), Code.ARG_INVALID, "not empty")  # noqa: B023
        assert [each.number for each in catalogue(place).backups] == [1, 2]
        assert back_up(data, place, keep=1).removed == [1, 2]


def test_what_others_may_be_about_to_name_stays_for_a_day(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    place = elsewhere(pafs.SubTreeFileSystem(str(below), pafs.LocalFileSystem()))
    back_up(data, place)
    place.write("files/left", [b"of a backup that was killed, or one under way"])
    back_up(data, place, keep=1)
    assert "left" in place.sizes("files")
    monkeypatch.setattr(places, "_DAY_SECONDS", -5.0)
    back_up(data, place, keep=1)
    assert "left" not in place.sizes("files")
    assert check_backups(place).findings == []


def test_a_file_that_goes_meanwhile(data: Path, tmp_path: Path) -> None:
    """Where there are no locks, somebody may remove what the next backup would share."""

    class Removing(LocalPlace):
        def settle(self) -> None:
            for name in self.sizes("files"):
                self.remove(f"files/{name}")

    place = LocalPlace(tmp_path / "out")
    back_up(data, place)
    refused(lambda: back_up(data, Removing(place.path)), Code.BACKEND_UNAVAILABLE, "somebody else changes")
    assert len(catalogue(place).backups) == 1


def test_addresses_of_files(data: Path, tmp_path: Path) -> None:
    place = place_of(f"file://{tmp_path}/out%201")
    assert place.shown == f"{tmp_path}/out 1"
    back_up(data, place)
    assert (tmp_path / "out 1" / "adalog-backups.json").exists()


def test_what_somebody_else_removes_too(data: Path, tmp_path: Path) -> None:
    """A file may go between the look and the removal."""

    class Going(pafs.LocalFileSystem):  # type: ignore[misc]
        def delete_file(self, path: str) -> None:
            super().delete_file(path)
            super().delete_file(path)

    place = ObjectStore(Going(), str(tmp_path / "below"), "s3://bucket/backups")
    back_up(data, place)
    assert back_up(data, place, keep=1).removed == [1]
    assert check_backups(place).findings == []


def test_older_backups_that_cannot_be_removed(
    data: Path, place: LocalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)

    def failing(self: LocalPlace, name: str) -> None:
        raise AdalogError(Code.BACKEND_UNAVAILABLE, "no")

    monkeypatch.setattr(LocalPlace, "remove", failing)
    refused(lambda: back_up(data, place, keep=1), Code.BACKEND_UNAVAILABLE, "backup 2 was taken, but older ones")
    assert [each.number for each in catalogue(place).backups] == [1, 2]
