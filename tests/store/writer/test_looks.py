"""What other processes append is taken over by looks, between groups of transactions and not within one."""

from __future__ import annotations

import sqlite3
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
