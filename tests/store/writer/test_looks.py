"""What other processes append is taken over by looks, between groups of transactions and not within one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.database import Database

NAMED = '[{:person/name "Ada"}]'


def appends(folder: Path) -> list[int]:
    """How many transactions each append has, oldest first."""
    with sqlite3.connect(folder / "log.sqlite") as connection:
        rows = connection.execute("SELECT append FROM transactions ORDER BY t").fetchall()
    connection.close()
    sizes: dict[int, int] = {}
    for (number,) in rows:
        sizes[number] = sizes.get(number, 0) + 1
    return list(sizes.values())


@contextmanager
def two_processes(folder: Path) -> Iterator[tuple[Database, Database]]:
    """On one folder, with a transaction of the first. Only the test asks for looks."""
    with Database.open(str(folder), shared=True) as database, Database.open(str(folder), shared=True) as other:
        for each in (database, other):
            assert each._following is not None
            each._following.close()
        database.transact(NAMED)
        yield database, other


def test_a_look_does_not_cut_a_group(tmp_path: Path) -> None:
    with Database.open(str(tmp_path), shared=True) as database, Database.open(str(tmp_path), shared=True) as other:
        database.transact(NAMED)
        with database.held(60):
            waiting = [database.submit(NAMED)]
            look = database.looked()
            assert look is not None
            waiting += [database.submit(NAMED), database.submit(NAMED)]
        assert [each.result(20).t for each in waiting] == [2, 3, 4]
        look.result(20)
        other.looked().result(20)  # type: ignore[union-attr]
        assert other.snapshot().t == 4
    assert appends(tmp_path) == [1, 3]


def test_a_look_reads_nothing_that_a_turn_has_read_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_processes(tmp_path) as (database, other):
        reads, missed = [], type(database.log).missed

        def counted(log: object) -> object:
            if log is database.log:
                reads.append(database.snapshot().t)
            return missed(log)  # type: ignore[arg-type]

        monkeypatch.setattr(type(database.log), "missed", counted)
        with database.held(60) as hold:
            # The turn of the hold has read the log; the next one does after this look was asked for.
            look, transacted = database.looked(), database.submit(NAMED)
            hold.run(lambda: None)
        assert look is not None
        look.result(20)
        assert transacted.result(20).t == 2
        assert reads == []
        other.transact(NAMED)
        again = database.looked()
        assert again is not None
        again.result(20)
        assert database.snapshot().t == 3
        assert 2 in reads, "nothing but a look has read it"


def test_a_look_reads_what_a_turn_that_failed_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_processes(tmp_path) as (database, other):
        with database.held(60):
            look, refused = database.looked(), database.submit(NAMED)
            real = type(database.log)._begin

            def fail(log: object, driver: object) -> None:
                if log is database.log:
                    raise sqlite3.OperationalError("disk I/O error")
                real(log, driver)  # type: ignore[arg-type]

            monkeypatch.setattr(type(database.log), "_begin", fail)
        with pytest.raises(AdalogError):
            refused.result(20)
        assert look is not None
        look.result(20)
        other.transact(NAMED)
        database.looked().result(20)  # type: ignore[union-attr]
        assert database.snapshot().t == 2


def test_a_look_before_a_hold_does_not_wait_for_it(tmp_path: Path) -> None:
    with Database.open(str(tmp_path), shared=True) as database:
        for _ in range(50):
            look = database.looked()
            assert look is not None
            with database.held(60):
                look.result(20)


def test_a_look_says_what_it_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(str(tmp_path), shared=True) as database, Database.open(str(tmp_path), shared=True) as other:
        other.transact(NAMED)
        database.looked().result(20)  # type: ignore[union-attr]
        assert database.writer.away is None

        def fail(*_: object) -> list[object]:
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(type(database.log), "_missed_by", fail)
        with pytest.raises(AdalogError) as caught:
            database.log.missed()
        assert caught.value.code is Code.BACKEND_UNAVAILABLE
        assert "SQLite says: disk I/O error" in caught.value.message
        database.looked().result(20)  # type: ignore[union-attr]
        assert database.writer.away is not None
        monkeypatch.undo()
        other.transact(NAMED)
        database.looked().result(20)  # type: ignore[union-attr]
        assert database.writer.away is None
        assert database.snapshot().t == 2


@pytest.mark.parametrize("count", [1, 2, 3, 127, 128, 129, 255, 256, 300])
def test_groups_of_any_size_are_whole(tmp_path: Path, count: int) -> None:
    with Database.open(str(tmp_path)) as database:
        with database.held(60):
            waiting = [database.submit(f"[[:db/add {number + 1} :n {number}]]") for number in range(count)]
        assert [each.result(20).t for each in waiting] == list(range(1, count + 1))
    with Database.open(str(tmp_path)) as database:
        assert database.snapshot().t == count
        datoms = [report.datoms[-1] for report in database.transactions(1, count + 1, count)]
        assert [(each.e, each.v) for each in datoms] == [(number + 1, number) for number in range(count)]
