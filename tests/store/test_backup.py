"""Backups: what is written and what is not, what is refused, and what faults of disks and files come to."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest
import sqlalchemy as sa

from datalog.errors import AdalogError, Code
from datalog.values import Keyword
from store import compactor
from store import place as places
from store.backup import chunks, restoring, soundness
from store.backup.catalogue import catalogue
from store.backup.checking import Checked, check_folder
from store.backup.checking_backups import check_backups
from store.backup.restoring import restore, restore_to_server
from store.backup.taking import Taken, prune, take
from store.base import Base
from store.checkpoint import Checkpoint
from store.database import Database
from store.folder import Layout
from store.log import KeyMemory
from store.place import Folder, Place, Store, place_of
from store.reading import source_of
from store.relation import Relation
from store.run import Run
from store.stored import load_base, save_relation
from store.trie import Csr
from tests.executor.pipeline_in_process import imported
from tests.executor.test_importing import SCHEMA, mapping
from tests.postgres_servers import PostgresServer, running

PEOPLE = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"]})
N = Keyword("n")


@pytest.fixture(autouse=True)
def folds_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "_ENOUGH", 10**9)
    monkeypatch.setattr(compactor, "_LEAST", 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a checkpoint, an import in its log, and entries after it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, Database.open(str(folder / "data")) as database:
        patch.setattr(compactor, "_LEAST", 1)
        database.transact(SCHEMA)
        imported(database, folder, mapping({"person/name": "name"}), {"people": PEOPLE})
        for number in range(5):
            grow(database, number)
        database.compact()
        for number in range(5, 8):
            grow(database, number)
        database.submit("[[:db/add 1 :n 99]]", idempotency_key="once").result()
    return folder / "data"


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "data")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "out")


def grow(database: Database, number: int) -> None:
    database.transact(f"[{' '.join(f'[:db/add {e} :n {e * 10 + number}]' for e in range(1, 30))}]")


def back_up(data: Path, place: Place, keep: int | None = None) -> Taken:
    with source_of(str(data)) as source:
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


def files(place: Folder) -> set[str]:
    return {str(path.relative_to(place.path)) for path in place.path.rglob("*") if path.is_file()}


def refused(act: Callable[[], object], code: Code, *said: str) -> None:
    with pytest.raises(AdalogError) as raised:
        act()
    assert raised.value.code is code, raised.value
    for text in said:
        assert text in raised.value.message


# What is written


def test_only_what_is_new_is_written(data: Path, place: Folder) -> None:
    first = back_up(data, place)
    before = files(place)
    assert (first.number, first.t, first.written) == (1, 11, first.bytes)
    again = back_up(data, place)
    assert (again.number, again.written, again.files) == (2, 0, 0)
    assert len(files(place) - before) == 1
    with Database.open(str(data)) as database:
        database.transact("[[:db/add 1 :n 100]]")
    third = back_up(data, place)
    assert (third.t, third.files) == (12, 1)
    assert third.written < first.written / 10
    assert check_backups(place, deep=True).findings == []


def test_short_parts_of_the_log_are_put_together(
    data: Path, place: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        written = 0
        for number in range(40):
            database.transact(f"[[:db/add 1 :n {200 + number}]]")
            written += take(database.source(), place).written
    newest = catalogue(place).backups[-1]
    assert len(newest.chunks) < 8
    assert written < 40 * 1_000
    assert restore(place, data.parent / "restored").t == newest.t


def test_files_are_closed_to_others(data: Path, place: Folder) -> None:
    back_up(data, place)
    for path in (place.path, *place.path.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0


def test_beside_whoever_has_the_folder(data: Path, place: Folder) -> None:
    with Database.open(str(data)) as database:
        database.transact("[[:db/add 1 :n 555]]")
        assert back_up(data, place).t == 12
        database.compact()
        assert back_up(data, place).left_out is None
        assert check_folder(str(data), deep=True).findings == []
        expected = held_in(database)
    restore(place, data.parent / "restored")
    assert held(data.parent / "restored") == expected


def test_a_database_in_memory_has_its_log(place: Folder, tmp_path: Path) -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 1 :n 5]]")
        assert take(database.source(), place).t == 1
    restore(place, tmp_path / "restored")
    assert held(tmp_path / "restored") == (1, [(1, 5)])


def test_an_empty_database(place: Folder, tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        assert take(database.source(), place).t == 0
    assert restore(place, tmp_path / "restored").t == 0
    assert check_backups(place, deep=True).findings == []
    assert held(tmp_path / "restored") == (0, [])


def test_older_backups_go_with_what_only_they_have(data: Path, place: Folder) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        for number in range(3):
            grow(database, number)
            database.compact()
            take(database.source(), place)
    assert back_up(data, place, keep=2).removed == [1, 2, 3]
    assert [each.number for each in catalogue(place).backups] == [4, 5]
    named = {name for each in catalogue(place).backups for name in each.parts()}
    assert {name for name in files(place) if name.startswith(("files/", "log/"))} == named
    assert check_backups(place, deep=True).findings == []


# What is restored


def test_any_transaction_and_any_instant(data: Path, place: Folder, tmp_path: Path) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        instants = {t: database.tx_instant(t) for t in range(1, 12)}
        expected = {t: held_in_past(database, t) for t in range(12)}
    for t in (0, 1, 2, 6, 11):
        restore(place, tmp_path / f"at-{t}", moment=t)
        assert held(tmp_path / f"at-{t}") == expected[t]
        with Database.open(str(tmp_path / f"at-{t}")) as restored:
            assert restored.transaction_of("once") == (11 if t == 11 else None)
    instant = instants[6]
    assert instant is not None
    last = max(t for t, each in instants.items() if each is not None and each <= instant)
    assert restore(place, tmp_path / "then", moment=instant).t == last
    assert restore(place, tmp_path / "before", moment=instant - timedelta(days=9)).t == 0
    refused(lambda: restore(place, tmp_path / "x", moment=12), Code.BASIS_FUTURE, "backup 1 is of t = 11")
    refused(lambda: restore(place, tmp_path / "x", moment=-1), Code.ARG_INVALID)
    refused(
        lambda: restore(place, tmp_path / "x", number=7), Code.ARG_INVALID, "there is no backup 7", "there are 1"
    )
    assert not (tmp_path / "x").exists()


def held_in_past(database: Database, t: int) -> tuple[int, list[tuple[int, int]]]:
    snapshot = database.at(t=t)
    attribute = snapshot.attribute(N)
    columns = None if attribute is None else snapshot.columns(attribute)
    return t, [] if columns is None else list(zip(columns.e.tolist(), columns.v.tolist(), strict=True))


def test_the_newest_segments_that_know_nothing_later_are_used(
    data: Path, place: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        grow(database, 9)
        database.compact()
        take(database.source(), place)
        grow(database, 10)
        take(database.source(), place)
    for moment, checkpoint_t in ((13, 12), (12, 12), (11, 7), (7, 7), (6, None)):
        path = tmp_path / f"at-{moment}"
        restore(place, path, moment=moment)
        found = Checkpoint.load(Layout(path))
        assert (None if found is None else found.counters.t) == checkpoint_t


def test_what_is_restored_is_ready_at_once(
    data: Path, place: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no segments fit, they are made before the folder is anybody's."""
    back_up(data, place)
    monkeypatch.setattr(compactor, "_ENOUGH", 10)
    restore(place, tmp_path / "restored", moment=6)
    found = Checkpoint.load(Layout(tmp_path / "restored"))
    assert found is not None
    assert found.counters.t == 6


