"""A process that is killed at any step of an excision or a retention that makes sparse dictionary files.

The folder is copied before and after each step that changes files: a copy is what a process leaves that is killed
there. The process that opens it goes on with the state before or after, and leaves nothing of what went.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from types import SimpleNamespace
from typing import Any, Final

import pytest

from adalog.store.backup.check import check_data
from adalog.store.database import Database
from adalog.store.files import segment
from adalog.store.files.segment import SPARSE
from adalog.store.log.file_appends import FileAppends
from tests.property.excised_model import shown, state
from tests.property.model import examples

SCHEMA: Final = """[{:db/ident :s :db/valueType :db.type/string}
                    {:db/ident :b :db/valueType :db.type/bytes}
                    {:db/ident :u :db/valueType :db.type/uuid}
                    {:db/ident :x :db/valueType :db.type/double}
                    {:db/ident :kept :db/valueType :db.type/string}]"""
ENTITIES: Final = 12
ROUNDS: Final = 5
DEAD: Final = b"SECRET"
KEPT: Final = ROUNDS - 1
CHANGES: Final[dict[str, str]] = {
    "excision": "[{:db/excise :s} {:db/excise :b} {:db/excise :u} {:db/excise :x}]",
    "retention": "[{:db/ident :db/retention :db/retainTransactions 1}]",
}


def write(database: Database, number: int) -> None:
    forms = []
    for e in range(1, ENTITIES + 1):
        text = f"{'kept' if number == KEPT else 'SECRET'} {number} of {e}"
        forms.append(
            f'[:db/add {e} :s "{text}"] [:db/add {e} :x {number}.{e:03}] [:db/add {e} :kept "stays {e}"]'
            f' [:db/add {e} :u #uuid "00000000-0000-4000-8000-{number:06x}{e:06x}"]'
        )
    database.transact(f"[{' '.join(forms)}]")


def filled(folder: Path) -> Database:
    database = Database.open(str(folder))
    database.transact(SCHEMA)
    for number in range(ROUNDS):
        write(database, number)
    database.compact()
    return database


def change(database: Database, kind: str) -> None:
    database.transact(CHANGES[kind])
    if kind == "retention":
        database.retain()
    while database.compactor._is_unclean:
        database.compactor._clean()
    database.compact()


class Moments:
    """Copies of a folder, each of another moment."""

    def __init__(self, folder: Path, to: Path) -> None:
        self.folder, self.to = folder, to
        self.names: list[str] = []
        self._last: Any = None
        self._lock = RLock()

    def copy(self, name: str) -> None:
        with self._lock:
            files = sorted(path for path in self.folder.rglob("*") if path.is_file() and self._is_left(path))
            stamp = [(path, path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) for path in files]
            if stamp == self._last:
                return
            self._last = stamp
            to = self.to / f"{len(self.names)}"
            for path in files:
                copied = to / path.relative_to(self.folder)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copied)
            self.names.append(name)

    @staticmethod
    def _is_left(path: Path) -> bool:
        return not path.name.startswith("lock") and not path.name.endswith(("-shm", ".sock"))

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any, **more: Any) -> Any:
            self.copy(f"before {name}")
            done = real(*args, **more)
            self.copy(f"after {name}")
            return done

        return stepped

    def watch(self, monkey: pytest.MonkeyPatch) -> None:
        for of, name in (
            (os, "fsync"),
            (os, "replace"),
            (Path, "rename"),
            (Path, "unlink"),
            (FileAppends, "replace"),
            (FileAppends, "commit"),
        ):
            monkey.setattr(of, name, self.around(name, getattr(of, name)))
        # Before and after each part of a segment that is written, all of which is in the file at once.
        whole = segment.zlib
        monkey.setattr(segment, "open", unbuffered, raising=False)
        monkey.setattr(segment, "zlib", SimpleNamespace(crc32=self.around("part", whole.crc32)))


def unbuffered(path: Path, mode: str, **more: Any) -> Any:
    return open(path, mode, **({"buffering": 0} if "b" in mode else {}), **more)


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", CHANGES)
def test_each_step_leaves_the_state_before_or_after(tmp_path: Path, kind: str) -> None:
    monkey = pytest.MonkeyPatch()
    with filled(tmp_path / "data") as database:
        assert DEAD in contents(tmp_path / "data")
        before, t = shown(database.snapshot().history()), database.snapshot().t
        moments = Moments(tmp_path / "data", tmp_path / "moments")
        moments.watch(monkey)
        try:
            change(database, kind)
        finally:
            monkey.undo()
        after, expected = shown(database.snapshot().history()), state(database)
        present = shown(database.snapshot())
    files = list((tmp_path / "data" / "segments").glob("dictionary-*.seg"))
    assert any(path.read_bytes()[7] == SPARSE for path in files)
    assert {"before part", "after rename", "after commit", "after unlink"} <= set(moments.names)
    assert list((tmp_path / "moments").rglob(".dictionary-*.tmp"))
    done = list[bool]()
    every = 2 if examples(100) >= 100 else 5
    for number in range(0, len(moments.names), every):
        where, name = tmp_path / "moments" / f"{number}", f"{number}: {moments.names[number]}"
        with Database.open(str(where)) as opened:
            found = shown(opened.snapshot().history())
            assert found in (before, after), name
            done.append(found == after)
            if done[-1]:
                assert DEAD not in contents(where), name
                assert shown(opened.snapshot()) == present, name
            if opened.snapshot().t == t:
                opened.transact(CHANGES[kind])
            if kind == "retention":
                opened.retain()
            opened.compact()
            assert shown(opened.snapshot()) == present, name
        assert DEAD not in contents(where), name
        checked = check_data(str(where), deep=True)
        assert (checked.findings, checked.unread) == ([], None), name
        with Database.open(str(where)) as opened:
            assert state(opened)[:2] == expected[:2], name
    assert sorted(done) == done, "once it is done it stays"
    assert {True, False} == set(done)
