"""Full disks, and kills at any step of a backup or restore."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from hypothesis import settings

from adalog.datalog.errors import Code
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import BackupResult
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.store.backup.support import back_up, files, grow, held, refused


class Failing(LocalPlace):
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


def test_a_full_disk_leaves_the_earlier_backups(data: Path, place: LocalPlace, tmp_path: Path) -> None:
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


def _stopping(_: BackupResult) -> None:
    raise StopIteration


_KILLED = """
import os, shutil, sys
from pathlib import Path
from adalog.store import database
from adalog.store.files import place
from adalog.store.backup import creation, restoration
from adalog.store.sources import source_of

what, data, out, apart = sys.argv[1:]

def killing(at):
    left = [at]

    def first(real):
        def step(*given, **more):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return real(*given, **more)
        return step

    for owner, names in ((os, ["fsync", "fdatasync"]), (Path, ["rename", "mkdir", "unlink"]), (shutil, ["rmtree"])):
        for name in names:
            setattr(owner, name, first(getattr(owner, name)))

def work(at):
    killing(at)
    if what == "backup":
        with source_of(data) as source:
            creation.take(source, place.place_of(f"{out}-{at}"))
    else:
        restoration.restore(place.place_of(out), Path(f"{data}-{at}"))

for at in range(0, 300, int(apart)):
    if what == "backup":
        shutil.copytree(out, f"{out}-{at}")
    child = os.fork()
    if not child:
        work(at)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9), code
    if code == 0:
        print(at)
        break
"""


def killed(what: str, path: Path, place: LocalPlace) -> range:
    """Steps of a backup or restore, before each of which a process was killed, in a place or folder of its own,
    whose name ends with the step's number."""
    # Every one where there is time, and else every fourth.
    apart = 1 if settings().max_examples > 40 else 4
    words = [sys.executable, "-c", _KILLED, what, str(path), str(place.path), str(apart)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return range(0, int(done.stdout), apart)


def test_a_backup_that_is_killed_is_there_as_a_whole_or_not(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        grow(database, 9)
        database.compact()
    steps = killed("backup", data, place)
    assert steps.stop > 15
    there = []
    for at in steps:
        out = LocalPlace(Path(f"{place.path}-{at}"))
        found = catalogue(out)
        assert found.damaged == {}
        there.append([each.number for each in found.backups])
        assert check_backups(out).findings == []
        if at % 3 == 0:
            assert restore(out, tmp_path / f"restored-{at}").t == (11 if there[-1] == [1] else 12)
        # What it left is used, or goes.
        assert back_up(data, out, keep=1).t == 12
        [backup] = catalogue(out).backups
        assert {name for name in files(out) if name.startswith(("files/", "log/"))} == set(backup.parts())
        assert not [name for name in files(out) if name.endswith(".tmp")]
    assert there == sorted(there)
    assert there[0] == [1]


def test_a_restore_that_is_killed_is_a_whole_database_or_none(
    data: Path, place: LocalPlace, tmp_path: Path
) -> None:
    back_up(data, place)
    expected = held(data)
    steps = killed("restore", tmp_path / "restored", place)
    assert steps.stop > 30
    whole = 0
    for at in steps:
        path = tmp_path / f"restored-{at}"
        if (path / "log.sqlite").exists():
            whole += 1
        elif path.exists():
            if (path / "restoring").exists():
                refused(lambda: Database.open(str(path)), Code.INTERNAL, "did not come to its end")  # noqa: B023
            refused(lambda: check_data(str(path)), Code.BACKEND_UNAVAILABLE, "no database")  # noqa: B023
            if at % 3:
                continue
            assert restore(place, path).t == 11
        else:
            continue
        assert held(path) == expected
        assert not (path / "restoring").exists()
        assert check_data(str(path)).findings == []
    assert whole < 10