def test_forgotten_keys_stay_forgotten(data: Path, place: Folder, tmp_path: Path) -> None:
    with Database.open(str(data)) as database:
        database._log._keys = KeyMemory(seconds=0)
        with sa.create_engine(f"sqlite:///{data / 'log.sqlite'}").connect() as connection:
            connection.execute(sa.text("UPDATE idempotency_keys SET at = 5"))
            connection.commit()
        take(database.source(), place)
    restore(place, tmp_path / "restored")
    with Database.open(str(tmp_path / "restored")) as restored:
        assert restored.transaction_of("once") is None


def test_only_into_an_empty_folder(data: Path, place: Folder, tmp_path: Path) -> None:
    back_up(data, place)
    before = held(data)
    refused(lambda: restore(place, data), Code.ARG_INVALID, "is not empty", "log.sqlite")
    assert held(data) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    refused(lambda: restore(place, other), Code.ARG_INVALID, "notes.txt")
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
    (other / "notes.txt").unlink()
    (other / "lost+found").mkdir()
    restore(place, other)
    assert held(other) == before
    file = tmp_path / "file"
    file.write_text("")
    refused(lambda: restore(place, file), Code.BACKEND_UNAVAILABLE)


def test_a_copy_goes_on_by_itself(data: Path, place: Folder, tmp_path: Path) -> None:
    """It has the identity, so that what is cached stays good, and other marks for what it says differently."""
    back_up(data, place)
    restore(place, tmp_path / "copy", moment=9)
    with Database.open(str(data)) as one, Database.open(str(tmp_path / "copy")) as other:
        assert one.identity == other.identity
        assert one.history_mark(9) == other.history_mark(9)
        refused(lambda: other.history_mark(10), Code.ARG_INVALID)
        refused(lambda: take(other.source(), place), Code.BASIS_CONFLICT, "which this database has not reached")
        for number in range(5):
            grow(other, number)
        assert one.history_mark(10) != other.history_mark(10)
        refused(lambda: take(other.source(), place), Code.BASIS_CONFLICT, "has another transaction 11")
    assert len(catalogue(place).backups) == 1


