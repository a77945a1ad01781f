"""Damaged files of backups: each is told, and nothing wrong is restored."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup import chunks, restoration
from adalog.store.backup.catalogue import OWNER, Backup, KeptFile, catalogue, owner
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.chunks import DamagedBackup, LogChunk
from adalog.store.backup.creation import prune
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.formats import BACKUPS
from adalog.store.files.place import LocalPlace
from tests.store.backup.support import FAULTS, back_up, files, flipped, grow, held, missing, refused, unreadable


def test_damaged_backups_are_told_and_not_restored(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    back_up(data, place)
    [backup] = catalogue(place).backups
    kinds = {getattr(file, "name", "").partition("-")[0]: file for file in backup.files}
    parts: list[LogChunk | KeptFile | Backup] = [*backup.chunks, *kinds.values(), backup]
    pairs = [(part, FAULTS[(at + more) % 4]) for at, part in enumerate(parts) for more in (0, 2)]
    for number, (part, fault) in enumerate(pairs):
        damaged = LocalPlace(tmp_path / f"out-{number}")
        shutil.copytree(place.path, damaged.path)
        fault(damaged.path / part.file)
        path = tmp_path / f"restored-{number}"
        checked = check_backups(damaged)
        if part is backup and fault is missing:
            assert checked.findings == []
            refused(lambda: restore(damaged, path), Code.ARG_INVALID, "no backup")  # noqa: B023
            continue
        assert [each.where for each in checked.findings] == [part.file], part
        if isinstance(part, KeptFile) and part.folder == "segments":
            restored = restore(damaged, path)
            assert restored.replayed is not None
            assert part.name in restored.replayed
            assert held(path) == held(data)
        else:
            refused(lambda: restore(damaged, path), Code.INTERNAL, part.file)  # noqa: B023
            assert not path.exists()
        if part is not backup and fault is not unreadable:
            # The remedy that is told.
            (damaged.path / part.file).unlink(missing_ok=True)
            assert back_up(data, damaged).files == 1
            assert check_backups(damaged, deep=True).findings == []


def test_what_comes_before_the_damage_is_restored(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_FULL", 500)
    back_up(data, place)
    chunk = catalogue(place).backups[0].chunks[-2]
    flipped(place.path / chunk.file)
    refused(lambda: restore(place, tmp_path / "x"), Code.INTERNAL, f"with --t {chunk.first - 1}")
    assert restore(place, tmp_path / "restored", moment=chunk.first - 1).t == chunk.first - 1


def test_nothing_but_backups_is_removed_while_one_cannot_be_read(data: Path, place: LocalPlace) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        grow(database, 9)
        database.compact()
    back_up(data, place)
    [first, second] = catalogue(place).backups
    flipped(place.path / first.file)
    parts = {name for name in files(place) if not name.startswith("backups/")}
    assert prune(place, 1) == []
    assert {name for name in files(place) if not name.startswith("backups/")} == parts
    assert back_up(data, place).number == 3
    (place.path / first.file).unlink()
    prune(place, 2)
    assert not set(first.parts()) - set(second.parts()) & files(place)


def test_a_later_format_is_told(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    back_up(data, place)
    path = place.path / catalogue(place).backups[0].file
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": BACKUPS.newest + 1}))
    said = f"is of format {BACKUPS.newest + 1}, made by a later version of adalog"
    refused(lambda: check_backups(place), Code.INTERNAL, said)
    refused(lambda: restore(place, tmp_path / "x"), Code.INTERNAL, said)


def test_names_that_lead_elsewhere_are_refused(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    """A backup is data of somebody who may write there, not a way to write anywhere."""
    import hashlib

    back_up(data, place)
    path = place.path / catalogue(place).backups[0].file
    whole = json.loads(path.read_text())
    body = json.loads(whole["body"])
    for file in body["files"]:
        if file["folder"] == "segments":
            file["name"] = "../../../evil"
    whole["body"] = json.dumps(body)
    whole["checksum"] = hashlib.sha256(whole["body"].encode()).hexdigest()
    path.write_text(json.dumps(whole))
    restore(place, tmp_path / "restored")
    assert not list(tmp_path.rglob("evil"))


def test_an_older_backup_is_not_restored_in_place_of_a_damaged_one(
    data: Path, place: LocalPlace, tmp_path: Path
) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        database.transact("[[:db/add 1 :n 100]]")
        instant = database.tx_instant(12)
    back_up(data, place)
    [_, second] = catalogue(place).backups
    flipped(place.path / second.file)
    path = tmp_path / "restored"
    for moment in (None, 12, instant):
        said = (second.file, "--backup 1 restores the newest that can be read")
        refused(lambda: restore(place, path, moment=moment), Code.INTERNAL, *said)  # noqa: B023
    refused(lambda: restore(place, path, number=2), Code.INTERNAL, second.file)
    assert not path.exists()
    assert restore(place, path, number=1).t == 11
    assert restore(place, tmp_path / "earlier", moment=11).t == 11
    # Once there is a newer one, it is nobody's loss.
    back_up(data, place)
    assert restore(place, tmp_path / "newest").t == 12


def test_whose_backups_these_are(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    """Restoring needs no more than the backups; a further one wants to be sure."""
    back_up(data, place)
    mark = place.path / OWNER
    identity = catalogue(place).backups[0].identity
    for number, text in enumerate(('{"identity": "another"}', "", None)):
        if text is None:
            mark.unlink()
        else:
            mark.write_text(text)
        [finding] = check_backups(place).findings
        assert (finding.where, finding.remedy) == (OWNER, f'write {{"identity": "{identity}"}} into it')
        with pytest.raises(AdalogError, match=r"another database|adalog-backups\.json"):
            back_up(data, place)
        assert restore(place, tmp_path / f"restored-{number}").t == 11
    mark.write_text(f'{{"identity": "{identity}"}}')
    assert check_backups(place).findings == []
    assert back_up(data, place).number == 2


def test_every_byte_of_whose_backups_these_are_counts(data: Path, place: LocalPlace) -> None:
    back_up(data, place)
    mark = place.path / OWNER
    whole = mark.read_bytes()
    for at in range(len(whole)):
        for bit in (0x01, 0x20, 0x80):
            mark.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            with pytest.raises(DamagedBackup):
                owner(place)
    assert [finding.where for finding in check_backups(place).findings] == [OWNER]
    mark.write_bytes(whole)
    assert check_backups(place).findings == []
    # As it was written before it had a checksum.
    identity = catalogue(place).backups[0].identity
    mark.write_text(f'{{"format": "adalog backups", "version": 1, "identity": "{identity}"}}')
    assert check_backups(place).findings == []
    mark.write_text(f'{{"format": "adalog backupt", "version": 1, "identity": "{identity}"}}')
    assert [finding.where for finding in check_backups(place).findings] == [OWNER]


def test_a_deep_check_without_room_is_no_damage(
    data: Path, place: LocalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(restoration, "write_text", full)
    refused(lambda: check_backups(place, deep=True), Code.BACKEND_UNAVAILABLE, "No space left")
