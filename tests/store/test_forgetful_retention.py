"""Retention of attributes with `:db/noHistory`: what they had is in the log alone, and goes from there."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from adalog.store import retention
from adalog.store.backup.check import check_data
from adalog.store.database import Database
from adalog.store.excision import logged_past
from adalog.store.excision.logged_past import LoggedPast
from adalog.store.log.reader import LogReader
from adalog.store.values.attribute import SCHEMA_BASE
from tests.property.excised_model import row_of, shown, state
from tests.store.test_retention import (
    DAY,
    ENTITIES,
    KILLS,
    ROUNDS,
    StepOfHundred,
    begun_anew,
    put_back,
    run_and_kill,
    written,
)
from tests.store.writer.test_excision import SECRET, holding
from tests.waiting import until

SCHEMA: Final = """[{:db/ident :v :db/valueType :db.type/string :db/noHistory true}
                    {:db/ident :n :db/valueType :db.type/long}
                    {:db/ident :name :db/valueType :db.type/string}]"""


def logged(database: Database) -> set[Any]:
    """The datoms in the log, without those that declare attributes."""
    t = database.snapshot().t
    reports = database.transactions(1, t + 1, t)
    return {row_of(each) for report in reports for each in report.datoms if each.e < SCHEMA_BASE}


def ended(database: Database) -> set[int]:
    """The transactions with retractions of `:v` in the log."""
    return {row[3] for row in logged(database) if row[1] == ":v" and not row[4]}


def state_of_log(folder: Path) -> Any:
    """The state of a database that is opened from a copy of the folder's log alone."""
    copied = folder.parent / f"{folder.name} log alone"
    copied.mkdir()
    with (
        closing(sqlite3.connect(folder / "log.sqlite")) as log,
        closing(sqlite3.connect(copied / "log.sqlite")) as copy,
    ):
        log.backup(copy)
    with Database.open(str(copied)) as database:
        return state(database)


def filled(folder: Path) -> Database:
    database = Database.open(str(folder))
    database.transact(SCHEMA)
    written(database)
    database.compact()
    return database


@pytest.mark.parametrize("is_folded", [True, False])
def test_what_ended_is_in_no_file_and_what_holds_stays(tmp_path: Path, is_folded: bool) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        for text in (f"{SECRET}, once", "now"):
            database.transact(f'[[:db/add 1 :v "{text}"] [:db/add 1 :n {len(text)}]]')
        database.transact(f'[[:db/add 2 :v "{SECRET}, once"] [:db/add 3 :v "both"] [:db/add 3 :name "both"]]')
        database.transact('[[:db/retract 2 :v] [:db/retract 3 :v "both"]]')
        if is_folded:
            database.compact()
        present = shown(database.snapshot())
        untouched = {row for row in logged(database) if row[1] != ":v"}
        assert holding(tmp_path)
        database.transact('[[:db/add 4 :name "later"]]')
    with Database.open(str(tmp_path)) as database:
        done = database.retain()
        assert (done.datoms, done.steps) == (6, 1)
        until(lambda: not holding(tmp_path))
        assert {row for row in logged(database) if row[1] == ":v"} == {
            row for row in shown(database.snapshot()) if row[1] == ":v"
        }
        assert untouched <= logged(database)
        assert present <= shown(database.snapshot())
        assert database.retain().steps == 0
        expected = state(database)
    assert holding(tmp_path) == []
    assert check_data(str(tmp_path), deep=True).findings == []
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected
    assert state_of_log(tmp_path) == expected


def test_values_that_stay_in_the_log_alone_keep_their_numbers(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        for e in (1, 2):
            database.transact(f'[[:db/add {e} :v "of both"]]')
            database.transact(f'[[:db/retract {e} :v "of both"]]')
        database.compact()
        database.transact("[{:db/excise :v :db.excise/endedBeforeT 4}]")
        assert ended(database) == {5}
        database.transact('[[:db/add 1 :name "later"]]')
        expected = state(database)
    assert check_data(str(tmp_path), deep=True).findings == []
    assert state_of_log(tmp_path) == expected


def test_what_the_newest_transaction_ended_stays(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        done = database.retain()
        assert done.datoms == 2 * ENTITIES * (ROUNDS - 2)
        assert ended(database) == {ROUNDS + 1}
        assert len({row for row in logged(database) if row[1] == ":n"}) == ENTITIES * (2 * ROUNDS - 1)


def test_it_goes_in_steps_and_values_that_are_used_again_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "StepSize", StepOfHundred)
    monkeypatch.setattr(logged_past, "_ROWS", 50)
    with filled(tmp_path) as database:
        excise, steps = database.retention.excise, list[int]()

        def between(*step: Any) -> int:
            steps.append(excise(*step))
            again = f'[[:db/add 1 :v "value 8 of 1, which nothing else has"] [:db/add 1 :n {len(steps)}]]'
            return database.transact(again).t

        monkeypatch.setattr(database.retention, "excise", between)
        assert database.retain().steps == len(steps) >= 3
        assert min(ended(database)) == ROUNDS + 1
        expected = state(database)
    assert check_data(str(tmp_path), deep=True).findings == []
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def test_a_run_in_the_background_waits_until_it_is_worth_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_700_000_000_000]
    read: list[int] = []
    monkeypatch.setattr(LogReader, "holding", _noting(LogReader.holding, read))

    def wait() -> None:
        now[0] += 1_000

    def opened() -> Database:
        return Database.open(str(tmp_path), now=lambda: now[0])

    with opened() as database:
        database.transact("[{:db/ident :name :db/valueType :db.type/string}]")
        assert not database.retention.is_in_background
        database.transact(SCHEMA)
        assert database.retention.is_in_background
        written(database, wait=wait)
        assert database.retention.look() is None
        now[0] += DAY
        written(database, range(ROUNDS, ROUNDS + 2), wait=wait)
        done = database.retention.look()
        assert done is not None
        # The retractions of the last minute are spared.
        assert len(ended(database)) == 2
        assert database.retention.look() is None
        assert read.count(0) == 2
        now[0] += DAY
        written(database, range(ROUNDS + 2, ROUNDS + 3), wait=wait)
    with opened() as database:
        assert database.retention.is_in_background
        assert database.retention.look() is not None
        assert len(ended(database)) == 1