# What is no place


def test_other_places_are_refused(data: Path, place: Folder, tmp_path: Path) -> None:
    back_up(data, place)
    with Database.open(str(tmp_path / "other")) as other:
        refused(lambda: take(other.source(), place), Code.ARG_INVALID, "backups of another database")
    for inside in (data, data / "out", data / "segments"):
        refused(lambda: back_up(data, Folder(inside)), Code.ARG_INVALID, "lies in the data folder")  # noqa: B023
    link = tmp_path / "link"
    link.symlink_to(data)
    refused(lambda: back_up(data, Folder(link / "out")), Code.ARG_INVALID, "lies in the data folder")
    before = sorted(tmp_path.iterdir())
    refused(lambda: back_up(data, Folder(tmp_path)), Code.ARG_INVALID, "holds something else than backups")
    assert sorted(tmp_path.iterdir()) == before
    refused(lambda: place_of("nowhere://user:secret@host/x"), Code.ARG_INVALID, "nowhere://host/x")
    with pytest.raises(AdalogError) as raised:
        place_of("nowhere://user:secret@host/x?password=secret")
    assert "secret" not in str(raised.value)
    refused(lambda: catalogue(Folder(tmp_path / "nothing")), Code.ARG_INVALID, "not there")
    refused(lambda: restore(Folder(data), tmp_path / "x"), Code.ARG_INVALID, "something else")


def test_one_at_a_time(data: Path, place: Folder, tmp_path: Path) -> None:
    with place.alone():
        refused(lambda: back_up(data, place), Code.RATE_LIMITED, "another backup")
    back_up(data, place)
    with place.shared():
        refused(lambda: back_up(data, place), Code.RATE_LIMITED)
        assert restore(place, tmp_path / "restored").t == 11


# Faults


