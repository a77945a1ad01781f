"""The chain of checksums: it holds over payloads that were replaced, and over those of earlier versions."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.place import place_of
from adalog.store.log.entry import NO_CHECKSUM, LogEntry, chained, is_replaced, replaced, sealed_after

SECRET = "a secret that was pasted by mistake"


def sealed(entry: LogEntry) -> LogEntry:
    return replace(entry, seal=sealed_after(0, entry, token_bytes(16))[0])


def old_checksum(previous: int, entry: LogEntry) -> int:
    """As versions before format 3 had it."""
    head = f"{entry.t} {entry.instant} {entry.row_key!r} ".encode()
    return zlib.crc32(entry.payload, zlib.crc32(head, previous))


payloads = st.binary(max_size=300)


@given(st.lists(payloads, min_size=1, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6), st.data())
def test_no_replaced_payload_changes_the_chain(written: list[bytes], old: list[bool], data: st.DataObject) -> None:
    entries = [LogEntry(t, 1000 + t, None, payload) for t, payload in enumerate(written, 1)]
    entries = [entry if is_old else sealed(entry) for entry, is_old in zip(entries, old, strict=False)]
    checksums = chain(entries)
    for number, entry in enumerate(entries):
        for _ in range(data.draw(st.integers(0, 2))):
            entry = replaced(entry, data.draw(payloads))
        entries[number] = entry
    assert chain(entries) == checksums


@given(st.integers(0, 1 << 20))
def test_a_long_payload_of_an_earlier_version(length: int) -> None:
    entry = LogEntry(7, 1000, "its key", bytes([length % 251]) * length)
    assert chained(99, entry) == old_checksum(99, entry)
    assert chained(99, replaced(entry, b"short")) == old_checksum(99, entry)


def chain(entries: list[LogEntry]) -> list[int]:
    found, checksum = [], 0
    for entry in entries:
        checksum = chained(checksum, entry)
        found.append(checksum)
    return found


@pytest.mark.parametrize("made", [lambda entry: entry, sealed], ids=["old", "sealed"])
def test_other_payloads_and_seals_are_noticed(made: Callable[[LogEntry], LogEntry]) -> None:
    entry = made(LogEntry(1, 1000, None, b"what was written"))
    checksum = chained(0, entry)
    with_other = LogEntry(1, 1000, None, b"what was writtem", seal=entry.seal)
    assert chained(0, with_other) != checksum
    gone = replaced(entry, b"what stays")
    assert chained(0, LogEntry(1, 1000, None, b"what stayz", seal=gone.seal)) == NO_CHECKSUM
    assert chained(0, LogEntry(1, 1001, None, gone.payload, seal=gone.seal)) != checksum
    assert gone.seal is not None
    for seal in (b"", b"\1", b"\2", b"\3", b"\4" + bytes(16), gone.seal[:-1], gone.seal + b"\0"):
        assert chained(0, LogEntry(1, 1000, None, gone.payload, seal=seal)) == NO_CHECKSUM


def test_a_seal_tells_nothing_of_a_payload_that_is_gone() -> None:
    """Equal entries have other digests, and the salt by which a guess could be compared is not kept."""
    one, other = (sealed(LogEntry(1, 1000, None, SECRET.encode())) for _ in range(2))
    assert one.seal is not None
    first, second = replaced(one, b""), replaced(other, b"")
    assert first.seal != second.seal
    assert first.seal is not None
    assert one.seal[1:] not in first.seal


def test_the_log_of_a_folder_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact('[{:note/text "first"}]')
        database.transact(f'[{{:db/id 7 :note/text "{SECRET}"}} {{:note/text "kept"}}]')
        database.transact('[{:note/text "last"}]')
        checksums = [database.log.checksum_at(t) for t in range(1, 4)]
        database.transact("[{:db/excise 7}]")
        database.transact('[{:note/text "later"}]')
        assert [database.log.checksum_at(t) for t in range(1, 4)] == checksums
    for path in folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    with Database.open(str(folder)) as database:
        datoms = [datom for report in database.transactions(1, 9, 9) for datom in report.datoms]
        texts = {datom.v for datom in datoms if str(datom.a) == ":note/text"}
        assert texts == {"first", "kept", "last", "later"}
        assert [is_replaced(entry) for entry in database.log.entries(1, 9, 9)] == [False, True, False, False, False]
        assert database.log.faults() == []


def test_a_replaced_payload_that_was_changed_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact(f'[{{:db/id 7 :note/text "{SECRET}"}}]')
        database.transact("[{:db/excise 7}]")
    with sqlite3.connect(folder / "log.sqlite") as connection:
        connection.execute("UPDATE transactions SET payload = CAST(payload || x'00' AS BLOB)")
    connection.close()
    (folder / "checkpoint.json").unlink()
    with pytest.raises(AdalogError, match="transaction 1 is not what was written") as error:
        Database.open(str(folder))
    assert error.value.code is Code.INTERNAL


def test_processes_on_one_log_go_on(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with Database.open(folder, shared=True) as one, Database.open(folder, shared=True) as other:
        one.transact(f'[{{:db/id 7 :note/text "{SECRET}"}}]')
        other.transact('[{:note/text "other"}]')
        one.transact("[{:db/excise 7}]")
        assert other.transact('[{:note/text "after"}]').t == 4
        assert one.transact('[{:note/text "last"}]').t == 5


def test_backups_have_what_is_there_by_then(tmp_path: Path) -> None:
    folder, place = tmp_path / "data", place_of(str(tmp_path / "backups"))
    with Database.open(str(folder)) as database:
        database.transact(f'[{{:db/id 7 :note/text "{SECRET}"}} {{:note/text "kept"}}]')
        database.transact("[{:db/excise 7}]")
        database.transact('[{:note/text "last"}]')
        take(database.source(), place)
        checksums = [database.log.checksum_at(t) for t in (1, 2)]
    restore(place, tmp_path / "restored")
    with Database.open(str(tmp_path / "restored")) as database:
        assert [database.log.checksum_at(t) for t in (1, 2)] == checksums
        assert [is_replaced(entry) for entry in database.log.entries(1, 9, 9)] == [True, False, False]