def _noting(holding: Callable[..., Any], read: list[int]) -> Callable[..., Any]:
    def noted(log: LogReader, parts: Any, after: int = 0) -> Any:
        read.append(after)
        return holding(log, parts, after)

    return noted


def test_an_excision_in_between_is_counted(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        forgetful = [each.id for each in database.snapshot().schema.all() if each.kind.no_history]
        count = ENTITIES * (ROUNDS - 1)
        assert len(database.retention.ends.until(forgetful, database.snapshot().t)[forgetful[0]]) == count
        database.transact("[{:db/excise 1 :db.excise/attrs [:v]}]")
        assert (
            len(database.retention.ends.until(forgetful, database.snapshot().t)[forgetful[0]]) == count - ROUNDS + 1
        )
        database.transact("[{:db/excise :v :db.excise/endedBeforeT 4}]")
        left = database.retention.ends.until(forgetful, database.snapshot().t)[forgetful[0]].tolist()
        assert sorted(set(left)) == sorted(ended(database))
        assert len(left) == (ENTITIES - 1) * (ROUNDS - 2)


BETWEEN: Final = {
    "values come and go": """[[:db/add 1 :v "value 3 of 2, which nothing else has"] [:db/add 2 :v "new"]
                              [:db/retract 3 :v]]""",
    "others have them": '[[:db/add 30 :name "value 3 of 4, which nothing else has"]]',
    "some are excised": "[{:db/excise 5} {:db/excise 6 :db.excise/attrs [:v]}]",
    "retention": "[{:db/excise :v :db.excise/endedBeforeT 5}]",
    "another attribute": "[[:db/add :n :db/noHistory true] [:db/add 7 :n 70]]",
}


@pytest.mark.parametrize("change", BETWEEN.values(), ids=BETWEEN)
def test_what_comes_after_the_log_was_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """The log afterwards is the same as after a run in which the writer reads all of the log."""
    read_before, read_by_writer = (
        _retained_after(tmp_path / str(is_used), monkeypatch, change, is_used=is_used) for is_used in (True, False)
    )
    assert read_before == read_by_writer


def _retained_after(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str, *, is_used: bool) -> set[Any]:
    """The log after a run of one step; between its reading of the log and its writing another transaction came."""
    read: dict[bool, list[int]] = {True: [], False: []}
    look = LoggedPast._look

    def noted(logged: LoggedPast, t: int, entry: Any) -> None:
        read[threading.current_thread().name == "adalog-writer"].append(t)
        look(logged, t, entry)

    with filled(folder) as database, monkeypatch.context() as patched:
        excise = database.retention.excise

        def between(forms: Any, past: LoggedPast) -> int:
            database.transact(change)
            return excise(forms, past) if is_used else database.transact(forms).t

        patched.setattr(LoggedPast, "_look", noted)
        patched.setattr(database.retention, "excise", between)
        database.retain()
        last = database.snapshot().t - 2
        assert set(range(2, last + 1)) <= set(read[False])
        is_void = "excise" in change or "noHistory" in change
        assert (2 in read[True]) == (is_void or not is_used)
        left, now = logged(database), state(database)
    assert check_data(str(folder), deep=True).findings == []
    assert state_of_log(folder) == now
    with Database.open(str(folder)) as database:
        assert state(database) == now
    return left


@pytest.mark.parametrize("step", KILLS)
def test_killed_at_any_step_each_step_is_done_or_not_begun(tmp_path: Path, step: str) -> None:
    with filled(tmp_path) as database:
        before, t, present = ended(database), database.snapshot().t, shown(database.snapshot())
    done = run_and_kill(tmp_path, step)
    with Database.open(str(tmp_path)) as database:
        assert database.snapshot().t == t + done
        assert shown(database.snapshot()) == present
        left = ended(database)
        assert left < before
        assert check_data(str(tmp_path), deep=True).findings == []
        database.retain()
        assert ended(database) < left
        expected = state(database)
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def test_a_checkpoint_that_is_older_than_what_is_left_of_the_log_is_not_used(tmp_path: Path, caplog: Any) -> None:
    data, old = tmp_path / "data", tmp_path / "old"
    with Database.open(str(data)) as database:
        database.transact(SCHEMA)
        written(database, range(3))
        database.compact()
    shutil.copytree(data, old)
    with Database.open(str(data)) as database:
        written(database, range(3, ROUNDS))
        database.retain()
        expected = state(database)
    put_back(old, data)
    with Database.open(str(data)) as database:
        assert "folded away since the checkpoint was made" in caplog.text
        assert state(database) == expected


def test_a_process_that_is_far_behind_begins_anew_and_so_do_its_streams(tmp_path: Path) -> None:
    with begun_anew(tmp_path, SCHEMA, "[]") as (first, second):
        assert state(second) == state(first)