class Failing(Folder):
    """A place of which write number `at` fails, a part of it written."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__(path)
        self.left = at

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        self.left -= 1
        if self.left >= 0:
            return super().write(name, pieces)

        def full() -> Iterator[bytes]:
            for piece in pieces:
                yield piece[: len(piece) // 2]
                raise OSError(errno.ENOSPC, "No space left on device")

        return super().write(name, full())


def test_a_full_disk_leaves_the_earlier_backups(data: Path, place: Folder, tmp_path: Path) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        grow(database, 9)
        database.compact()
    before = files(place)
    failures = 0
    for at in range(100):
        with suppress(StopIteration):
            refused(lambda: _stopping(back_up(data, Failing(place.path, at))), Code.BACKEND_UNAVAILABLE, "No space")  # noqa: B023
            failures += 1
            assert files(place) == before
            assert check_backups(place).findings == []
            continue
        break
    assert failures >= 4
    assert [each.number for each in catalogue(place).backups] == [1, 2]
    assert check_backups(place, deep=True).findings == []


def _stopping(_: Taken) -> None:
    raise StopIteration


_KILLED = """
import os, sys
from pathlib import Path
from store import place
from store.backup import restoring, taking
from store.reading import source_of

what, at, data, out = sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]
left = at

def killed():
    global left
    left -= 1
    if left < 0:
        os._exit(9)

if what == "backup":
    fsync, rename = os.fsync, Path.rename
    os.fsync = lambda descriptor: (killed(), fsync(descriptor))
    Path.rename = lambda path, to: (killed(), rename(path, to))[1]
    with source_of(data) as source:
        taking.take(source, place.place_of(out))
else:
    rename, opened = Path.rename, restoring._opened
    restoring._opened = lambda path, t: (killed(), opened(path, t))[1]
    Path.rename = lambda path, to: (killed(), rename(path, to))[1]
    restoring.restore(place.place_of(out), Path(data))
