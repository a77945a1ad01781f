"""What is said after the disk failed is true, and what is in memory is what is on disk."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.log.file_appends import FileAppends
from adalog.store.log.log import Log
from adalog.store.values.datom import Datom, TxReport
from adalog.store.writer import in_doubt


class Disk:
    """Stands between a log and SQLite. `before` and `after` a commit it calls what it is given."""

    def __init__(self) -> None:
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None
        self.settles: Callable[[], None] = lambda: None


def failing(code: int = sqlite3.SQLITE_IOERR_FSYNC) -> Callable[[], None]:
    def fail() -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    return fail


def nothing() -> None:
    pass


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    found = Disk()
    commit, rewrite, prepare = FileAppends.commit, Log._rewrite, sa.Connection.commit

    def prepared(self: sa.Connection) -> None:
        try:
            found.before()
        except sqlite3.Error as error:
            raise sa.exc.OperationalError("COMMIT", None, error) from error
        prepare(self)

    def committed(self: FileAppends, driver: sqlite3.Connection) -> None:
        found.before()
        commit(self, driver)
        found.after()

    def rewritten(self: Log) -> None:
        try:
            found.settles()
        except sqlite3.Error as error:
            raise sa.exc.OperationalError("PRAGMA", None, error) from error
        rewrite(self)

    monkeypatch.setattr(FileAppends, "commit", committed)
    monkeypatch.setattr(sa.Connection, "commit", prepared)
    monkeypatch.setattr(Log, "_rewrite", rewritten)
    monkeypatch.setattr(in_doubt, "_REST", 0.01)
    return found


@pytest.fixture
def database(tmp_path: Path, disk: Disk) -> Iterator[Database]:
    with Database.open(str(tmp_path)) as opened:
        opened.transact("[[:db/add 1 :n 1]]")
        yield opened


def told(database: Database, tx: str, **more: Any) -> AdalogError:
    with pytest.raises(AdalogError) as caught:
        database.transact(tx, **more)
    return caught.value


def value(database: Database) -> Any:
    (datom,) = database.snapshot().datoms("EAVT", [1, Keyword("n")])
    return datom.v


def settled(database: Database) -> Database:
    """The database as soon as it can be written again."""
    while database.writer.doubt is not None:
        database._on_writer(nothing)
    return database


def test_a_commit_of_which_nobody_knows(database: Database, disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    disk.before = disk.settles = failing()
    error = told(database, "[[:db/add 1 :n 2]]")
    assert (error.code, error.retryable) == (Code.BACKEND_UNAVAILABLE, False)
    assert "unknown whether the transaction was applied" in error.message
    assert "nothing was applied" not in error.message
    assert database.writer.doubt is not None
    refused = told(database, "[[:db/add 1 :n 3]]", idempotency_key="three")
    assert (refused.code, refused.retryable) == (Code.READ_ONLY, True)
    assert value(database) == 1
    assert database.log.failures == {"not_applied": 0, "unknown": 1}
    assert "transaction 2 was written (disk I/O error)" in caplog.text
    disk.before = disk.settles = nothing
    assert value(settled(database)) == 1
    assert "what was in doubt is not applied" in caplog.text
    assert database.transact("[[:db/add 1 :n 4]]").t == 2


def test_with_an_idempotency_key_it_is_safe_to_ask_again(database: Database, disk: Disk) -> None:
    for moment in ("before", "after"):
        setattr(disk, moment, failing())
        disk.settles = failing()
        error = told(database, f'[[:db/add "new" :{moment} 2]]', idempotency_key=moment)
        assert (error.code, error.retryable) == (Code.BACKEND_UNAVAILABLE, True)
        assert "same idempotencyKey" in error.message
        setattr(disk, moment, nothing)
        disk.settles = nothing
        settled(database)
        reports = [database.transact(f'[[:db/add "new" :{moment} 2]]', idempotency_key=moment) for _ in range(2)]
        assert reports[0] == reports[1]
        assert len(list(database.snapshot().datoms("AEVT", [Keyword(moment)]))) == 1


def test_a_commit_that_happened_all_the_same_is_taken_over(
    database: Database, disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[tuple[TxReport, int]] = []
    database.add_listener(lambda report, snapshot: heard.append((report, snapshot.t)))
    disk.after = failing()
    assert "unknown" in told(database, "[[:db/add 1 :n 2] [:db/add 1 :other 5]]").message
    disk.after = nothing
    assert value(settled(database)) == 2
    assert "what was in doubt is applied (1 transactions)" in caplog.text
    assert [(report.t, t) for report, t in heard] == [(2, 2)]
    assert Datom(1, Keyword("other"), 5, 2, True) in heard[0][0].datoms
    assert database.transact('[[:db/add "b" :other 6]]').t == 3
    before = [database.snapshot().t, value(database)]
    database.close()
    with Database.open(str(tmp_path)) as again:
        assert [again.snapshot().t, value(again)] == before


@pytest.mark.parametrize("happened", [False, True])
def test_everybody_in_the_group_is_told(database: Database, disk: Disk, happened: bool) -> None:
    entered, go = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        go.wait(20)

    database.writer.submit(hold)
    assert entered.wait(20)
    futures = [
        database.submit(f"[[:db/add {n} :m {n}]]", idempotency_key=None if n % 2 else f"key {n}")
        for n in range(10, 20)
    ]
    wrong = database.submit("[[:db/add 1 :m")
    setattr(disk, "after" if happened else "before", failing())
    go.set()
    for n, future in zip(range(10, 20), futures, strict=True):
        error = future.exception(20)
        assert isinstance(error, AdalogError)
        assert "unknown" in error.message
        assert error.retryable is (n % 2 == 0)
    refused = wrong.exception(20)
    assert isinstance(refused, AdalogError)
    assert refused.code is Code.EDN_SYNTAX
    disk.before = disk.after = nothing
    assert settled(database).snapshot().t == (11 if happened else 1)


def test_a_bulk_load_in_doubt(database: Database, disk: Disk) -> None:
    for moment, expected in (("before", 0), ("after", 3)):
        database.transact("[{:db/ident :size :db/valueType :db.type/long}]")
        setattr(disk, moment, failing())
        with pytest.raises(AdalogError, match="unknown whether the transaction was applied"):
            database.bulk_load("[]", {Keyword("size"): ([5, 6, 7], [1, 2, 3])})
        setattr(disk, moment, nothing)
        assert len(list(settled(database).snapshot().datoms("AEVT", [Keyword("size")]))) == expected


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE])
def test_a_commit_that_wrote_nothing(database: Database, disk: Disk, code: int) -> None:
    disk.before = failing(code)
    error = told(database, "[[:db/add 1 :n 2]]")
    assert (error.code, error.retryable) == (Code.BACKEND_UNAVAILABLE, True)
    assert "nothing was applied" in error.message
    assert database.writer.doubt is None
    assert database.log.failures == {"not_applied": 1, "unknown": 0}
    disk.before = nothing
    assert database.transact("[[:db/add 1 :n 3]]").t == 2


def test_an_insert_that_fails_wrote_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        failing()()

    with monkeypatch.context() as patched:
        patched.setattr(FileAppends, "insert", fail)
        error = told(database, "[[:db/add 1 :n 2]]")
    assert "nothing was applied" in error.message
    assert database.writer.doubt is None
    assert database.transact("[[:db/add 1 :n 3]]").t == 2


def test_a_log_that_lost_what_was_on_disk_is_never_written_again(
    database: Database, disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk.before = disk.settles = failing()
    told(database, "[[:db/add 1 :n 2]]")
    disk.before = nothing

    def lose() -> None:
        with sqlite3.connect(tmp_path / "log.sqlite") as connection:
            connection.execute("delete from transactions where t = 1")
        connection.close()

    disk.settles = lose
    while "not there any more" not in caplog.text:
        database._on_writer(nothing)
    for _ in range(2):
        error = told(database, "[[:db/add 1 :n 2]]")
        assert error.code is Code.READ_ONLY
        assert "transaction 1" in error.message


def test_a_disk_that_fails_at_opening_is_not_called_damage(tmp_path: Path, disk: Disk) -> None:
    Database.open(str(tmp_path)).close()
    disk.before = failing()
    with pytest.raises(AdalogError) as refused:
        Database.open(str(tmp_path))
    assert refused.value.code is Code.BACKEND_UNAVAILABLE
    assert "backup" not in refused.value.message


# The same with a disk whose fsync really fails

SESSION = """
import json, logging, os, sys
from adalog.datalog.errors import AdalogError
from adalog.store.writer import in_doubt
from adalog.store.database import Database

