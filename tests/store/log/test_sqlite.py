"""Connections to the log's file that fail, and files written by halves: nothing is lost, and nothing stays so."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.checkpoint import compactor
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.database import Database
from adalog.store.files import segment as segments
from adalog.store.files.folder import Folder
from adalog.store.log.log import Log
from adalog.store.log.sqlite import KEPT

REAL = sqlite3.connect
CONNECT = "adalog.store.log.sqlite.sqlite3.connect"


def once(instead: Callable[..., Any]) -> Callable[..., Any]:
    """SQLite's `connect`, but the first time something else."""
    left = [instead]

    def connect(path: Path, **more: Any) -> Any:
        return (left.pop() if left else REAL)(path, **more)

    return connect


def reads_only(path: Path, **more: Any) -> sqlite3.Connection:
    """As SQLite opens a file that cannot be opened to be written."""
    return REAL(f"file:{path}?mode=ro", uri=True, **more)


def opened_anew(database: Database, monkeypatch: pytest.MonkeyPatch, instead: Callable[..., Any]) -> None:
    # The writer's thread alone uses its connection, also to look for others' transactions.
    database._on_writer(database.log._appends.close)
    database.log.engine.dispose()
    monkeypatch.setattr(CONNECT, once(instead))


@pytest.mark.parametrize("shared", [False, True])
def test_a_connection_that_only_reads_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    with Database.open(str(tmp_path), shared=shared) as database:
        database.transact("[[:db/add 1 :n 1]]")
        opened_anew(database, monkeypatch, reads_only)
        with pytest.raises(AdalogError) as refused:
            database.transact("[[:db/add 1 :n 2]]")
        assert (refused.value.code, refused.value.retryable) == (Code.READ_ONLY, True)
        assert "nothing was applied" in refused.value.message
        assert database.transact("[[:db/add 1 :n 3]]").t == 2
        assert database.log.failures == {"not_applied": 1, "unknown": 0}


def killed(tmp_path: Path) -> Path:
    """A folder of a process that was killed: its transaction is in SQLite's write-ahead log alone."""
    with Database.open(str(tmp_path / "begun")) as database:
        database.transact("[[:db/add 1 :n 1]]")
        shutil.copytree(tmp_path / "begun", tmp_path / "killed")
    assert (tmp_path / "killed" / "log.sqlite-wal").stat().st_size
    return tmp_path / "killed"


def removes_the_write_ahead_log(path: Path, **_: Any) -> sqlite3.Connection:
    """As SQLite does where `-shm` can only be read, and the connection is then closed."""
    path.with_name(path.name + "-wal").unlink()
    raise sqlite3.OperationalError("unable to open database file")


def test_opening_that_fails_keeps_the_write_ahead_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = killed(tmp_path)
    monkeypatch.setattr(CONNECT, once(removes_the_write_ahead_log))
    with pytest.raises(AdalogError) as refused:
        Database.open(str(folder))
    assert refused.value.code is Code.BACKEND_UNAVAILABLE
    with Database.open(str(folder)) as database:
        assert database.snapshot().t == 1
    assert not list(folder.glob(f"*{KEPT}"))


def test_connecting_again_that_fails_keeps_the_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log.in_file(killed(tmp_path) / "log.sqlite")
    log.engine.dispose()
    monkeypatch.setattr(CONNECT, once(removes_the_write_ahead_log))
    (tmp_path / "killed" / "log.sqlite-wal").write_bytes(b"what only it has")
    with pytest.raises(AdalogError):
        log.newest()
    assert (tmp_path / "killed" / "log.sqlite-wal").read_bytes() == b"what only it has"
    log.close()


def test_a_process_killed_while_it_opened_the_log_has_kept_the_write_ahead_log(tmp_path: Path) -> None:
    folder = killed(tmp_path)
    (folder / "log.sqlite-wal").rename(folder / f"log.sqlite{KEPT}")
    with Database.open(str(folder)) as database:
        assert database.snapshot().t == 1


# Files written by halves


def test_halves_go_at_the_next_start(tmp_path: Path) -> None:
    Database.open(str(tmp_path)).close()
    halves = [name for name in Folder.OWN if name.endswith(".tmp")]
    assert ".checkpoint.json.tmp" in halves
    for name in halves:
        (tmp_path / name).write_text("{")
    Database.open(str(tmp_path)).close()
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_file_that_cannot_be_replaced_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "checkpoint.json"
    segments.write_text(path, "before")
    monkeypatch.setattr(segments.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        segments.write_text(path, "after")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_where_the_disk_may_have_either_checkpoint_the_files_of_both_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one has its name, but the folder's fsync failed: after a power cut the old one may have it again."""
    monkeypatch.setattr(compactor, "_LEAST", 1)
    sync = segments.synced

    def fails(folder: Path) -> None:
        if folder == tmp_path:
            raise OSError(errno.EIO, "Input/output error")
        sync(folder)

    with Database.open(str(tmp_path)) as database:
        assert database._folder is not None

        def grown() -> set[str]:
            database.transact(f"[{' '.join(f'[:db/add {e} :n {database.snapshot().t}]' for e in range(1, 40))}]")
            database.compact()
            checkpoint = Checkpoint.load(database._folder) if database._folder else None
            assert checkpoint is not None
            return checkpoint.files()

        def present() -> set[str]:
            return {path.name for path in (tmp_path / "segments").iterdir()}

        old = grown()
        with monkeypatch.context() as patched:
            patched.setattr(segments, "synced", fails)
            new = grown()
        assert old != new
        assert old | new <= present()
        assert grown() == present()