print("done")
"""


def killed(what: str, at: int, path: Path, place: Folder) -> bool:
    """Whether a process that does it was killed at that step."""
    words = [sys.executable, "-c", _KILLED, what, str(at), str(path), str(place.path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 9), done.stderr
    return done.returncode == 9


@pytest.mark.parametrize("at", [0, 3, 9])
def test_a_backup_that_is_killed_is_not_there(data: Path, place: Folder, tmp_path: Path, at: int) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        grow(database, 9)
        database.compact()
    assert killed("backup", at, data, place)
    found = catalogue(place)
    assert ([each.number for each in found.backups], found.damaged) == ([1], {})
    assert check_backups(place).findings == []
    assert restore(place, tmp_path / "restored").t == 11
    # What it left is used, or goes.
    assert back_up(data, place, keep=1).t == 12
    assert not [name for name in files(place) if name.endswith(".tmp")]
    assert {name for name in files(place) if name.startswith(("files/", "log/"))} == set(
        catalogue(place).backups[0].parts()
    )


@pytest.mark.parametrize("at", [0, 1, 4])
def test_a_restore_that_is_killed_is_no_database(data: Path, place: Folder, tmp_path: Path, at: int) -> None:
    back_up(data, place)
    path = tmp_path / "restored"
    assert killed("restore", at, path, place)
    refused(lambda: Database.open(str(path)), Code.INTERNAL, "did not come to its end")
    refused(lambda: check_folder(str(path)), Code.BACKEND_UNAVAILABLE, "no database")
    assert restore(place, path).t == 11
    assert held(path) == held(data)
    assert not (path / "restoring").exists()


def test_a_restore_that_fails_leaves_the_folder_as_it_was(
    data: Path, place: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)

    def full(path: Path, t: int) -> int:
        raise AdalogError(Code.BACKEND_UNAVAILABLE, "no room")

    monkeypatch.setattr(restoring, "_opened", full)
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(lambda: restore(place, empty), Code.BACKEND_UNAVAILABLE)
    assert list(empty.iterdir()) == []
    refused(lambda: restore(place, tmp_path / "new"), Code.BACKEND_UNAVAILABLE)
    assert not (tmp_path / "new").exists()


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


def test_damaged_backups_are_told_and_not_restored(data: Path, place: Folder, tmp_path: Path) -> None:
    back_up(data, place)
    [backup] = catalogue(place).backups
    kinds = {getattr(file, "name", "").partition("-")[0]: file for file in backup.files}
    parts = [*backup.chunks, *kinds.values(), backup]
    pairs = [(part, FAULTS[(at + more) % 4]) for at, part in enumerate(parts) for more in (0, 2)]
    for number, (part, fault) in enumerate(pairs):
        damaged = Folder(tmp_path / f"out-{number}")
        shutil.copytree(place.path, damaged.path)
        fault(damaged.path / part.file)
        path = tmp_path / f"restored-{number}"
        checked = check_backups(damaged)
        if part is backup and fault is missing:
            assert checked.findings == []
            refused(lambda: restore(damaged, path), Code.ARG_INVALID, "no backup")  # noqa: B023
            continue
        assert [each.where for each in checked.findings] == [part.file], part
        if getattr(part, "folder", "") == "segments":
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
    data: Path, place: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_FULL", 500)
    back_up(data, place)
    chunk = catalogue(place).backups[0].chunks[-2]
    flipped(place.path / chunk.file)
    refused(lambda: restore(place, tmp_path / "x"), Code.INTERNAL, f"with --t {chunk.first - 1}")
    assert restore(place, tmp_path / "restored", moment=chunk.first - 1).t == chunk.first - 1


def test_nothing_but_backups_is_removed_while_one_cannot_be_read(data: Path, place: Folder) -> None:
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


# Checking a folder


def one_file(data: Path, pattern: str) -> Path:
    return next(iter(sorted(data.glob(pattern))))


def findings(data: Path, *, deep: bool = False) -> list[tuple[str, str]]:
    checked: Checked = check_folder(str(data), deep=deep)
    assert all(each.remedy for each in checked.findings)
    return [(each.where, each.what) for each in checked.findings]


def test_a_sound_folder(data: Path) -> None:
    before = sorted(path.name for path in data.rglob("*") if not path.name.endswith(("-wal", "-shm")))
    checked = check_folder(str(data), deep=True)
    assert (checked.t, checked.findings) == (11, [])
    assert checked.files == len(list(data.glob("segments/*"))) + len(list(data.glob("imported/*"))) + 2
    assert before == sorted(path.name for path in data.rglob("*") if not path.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    ("pattern", "is_lost"),
    [
        ("segments/attribute-*", False),
        ("segments/dictionary-*", False),
        ("segments/young-*", False),
        ("imported/*", True),
    ],
)
def test_damaged_files_are_told(data: Path, pattern: str, is_lost: bool, fault: Callable[[Path], None]) -> None:
    path = one_file(data, pattern)
    fault(path)
    [(where, _)] = findings(data)
    assert where == str(path.relative_to(data))
    if is_lost:
        refused(lambda: back_up(data, Folder(data.parent / "out")), Code.INTERNAL, path.name)
        return
    taken = back_up(data, Folder(data.parent / "out"))
    assert taken.left_out is not None
    assert path.name in taken.left_out
    # Opening it is the remedy, and so is restoring.
    restore(Folder(data.parent / "out"), data.parent / "restored")
    if fault is not unreadable:
        with Database.open(str(data)) as database:
            database.compact()
        assert findings(data, deep=True) == []
        assert held(data) == held(data.parent / "restored")


def test_a_damaged_checkpoint(data: Path) -> None:
    flipped(data / "checkpoint.json")
    assert [where for where, _ in findings(data)] == ["checkpoint.json"]


def changed(data: Path, *statements: str) -> None:
    engine = sa.create_engine(f"sqlite:///{data / 'log.sqlite'}")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
        connection.commit()
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DELETE FROM transactions WHERE t = 4", "transaction 4 is missing"),
        ("DELETE FROM transactions WHERE t IN (9, 10)", "transactions 9 to 10 are missing"),
        ("DELETE FROM transactions WHERE t > 5", "it lacks transaction 7, which the checkpoint has seen"),
        ("UPDATE transactions SET instant = instant + 1 WHERE t = 5", "transaction 5 is not what was written"),
        ("UPDATE transactions SET payload = x'00ff' WHERE t = 9", "transaction 9 is not what was written"),
        ("DELETE FROM files", "its list of files and its entries differ in imported-"),
    ],
)
def test_a_damaged_log(data: Path, statement: str, what: str) -> None:
    changed(data, statement)
    found = findings(data)
    assert any(where == "log.sqlite" and what in said for where, said in found), found
    if "transactions" in statement and "> 5" not in statement:
        refused(lambda: back_up(data, Folder(data.parent / "out")), Code.INTERNAL, "no backup can be taken")
        assert [*catalogue(Folder(data.parent / "out")).backups] == []


def test_a_log_whose_pages_are_damaged(data: Path) -> None:
    path = data / "log.sqlite"
    content = bytearray(path.read_bytes())
    content[5000:9000] = bytes(4000)
    path.write_bytes(content)
    assert {where for where, _ in findings(data)} == {"log.sqlite"}
    path.write_bytes(b"no database at all" * 100)
    assert {where for where, _ in findings(data)} == {"log.sqlite"}


def test_a_cursor_key_of_another_length(data: Path) -> None:
    (data / "cursor.key").write_bytes(b"short")
    assert findings(data) == [("cursor.key", "it has 5 bytes, not 32")]


def rewritten(data: Path, change: Callable[[Base], Base]) -> None:
    """Makes the checkpoint one with the changed base of an attribute, every checksum right."""
    folder = Layout(data)
    checkpoint = Checkpoint.load(folder)
    assert checkpoint is not None
    with Database.open(":memory:") as database:
        del database
    attribute = max(checkpoint.relations, key=lambda each: load_base(checkpoint.relations[each][0]).count)
    base, *runs = checkpoint.relations[attribute]
    made = save_relation(folder.segments, attribute, Relation(change(load_base(base))))
    assert made.base.segment is not None
    relations = {**checkpoint.relations, attribute: [made.base.segment, *runs]}
    Checkpoint(checkpoint.counters, checkpoint.log_checksum, relations, checkpoint.blocks, checkpoint.young).save(
        folder
    )


def _base(base: Base, **more: Any) -> Base:
    return Base(**{**{name: getattr(base, name) for name in ("ev", "ve", "since", "closed", "t", "last")}, **more})


def test_wrong_content_of_whole_files_is_told(data: Path) -> None:
    def other_direction(base: Base) -> Base:
        values = base.ve.values.copy()
        values[0] += 1
        return _base(base, ve=Csr(base.ve.keys, base.ve.offsets, values))

    rewritten(data, other_direction)
    [(where, what)] = findings(data)
    assert where.startswith("segments/attribute-")
    assert "its two directions differ" in what


def test_what_the_log_does_not_say_is_told_when_it_is_replayed(data: Path) -> None:
    def without_one(base: Base) -> Base:
        e, v = base.ev.pairs()
        return _base(
            base,
            ev=Csr.from_sorted(e[1:], v[1:]),
            ve=Csr.from_pairs(v[1:], e[1:]),
            since=base.since[1:],
        )

    rewritten(data, without_one)
    assert findings(data) == []
    [(where, what)] = findings(data, deep=True)
    assert where.startswith("segments/attribute-")
    assert "and the log" in what


def test_runs_are_differences() -> None:
    below = Relation(
        Base(
            ev=Csr.from_sorted(_ids(1, 2), _ids(5, 6)),
            ve=Csr.from_sorted(_ids(5, 6), _ids(1, 2)),
            since=_ids(1, 1),
            t=1,
            last=1,
        )
    )
    from store.columns import Columns

    events = Columns(_ids(1, 3), _ids(5, 7), _ids(2, 2), np.array([False, True]))
    run = Run.of(events, 2, (below.ev, below.ve))
    assert list(soundness.relation_faults(Relation(below.base, (run,)))) == []
    other = Relation(Base())
    faults = [fault for _, fault in soundness.relation_faults(Relation(other.base, (run,)))]
    assert any("retracts what did not" in fault for fault in faults), faults


def _ids(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


# Elsewhere


def elsewhere(system: Any = None) -> Store:
    return Store(system or pafs._MockFileSystem(), "bucket/backups", "s3://bucket/backups")


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

    class Removing(Folder):
        def settle(self) -> None:
            for name in self.sizes("files"):
                self.remove(f"files/{name}")

    place = Folder(tmp_path / "out")
    back_up(data, place)
    refused(lambda: back_up(data, Removing(place.path)), Code.BACKEND_UNAVAILABLE, "somebody else changes")
    assert len(catalogue(place).backups) == 1


def test_addresses_of_files(data: Path, tmp_path: Path) -> None:
    place = place_of(f"file://{tmp_path}/out%201")
    assert place.shown == f"{tmp_path}/out 1"
    back_up(data, place)
    assert (tmp_path / "out 1" / "adalog-backups.json").exists()


def test_a_later_format_is_told(data: Path, place: Folder, tmp_path: Path) -> None:
    back_up(data, place)
    path = place.path / catalogue(place).backups[0].file
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
    [finding] = check_backups(place).findings
    assert "another version of adalog" in finding.what
    refused(lambda: restore(place, tmp_path / "x"), Code.INTERNAL, "another version of adalog")


def test_names_that_lead_elsewhere_are_refused(data: Path, place: Folder, tmp_path: Path) -> None:
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


def test_a_backup_ends_when_nobody_wants_it(data: Path, place: Folder) -> None:
    class Gone:
        def stage(self, name: str) -> None:
            pass

        def bytes(self, done: int, total: int) -> None:
            raise AdalogError(Code.CANCELLED, "gone")

    with source_of(str(data)) as source:
        refused(lambda: take(source, place, watching=Gone()), Code.CANCELLED)
    assert files(place) == {"lock", "adalog-backups.json"}


# PostgreSQL


def test_a_server_there_and_back(data: Path, place: Folder, tmp_path: Path, postgres: PostgresServer) -> None:
    back_up(data, place)
    address, segments = postgres.new_database(), str(tmp_path / "segments")
    refused(lambda: restore_to_server(place, address), Code.ARG_INVALID, "ADALOG_SEGMENTS")
    restored = restore_to_server(place, address, segments=segments)
    assert restored.t == 11
    with Database.open(address, segments=segments) as database, Database.open(str(data)) as original:
        assert database.identity == original.identity
        assert database.history_mark(11) == original.history_mark(11)
        assert database.transaction_of("once") == 11
        assert held_in(database) == held_in(original)
        database.transact("[[:db/add 1 :n 500]]")
        # Which continues the folder's backups.
        assert take(database.source(), place).t == 12
        expected = held_in(database)
    refused(lambda: restore_to_server(place, address, segments=segments), Code.ARG_INVALID, "there is a database")
    assert check_backups(place, deep=True).findings == []
    restore(place, tmp_path / "restored")
    assert held(tmp_path / "restored") == expected
    refused(lambda: back_up_at(address, place), Code.BACKEND_UNAVAILABLE, "with --url")
    refused(lambda: check_folder(address), Code.ARG_INVALID, "back it up")


def test_a_server_without_imports(place: Folder, tmp_path: Path, postgres: PostgresServer) -> None:
    with Database.open(postgres.new_database()) as database:
        for number in range(3):
            grow(database, number)
        assert take(database.source(), place).t == 3
    other = postgres.new_database()
    assert restore_to_server(place, other, moment=2).t == 2
    with Database.open(other) as restored:
        grow(restored, 7)
        refused(lambda: take(restored.source(), place), Code.BASIS_CONFLICT, "another transaction 3")
    assert back_up_at(other, Folder(tmp_path / "more")).t == 3


def test_a_restore_to_a_server_that_fails_leaves_it_empty(
    data: Path, place: Folder, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_FULL", 500)
    back_up(data, place)
    flipped(place.path / catalogue(place).backups[0].chunks[-1].file)
    address, segments = postgres.new_database(), str(tmp_path / "segments")
    refused(lambda: restore_to_server(place, address, segments=segments), Code.INTERNAL, "is damaged")
    with Database.open(address) as database:
        assert database.snapshot().t == 0


def back_up_at(address: str, place: Place) -> Taken:
    with source_of(address) as source:
        return take(source, place)