in_doubt._REST = 0.01
logging.basicConfig(stream=sys.stderr)
database = Database.open(sys.argv[1])
for line in sys.stdin:
    command, _, rest = line.strip().partition(" ")
    if command == "wait":
        while database.writer.doubt is not None:
            database._on_writer(lambda: None)
        print(json.dumps(database.snapshot().t), flush=True)
        continue
    try:
        print(json.dumps(["done", database.transact(rest, idempotency_key=rest).t, ""]), flush=True)
    except AdalogError as error:
        print(json.dumps([error.code, error.retryable, error.message]), flush=True)
"""


@pytest.fixture(scope="session")
def failing_fsync(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes fsync fail."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler, and Linux")
    library = tmp_path_factory.mktemp("fsync") / "failing_fsync.so"
    source = Path(__file__).with_name("failing_fsync.c")
    built = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=False)
    if built.returncode:
        pytest.skip("the C compiler does not work")
    return library


@pytest.mark.parametrize("killed", [False, True])
def test_an_fsync_that_fails(failing_fsync: Path, tmp_path: Path, killed: bool) -> None:
    folder, flag = tmp_path / "data", tmp_path / "failing"
    environment = {**os.environ, "LD_PRELOAD": str(failing_fsync), "FAILING_FSYNC": str(flag)}
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(line: str) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        try:
            assert ask("transact [[:db/add 1 :n 1]]")[:2] == ["done", 1]
            flag.touch()
            code, retryable, message = ask("transact [[:db/add 1 :n 2]]")
            assert (code, retryable) == ("BACKEND_UNAVAILABLE", True)
            assert "unknown" in message
            assert ask("transact [[:db/add 1 :n 3]]")[:2] == ["READ_ONLY", True]
            if not killed:
                flag.unlink()
                then = ask("wait")
                assert then in (1, 2)
                # Asked again, each is there once, whatever had come of it.
                assert ask("transact [[:db/add 1 :n 2]]")[:2] == ["done", 2]
                assert ask("transact [[:db/add 1 :n 3]]")[:2] == ["done", 3]
        finally:
            process.kill()
    with Database.open(str(folder)) as database:
        t = database.snapshot().t
        assert value(database) == t
        assert t in ((1, 2) if killed else (3,))
