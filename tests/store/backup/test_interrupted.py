"""Full disks, and kills at any step of a backup or restore."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from datalog.errors import Code
from store.backup.catalogue import catalogue
from store.backup.checking import check_data
from store.backup.checking_backups import check_backups
from store.backup.restoring import restore
from store.backup.taking import Taken
from store.database import Database
from store.place import Folder
from tests.store.backup.support import back_up, files, grow, held, refused


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
    refused(lambda: check_data(str(path)), Code.BACKEND_UNAVAILABLE, "no database")
    assert restore(place, path).t == 11
    assert held(path) == held(data)
    assert not (path / "restoring").exists()
