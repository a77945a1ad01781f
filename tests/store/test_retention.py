"""Retention in the store: by the clock, in steps that a kill leaves whole, and for states that missed something."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store import retention
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.backup.rewriting import outdated_backups, rewrite
from adalog.store.database import Database
from adalog.store.excision.step_size import StepSize
from adalog.store.files.place import LocalPlace
from adalog.store.files.segment import SPARSE
from adalog.store.log.file_appends import FileAppends
from tests.live.following import Reader, hub_over
from tests.property.excised_model import shown, state

SCHEMA: Final = """[{:db/ident :v :db/valueType :db.type/string}
                    {:db/ident :n :db/valueType :db.type/long}
                    {:db/ident :name :db/valueType :db.type/string}]"""
ENTITIES: Final = 20
ROUNDS: Final = 10
DAY: Final = 86_400_000
VALUES: Final = "[:find ?e ?v :where [?e :v ?v]]"


class StepOfHundred(StepSize):
    """Steps of a hundred datoms, however long they take."""

    def __init__(self) -> None:
        super().__init__(100)

    def took(self, seconds: float, beside: float = 0.0) -> None:
        pass


def written(database: Database, rounds: range = range(ROUNDS), wait: Callable[[], object] = lambda: None) -> None:
    """Gives each entity a new value in each round."""
    for number in rounds:
        forms = [
            f'[:db/add {e} :v "value {number} of {e}, which nothing else has"] [:db/add {e} :n {number}]'
            for e in range(1, ENTITIES + 1)
        ]
        database.transact(f"[{' '.join(forms)}]")
        wait()


def past(database: Database) -> set[Any]:
    """All retractions."""
    return {row for row in shown(database.snapshot().history()) if not row[4]}


def test_days_count_by_the_instants_of_transactions(tmp_path: Path) -> None:
    now = [1_700_000_000_000]

    def wait() -> None:
        now[0] += DAY

    with Database.open(str(tmp_path), now=lambda: now[0]) as database:
        database.transact(SCHEMA)
        written(database, wait=wait)
        database.transact("[{:db/ident :v :db/retainDays 3}]")
        present = shown(database.snapshot())
        as_of_then = shown(database.at(t=9))
        done = database.retain()
        assert done.datoms == 2 * ENTITIES * 7
        left = {row for row in past(database) if row[1] == ":v"}
        assert {row[3] for row in left} == {10, 11}
        assert shown(database.snapshot()) == present
        assert shown(database.at(t=9)) == as_of_then
        assert len([row for row in past(database) if row[1] == ":n"]) == ENTITIES * (ROUNDS - 1)
        expected = state(database)
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected
    assert check_data(str(tmp_path), deep=True).findings == []


def test_a_run_in_the_background_waits_until_it_is_worth_it(tmp_path: Path) -> None:
    now = [1_700_000_000_000]
    with Database.open(str(tmp_path), now=lambda: now[0]) as database:
        database.transact(SCHEMA)
        assert not database.retention.is_in_background
        database.transact("[{:db/ident :db/retention :db/retainTransactions 1} {:db/ident :n :db/retainAll true}]")
        assert database.retention.is_in_background
        written(database)
        assert database.retention.look() is None
        now[0] += DAY
        assert database.retention.look() is not None
        assert len({row[3] for row in past(database) if row[1] == ":v"}) == 1
        written(database, range(ROUNDS, ROUNDS + 2))
        assert database.retention.look() is None
        assert len({row[3] for row in past(database) if row[1] == ":v"}) == 3
        now[0] += DAY
        assert database.retention.look() is not None
        assert len({row[3] for row in past(database) if row[1] == ":v"}) == 1


def test_other_excisions_do_not_put_a_run_off() -> None:
    now = [1_700_000_000_000]
    with Database.open(":memory:", now=lambda: now[0]) as database:
        database.transact(SCHEMA)
        database.transact("[{:db/ident :db/retention :db/retainTransactions 1}]")
        names = [f'[:db/add {e} :name "{e}"]' for e in range(1, 1_001)]
        database.transact(f"[{' '.join(names)}]")
        database.transact('[[:db/add 1 :name "another"]]')
        runs = []
        for day in range(1, 12):
            now[0] += DAY
            database.transact(f"[{{:db/excise {day + 1}}}]")
            if (done := database.retention.look()) is not None:
                runs.append((day, done.datoms))
        assert runs == [(7, 2)]


def test_it_goes_in_steps_between_which_others_write(monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        written(database)
        database.transact("[{:db/ident :db/retention :db/retainTransactions 1}]")
        steps: list[int] = []
        monkeypatch.setattr(retention, "StepSize", StepOfHundred)
        excise = database.retention.excise

        def between(*step: Any) -> int:
            steps.append(excise(*step))
            return database.transact('[[:db/add 1 :name "between"]]').t

        monkeypatch.setattr(database.retention, "excise", between)
        done = database.retain()
        assert done.steps == len(steps) > 3
        assert {row[1] for row in past(database)} == set()
        assert done.datoms == 2 * 2 * ENTITIES * (ROUNDS - 1)


def filled(folder: Path) -> Database:
    database = Database.open(str(folder))
    database.transact(SCHEMA)
    written(database)
    database.compact()
    database.transact("[{:db/ident :db/retention :db/retainTransactions 3}]")
    return database


# Each kill of a test comes in this step.
KILLED_STEP: Final = 2
KILLS: Final = [f"{where} {name}" for name in ("replace", "commit") for where in ("before", "after")]


def run_and_kill(folder: Path, step: str) -> int:
    """Has a process fold history away and end before or after a part of a step. Returns how many steps are done."""
    process = multiprocessing.get_context("spawn").Process(target=killed, args=(str(folder), step))
    process.start()
    process.join()
    assert process.exitcode == 9
    return KILLED_STEP if step == "after commit" else KILLED_STEP - 1


def killed(folder: str, step: str) -> None:
    """Folds history away in steps, and ends without a word before or after a part of one of them."""
    where, _, name = step.partition(" ")
    whole: Callable[..., Any] = getattr(FileAppends, name)
    calls = [0]

    def ends(*args: Any) -> None:
        calls[0] += 1
        if calls[0] == KILLED_STEP and where == "before":
            os._exit(9)
        whole(*args)
        if calls[0] == KILLED_STEP:
            os._exit(9)

    setattr(FileAppends, name, ends)
    retention.StepSize = StepOfHundred  # type: ignore[assignment, misc]
    Database.open(folder).retain()


@pytest.mark.parametrize("step", KILLS)
def test_killed_at_any_step_each_step_is_done_or_not_begun(tmp_path: Path, step: str) -> None:
    with filled(tmp_path) as database:
        before, t = past(database), database.snapshot().t
        present = shown(database.snapshot())
    done = run_and_kill(tmp_path, step)
    with Database.open(str(tmp_path)) as database:
        assert database.snapshot().t == t + done
        assert shown(database.snapshot()) == present
        left = past(database)
        assert (left < before) == bool(done)
        assert check_data(str(tmp_path), deep=True).findings == []
        database.retain()
        assert len(past(database)) < len(left)
        expected = state(database)
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def put_back(old: Path, data: Path) -> None:
    """Gives a folder the checkpoint of an earlier copy, with its segments."""
    shutil.rmtree(data / "segments")
    shutil.copytree(old / "segments", data / "segments")
    shutil.copy(old / "checkpoint.json", data)


def test_a_checkpoint_that_is_older_than_what_is_left_of_the_log_is_not_used(tmp_path: Path, caplog: Any) -> None:
    data, old = tmp_path / "data", tmp_path / "old"
    with Database.open(str(data)) as database:
        database.transact(SCHEMA)
        written(database, range(3))
        database.compact()
    shutil.copytree(data, old)
    with Database.open(str(data)) as database:
        written(database, range(3, ROUNDS))
        database.transact("[{:db/ident :db/retention :db/retainTransactions 1}]")
        database.retain()
        expected = state(database)
    put_back(old, data)
    assert check_data(str(data), deep=True).findings == []
    with Database.open(str(data)) as database:
        assert "folded away since the checkpoint was made" in caplog.text
        assert state(database) == expected
    with Database.open(str(data)) as database:
        assert state(database) == expected


@contextmanager
def begun_anew(folder: Path, schema: str, limits: str) -> Iterator[tuple[Database, Database]]:
    """Two processes on a folder. The second was behind when the first retained history by the limits, and so was a
    stream of it."""
    with (
        Database.open(str(folder), shared=True) as first,
        Database.open(str(folder), shared=True) as second,
        hub_over(second) as hub,
    ):
        first.transact(schema)
        written(first, range(3))
        assert second._following is not None
        second.writer.look().result()
        second._following.close()
        reader = Reader(second, hub.pool, VALUES)
        reader.until(second.snapshot().t)
        kept, rows = second.snapshot(), shown(second.snapshot())
        written(first, range(3, ROUNDS))
        first.transact(limits)
        first.retain()
        first.transact('[[:db/add 1 :name "later"]]')
        second.writer.look().result()
        assert state(second) == state(first)
        assert shown(kept) == rows
        again = Reader(second, hub.pool, VALUES, resume=reader.resume)
        again.until(second.snapshot().t)
        assert again.rows == {(e, f"value 9 of {e}, which nothing else has") for e in range(1, ENTITIES + 1)}
        assert again.kinds()[0] == "RESET"
        again.close()
        yield first, second
        reader.close()


def test_a_process_that_is_far_behind_begins_anew_and_so_do_its_streams(tmp_path: Path) -> None:
    limits = "[{:db/ident :db/retention :db/retainTransactions 1}]"
    with begun_anew(tmp_path, SCHEMA, limits) as (first, second):
        second.transact('[[:db/add 2 :name "by the second"]]')
        first.writer.look().result()
        assert state(second) == state(first)


def test_streams_of_the_present_see_nothing_of_it(tmp_path: Path) -> None:
    with filled(tmp_path) as database, hub_over(database) as hub:
        reader = Reader(database, hub.pool, VALUES)
        reader.until(database.snapshot().t)
        assert database.retain().steps == 1
        later = database.transact('[[:db/add 1 :v "later"]]').t
        reader.until(later)
        assert reader.kinds()[-1] == "DELTA"
        assert "RESET" not in reader.kinds()
        assert reader.kinds().count("DELTA") == 1
        reader.close()


def test_backups_from_before_and_after(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        take(database.source(), place)
        whole = past(database)
        database.retain()
        source = database.source()
        assert [len(each) for each in outdated_backups(source, catalogue(place)).values()] == [1]
        take(source, place)
        left, expected = past(database), state(database)
        restore(place, tmp_path / "first", number=1)
        with Database.open(str(tmp_path / "first")) as restored:
            assert past(restored) == whole
        restore(place, tmp_path / "second")
        with Database.open(str(tmp_path / "second")) as restored:
            assert state(restored) == expected
        rewrite(source, place)
    restore(place, tmp_path / "rewritten", number=1)
    with Database.open(str(tmp_path / "rewritten")) as restored:
        assert past(restored) == left


def test_the_log_and_the_checkpoint_get_smaller(tmp_path: Path) -> None:
    def size() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "data").rglob("*") if path.is_file())

    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        for _ in range(10):
            written(database)
        database.compact()
    before = size()
    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :db/retention :db/retainTransactions 1}]")
        database.retain()
        database.compact()
    assert size() < 0.5 * before
    assert check_data(str(tmp_path / "data"), deep=True).findings == []


def sparse_files(data: Path) -> list[Path]:
    """Files of dictionaries that lack the placeholders of what went."""
    return [path for path in (data / "segments").glob("dictionary-*.seg") if path.read_bytes()[7] == SPARSE]


def test_texts_that_went_take_nothing(tmp_path: Path) -> None:
    """In a checkpoint, one that is made anew from the log, and one that comes with a backup; values are found by
    text and by number, and further ones are told apart from what went."""
    data, count = tmp_path / "data", 400

    def ask(database: Database, query: str, *values: Any) -> Any:
        pool = Pool(database)
        try:
            return sorted(map(list, pool.run(QueryRequest(query, values, database.snapshot())).rows()))
        finally:
            pool.close()

    def size() -> int:
        return sum(path.stat().st_size for path in (data / "segments").glob("dictionary-*.seg"))

    def check(opened: Database) -> None:
        assert state(opened) == expected
        last = f"text {ROUNDS - 1} of entity 7"
        assert ask(opened, "[:find ?e :in $ ?v :where [?e :v ?v]]", last) == [[7]]
        assert ask(opened, "[:find ?e :in $ ?v :where [?e :v ?v]]", "text 3 of entity 7") == []
        found = ask(opened, '[:find ?e :where [?e :v ?v] [(includes? ?v "entity 39")]]')
        assert found == [[e] for e in (39, *range(390, 400))]
        assert ask(opened, '[:find ?v :where [_ :v ?v] [(< ?v "text 9 of entity 11")]]')[-1:] == [
            ["text 9 of entity 109"]
        ]

    with Database.open(str(data)) as database:
        database.transact(SCHEMA)
        for number in range(ROUNDS):
            each = (f'[:db/add {e} :v "text {number} of entity {e}"]' for e in range(1, count))
            database.transact(f"[{' '.join(each)}]")
        database.compact()
        before = size()
        database.transact("[{:db/ident :v :db/retainTransactions 1}]")
        database.retain()
        database.compact()
        assert sparse_files(data)
        assert size() < 0.25 * before
        expected = state(database)
        check(database)
    with Database.open(str(data)) as database:
        check(database)
        take(database.source(), LocalPlace(tmp_path / "backups"))
        database.transact('[[:db/add 1000 :v "text 3 of entity 7"] [:db/add 1001 :v "text 9 of entity 8"]]')
        assert ask(database, "[:find ?e :in $ ?v :where [?e :v ?v]]", "text 3 of entity 7") == [[1000]]
        assert ask(database, "[:find ?e :in $ ?v :where [?e :v ?v]]", "text 9 of entity 8") == [[8], [1001]]
    assert check_data(str(data), deep=True).findings == []
    content = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert b"text 4 of entity" not in content
    restore(LocalPlace(tmp_path / "backups"), tmp_path / "restored")
    shutil.copytree(tmp_path / "restored", tmp_path / "anew")
    (tmp_path / "anew" / "checkpoint.json").unlink()
    shutil.rmtree(tmp_path / "anew" / "segments")
    for folder in (tmp_path / "restored", tmp_path / "anew"):
        with Database.open(str(folder)) as database:
            check(database)
            database.compact()
            check(database)
        assert sparse_files(folder)
        assert check_data(str(folder), deep=True).findings == []
