"""Excision in the store: one commit decides, nothing is left of what went, and streams from before start over."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.backup.check import check_data
from adalog.store.backup.progress import BackupProgress
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.database import Database
from adalog.store.excision.redaction import Redaction
from adalog.store.files.folder import FolderLayout
from adalog.store.log import payload
from adalog.store.log.entry import LogEntry
from adalog.store.log.file_appends import FileAppends
from adalog.store.log.payload import Logged
from adalog.store.values.codes import Codes
from tests.live.following import NewestReader, Reader, hub_over
from tests.pipeline.pipeline_in_process import imported
from tests.property.excised_model import shown, state
from tests.waiting import until

SECRET = "SECRET"
# Of more bytes than are found by chance.
ADA_ID = 70_000_000
SCHEMA = """[
  {:db/ident :name :db/valueType :db.type/string}
  {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :note :db/valueType :db.type/string :db/noHistory true}
  {:db/ident :friend :db/valueType :db.type/ref}
]"""
ADA = """[{:db/id "ada SECRET" :name "Ada SECRET" :email "ada@SECRET" :note "first SECRET"}
          {:db/id "bob" :name "Bob" :friend "ada SECRET" :note "Bob's"}]"""
EXCISE = '[{:db/excise [:email "ada@SECRET"]}]'
NAMES = "[:find ?n :where [?e :name ?n]]"
MAPPING = {
    "sources": {
        "people": {
            "path": "people.parquet",
            "entity": {"attribute": "email", "column": "email"},
            "attributes": {"name": "name"},
        }
    }
}


def filled(folder: Path) -> Database:
    """Ada in plain transactions, some of which only name her, folded and young."""
    database = Database.open(str(folder))
    database.transact(SCHEMA)
    database.transact(ADA, idempotency_key="a key")
    database.transact('[{:db/id "zoe SECRET" :email "ada@SECRET"} {:name "Eve"}]')
    database.compact()
    database.transact('[{:email "ada@SECRET" :note "second SECRET"}]')
    database.compact()
    database.transact('[{:email "ada@SECRET" :name "Augusta SECRET"} {:name "Zed"}]')
    return database


def holding(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and SECRET.encode() in content_of(path))


def content_of(path: Path) -> bytes:
    """Of a file, nothing of one that was removed since it was listed."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def clean(database: Database, folder: Path) -> None:
    """Removes from disk what was excised."""
    while holding(folder):
        # Some attempts find the log being read.
        database.compactor._clean()


def payloads(folder: Path) -> bytes:
    log = sqlite3.connect(folder / "log.sqlite")
    found = b"".join(payload for (payload,) in log.execute("SELECT payload FROM transactions"))
    log.close()
    return found


def test_no_payload_of_the_log_and_no_dictionary_has_it(tmp_path: Path) -> None:
    database = filled(tmp_path)
    assert holding(tmp_path) != []
    database.transact(EXCISE)
    codes = database.snapshot().codes
    assert not any(SECRET.encode() in codes.dictionaries()[1].key(n) for n in range(len(codes.dictionaries()[1])))
    database.compact()
    database.close()
    assert SECRET.encode() not in payloads(tmp_path)
    checkpoint = Checkpoint.load(FolderLayout(tmp_path))
    assert checkpoint is not None
    assert checkpoint.files().isdisjoint(holding(tmp_path))
    assert check_data(str(tmp_path), deep=True).findings == []


def test_replays_come_to_the_same(tmp_path: Path) -> None:
    database = filled(tmp_path)
    database.transact(EXCISE)
    database.transact('[{:name "Later"}]')
    expected = state(database)
    database.close()
    for file in (tmp_path / "segments").iterdir():
        file.unlink()
    (tmp_path / "checkpoint.json").unlink()
    with Database.open(str(tmp_path)) as again:
        assert state(again) == expected


def test_a_value_that_something_else_has_stays_and_goes_with_that(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        for entity in (1, 2, 3):
            database.transact(f'[{{:db/id {entity} :name "Ada SECRET"}}]')
        database.transact("[{:db/excise 1}]")
        assert payloads(tmp_path).count(b"Ada SECRET") == 3
        database.transact("[{:db/excise 2}]")
        expected = state(database)
        assert shown(database.snapshot()) == {(3, ":name", "'Ada SECRET'", 4, True)}
    (tmp_path / "checkpoint.json").unlink(missing_ok=True)
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected
        database.transact("[{:db/excise 3}]")
        assert SECRET.encode() not in payloads(tmp_path)
        expected = state(database)
    (tmp_path / "checkpoint.json").unlink(missing_ok=True)
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def test_a_key_of_a_transaction_that_lost_something_is_remembered_without_its_digest(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        t = database.transact(EXCISE, idempotency_key="erase").t
        log = sqlite3.connect(tmp_path / "log.sqlite")
        assert log.execute("SELECT key, digest FROM idempotency_keys ORDER BY t").fetchall() == [
            ("a key", None),
            ("erase", None),
        ]
        log.close()
        assert database.transact(EXCISE, idempotency_key="erase").t == t
        again = database.transact(ADA, idempotency_key="a key")
        assert again.t == 2
        assert list(again.tempids) == ["bob"]
        assert SECRET not in str(list(again.datoms))


def test_an_append_that_is_refused_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path) as database:
        before = state(database)

        def fails(*_: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(FileAppends, "replace", fails)
            with pytest.raises(AdalogError) as refused:
                database.transact(EXCISE)
        assert refused.value.code is Code.BACKEND_UNAVAILABLE
        assert state(database) == before
        database.transact(EXCISE)
        assert database.snapshot().t == before[4].t + 1


def test_an_append_in_doubt_that_was_made_takes_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path) as database:
        commit, failing, t = FileAppends.commit, [True], database.snapshot().t

        def fails(own: FileAppends, driver: sqlite3.Connection) -> None:
            commit(own, driver)
            if failing and failing.pop():
                raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patched:
            patched.setattr(FileAppends, "commit", fails)
            with pytest.raises(AdalogError, match="unknown whether"):
                database.transact(EXCISE)
        assert database.transact("[]").t == t + 2
        assert SECRET.encode() not in payloads(tmp_path)
        assert not any(SECRET in row[2] for row in shown(database.snapshot().history()))
        expected = state(database)
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def _killed(folder: str, step: str) -> None:
    """Excises, and ends without a word before or after a step."""
    where, _, name = step.partition(" ")
    whole: Callable[..., Any] = getattr(FileAppends, name)

    def ends(*args: Any) -> None:
        if where == "before":
            os._exit(9)
        whole(*args)
        os._exit(9)

    setattr(FileAppends, name, ends)
    Database.open(folder).transact(EXCISE)


@pytest.mark.parametrize(
    "step", [f"{where} {name}" for name in ("insert", "replace", "commit") for where in ("before", "after")]
)
def test_killed_at_any_step_it_is_done_or_not_begun(tmp_path: Path, step: str) -> None:
    with filled(tmp_path) as database:
        before = state(database)
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(str(tmp_path), step))
    process.start()
    process.join()
    assert process.exitcode == 9
    with Database.open(str(tmp_path)) as database:
        if step == "after commit":
            assert database.snapshot().t == before[4].t + 1
            assert not any(SECRET in row[2] for row in shown(database.snapshot().history()))
            assert SECRET.encode() not in payloads(tmp_path)
        else:
            assert state(database) == before
            database.transact(EXCISE)


def test_a_fold_that_was_begun_before_is_given_up(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        moment = database._moment()
        database.transact(EXCISE)
        expected = state(database)
        with database.compactor.paused():
            database.compactor._fold(moment)
        assert state(database) == expected
        database.compact()
        assert state(database) == expected
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def test_answers_that_were_kept_are_not_given_again(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        pool = Pool(database, cache=CacheSettings())
        t = database.snapshot().t

        def ask(at: int) -> str:
            return str(pool.run(QueryRequest(NAMES, (), database.at(t=at))).rows())

        assert [SECRET in ask(t), SECRET in ask(2), SECRET in ask(t)] == [True] * 3
        database.transact(EXCISE)
        assert [SECRET in ask(each) for each in (t + 1, t, 2)] == [False] * 3
        pool.close()


def test_counts_of_entities_start_over(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        before = database.entity_count(database.snapshot())
        database.transact(EXCISE)
        assert database.entity_count(database.snapshot()) == before


def test_streams_retract_it_and_tokens_from_before_start_over(tmp_path: Path) -> None:
    with filled(tmp_path) as database, hub_over(database) as hub:
        early = Reader(database, hub.pool, NAMES)
        early.until(database.snapshot().t)
        early.close()
        reader = Reader(database, hub.pool, NAMES)
        reader.until(database.snapshot().t)
        t = database.transact(EXCISE).t
        while reader.t < t:
            change = next(reader.changes)
            reader.t, reader.resume = change.basis_t, change.resume
        assert change.kind.value == "DELTA"
        assert change.retracted == [("Augusta SECRET",)]
        later = database.transact('[{:name "Later"}]').t
        change = next(each for each in reader.changes if each.kind.value != "PROGRESS")
        assert (change.basis_t, change.added, change.retracted) == (later, [("Later",)], [])
        reader.close()
        again = Reader(database, hub.pool, NAMES, resume=early.resume)
        assert "an excision" in str(again.read().reason)
        again.until(later)
        assert SECRET not in str(again.rows)
        again.close()
        going_on = Reader(database, hub.pool, NAMES, resume=reader.resume)
        going_on.rows = set(again.rows) - {("Later",)}
        going_on.until(later)
        assert going_on.kinds() == ["DELTA"]
        going_on.close()


def test_a_checkpoint_of_what_a_process_has_not_read_yet_is_not_applied_twice(tmp_path: Path) -> None:
    with (
        Database.open(str(tmp_path), shared=True) as first,
        Database.open(str(tmp_path), shared=True) as second,
    ):
        assert second._following is not None
        first.transact(SCHEMA)
        second.compactor.follow()
        second._following.close()
        first.bulk_load("[]", {Keyword("name"): (np.array([1, 2]), ["a", "b"])})
        second.writer.look().result()
        first.transact('[{:db/id 1 :name "c"} [:db/retract 2 :name "b"]]')
        first.compact()
        second.compactor.follow()
        second.writer.look().result()
        assert state(second) == state(first)
        assert [own.count for own in map(first.snapshot().statistics, first.snapshot().attributes())] == [
            own.count for own in map(second.snapshot().statistics, second.snapshot().attributes())
        ]


def test_a_checkpoint_of_before_it_is_sound(tmp_path: Path) -> None:
    """As after a kill between the excision and the next fold, and beside a process that folds just then."""
    data, killed = tmp_path / "data", tmp_path / "killed"
    with filled(data) as database, database.compactor.paused():
        database.transact(EXCISE)
        database.transact("[{:db/excise :friend}]")
        database.transact('[{:email "ada@SECRET" :name "Ada is back"}]')
        assert check_data(str(data), deep=True).findings == []
        shutil.copytree(data, killed, ignore=shutil.ignore_patterns("lock*", "*.sock", "peers"))
    assert check_data(str(killed), deep=True).findings == []
    with Database.open(str(killed)):
        pass
    assert check_data(str(killed), deep=True).findings == []


class _AtStage(BackupProgress):
    """Does something once, when a stage of a check begins."""

    def __init__(self, stage: str, act: Callable[[], None]) -> None:
        self._acts = {stage: act}

    def stage(self, name: str) -> None:
        self._acts.pop(name, lambda: None)()

    def bytes(self, done: int, total: int) -> None:
        pass


@pytest.mark.parametrize(
    "stage", ["reading the log", "reading the segments", "replaying the log", "comparing the segments with the log"]
)
def test_a_check_during_one_finds_no_damage(tmp_path: Path, stage: str) -> None:
    with filled(tmp_path) as database:

        def excise() -> None:
            database.transact(EXCISE)
            clean(database, tmp_path)

        assert check_data(str(tmp_path), deep=True, watching=_AtStage(stage, excise)).findings == []
        (file, *_) = sorted(path for path in (tmp_path / "segments").glob("attribute*"))
        file.write_bytes(file.read_bytes()[:-1])
        assert check_data(str(tmp_path), deep=True).findings


def test_the_entities_of_many_forms_are_one_scope(tmp_path: Path) -> None:
    """Each scope costs a look at everything that any of them may have something of."""
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        people = [f'{{:db/id {n} :name "{n}" :note "{n}"}}' for n in range(1, 101)]
        database.transact(f"[{' '.join(people)}]")
        forms = [f"{{:db/excise {n}}}" for n in range(1, 91)]
        forms += [f"{{:db/excise {n} :db.excise/attrs [:name]}}" for n in range(91, 96)]
        t = database.transact(f"[{' '.join(forms)}]").t
        (excision,) = database.log.excisions(0)
        assert (excision.t, len(excision.scopes)) == (t, 2)
        assert {row[0] for row in shown(database.snapshot())} == set(range(91, 101))
        assert {row[0] for row in shown(database.snapshot()) if row[1] == ":name"} == set(range(96, 101))


def test_compressed_entries_without_anything_of_it_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The id of the entity is at the border of two pieces that are searched.
    monkeypatch.setattr(payload, "_SEARCHED", 7)
    looked: list[int] = []
    original = Redaction.look

    def look(redaction: Redaction, entry: LogEntry, logged: Logged) -> None:
        looked.append(entry.t)
        original(redaction, entry, logged)

    monkeypatch.setattr(Redaction, "look", look)
    many = " ".join(f'{{:name "name {number} of many"}}' for number in range(400))
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        database.transact(f'[{{:db/id {ADA_ID} :email "ada@SECRET"}} {{:db/id {ADA_ID + 1} :email "bob"}}]')
        unpacked = []
        for own in (
            "",
            '{:db/id "only a tempid SECRET" :email "ada@SECRET"}',
            f'{{:db/id "bob" :email "bob" :friend {ADA_ID}}}',
            '{:db/id "bob" :email "bob" :note "of an attribute without history"}',
            '{:db/id "bob" :email "bob" :name "Bob"}',
            '{:email "ada@SECRET" :name "Ada SECRET"}',
        ):
            report = database.transact(f"[{own} {many}]")
            (entry,) = database.log.entries(report.t, report.t + 1, 1)
            assert entry.payload[:1] == b"\1", "it is compressed"
            if any(each in own for each in ("SECRET", ":friend", ":note")):
                unpacked.append(report.t)
        database.transact(EXCISE)
        assert [t for t in looked if t > 3] == unpacked
        for entry in database.log.entries(1, 100, 100):
            assert b"SECRET" not in Logged.uncompressed(entry.payload)


def test_of_attributes_without_history_only_their_own_entries_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        database.transact(f'[{{:db/id {ADA_ID} :name "Ada SECRET" :note "first SECRET"}}]')
        for number in range(20):
            database.transact(f'[{{:db/id {ADA_ID + 1000 + number} :name "Person {number}"}}]')
        database.transact(f'[[:db/add {ADA_ID} :note "second SECRET"]]')
        database.transact(f'[[:db/add {ADA_ID + 1000} :note "first SECRET"]]')
        database.transact(f'[[:db/add {ADA_ID + 1000} :note "another"]]')
        database.compact()
        looked: list[int] = []
        look = Redaction.look

        def looks(own: Redaction, entry: LogEntry, logged: Logged) -> None:
            looked.append(entry.t)
            look(own, entry, logged)

        monkeypatch.setattr(Redaction, "look", looks)
        t = database.transact(f"[{{:db/excise {ADA_ID}}}]").t
        assert looked == [1, 2, t - 3, t - 2, t - 1]
        # Another entry has it, of which memory knows nothing.
        assert b"first SECRET" in payloads(tmp_path)
        assert b"second SECRET" not in payloads(tmp_path)
        expected = state(database)
    (tmp_path / "checkpoint.json").unlink()
    with Database.open(str(tmp_path)) as database:
        assert state(database) == expected


def lagging(folder: Path) -> Database:
    """A process on the log that reads it when it is asked to, and not before."""
    database = Database.open(str(folder), shared=True)
    assert database._following is not None
    database._following.close()
    return database


def test_a_process_that_is_behind_needs_no_file_that_another_has_removed_since(tmp_path: Path) -> None:
    with filled(tmp_path):
        pass
    with Database.open(str(tmp_path), shared=True) as first, lagging(tmp_path) as second:
        first.compact()
        second.compactor.follow()
        with second.compactor.paused():
            first.transact(EXCISE)
            clean(first, tmp_path)
            second.writer.look().result()
        assert second.writer.doubt is None
        assert state(second) == state(first)
        assert second.transact('[{:name "Later"}]').t == first.snapshot().t + 1


def test_a_process_reads_an_import_anew_that_was_rewritten_since_it_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that the entry named is gone by then. Another process's excision comes between reading the entry and
    opening the file."""
    data, people = tmp_path / "data", pa.table({"email": ["ada@SECRET", "bob"], "name": ["Ada SECRET", "Bob"]})
    with Database.open(str(data), shared=True) as first, lagging(data) as second:
        second.writer.look().result()
        first.transact(SCHEMA)
        imported(first, tmp_path, MAPPING, {"people": people})
        first.transact('[{:email "bob" :name "Robert"}]')
        reads = second.log.missed

        def missed() -> Sequence[LogEntry]:
            entries = reads()
            monkeypatch.setattr(second.log, "missed", reads)
            first.transact(EXCISE)
            return entries

        monkeypatch.setattr(second.log, "missed", missed)
        second.writer.look().result()
        assert second.writer.doubt is None
        second.writer.look().result()
        assert state(second) == state(first)
        assert second.transact('[{:email "bob" :name "Bob"}]').t == first.snapshot().t + 1


def test_a_state_that_could_not_read_a_file_has_nothing_of_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, people = tmp_path / "data", pa.table({"email": ["ada", "bob"], "name": ["Ada", "Bob"]})
    with Database.open(str(data), shared=True) as first, lagging(data) as second:
        second.writer.look().result()
        first.transact(SCHEMA)
        imported(first, tmp_path, MAPPING, {"people": people})
        folder = data / "imported"
        folder.rename(data / "elsewhere")
        second.writer.look().result()
        assert second.writer.doubt is not None
        assert second._head.t == second.snapshot().t == 1
        (data / "elsewhere").rename(folder)
        waiting = second.reached(2)
        if waiting is not None:
            waiting.result()
        assert state(second) == state(first)


def test_an_excision_that_cannot_be_applied_yet_is_not_seen_and_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path):
        pass
    with Database.open(str(tmp_path), shared=True) as first, lagging(tmp_path) as second, hub_over(second) as hub:
        reader = NewestReader(second, hub.pool, NAMES)
        t = second.snapshot().t
        reader.until(t)
        first.transact(EXCISE)
        first.transact('[{:name "Later"}]')

        def fails(*_: Any) -> None:
            raise AdalogError(Code.BACKEND_UNAVAILABLE, "as many files are open as may be")

        with monkeypatch.context() as patched:
            patched.setattr(Codes, "renamed", fails)
            second.writer.look().result()
            assert second.snapshot().t == t
        second.writer.look().result()
        assert state(second) == state(first)
        reader.until(t + 2)
        assert SECRET not in str(reader.rows)
        reader.close()


def test_transactions_are_read_while_an_excision_removes_their_files(tmp_path: Path) -> None:
    """If an excision removed the files that a read entry names, the remainder of that entry is read instead."""
    people = pa.table({"email": ["ada@SECRET", "bob"], "name": ["Ada SECRET", "Bob"]})
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        imported(database, tmp_path, MAPPING, {"people": people})
        t = database.snapshot().t
        opened, several = list(database.transactions(t, t + 1, 1)), database.transactions(1, t + 1, t)
        # All of them are read at once, and then one after the other is told.
        before = next(several)
        database.transact(EXCISE)
        left = [before, *several]
        assert SECRET not in str([datom for report in left for datom in report.datoms])
        assert "bob" in str(list(left[-1].datoms))
        assert "ada@SECRET" in str(list(opened[0].datoms))


def test_a_file_that_is_being_fetched_stays(tmp_path: Path) -> None:
    """An excision removes no file of a fetch under way. The half file of a killed fetch goes at the next start."""
    people = pa.table({"email": ["ada@SECRET", "bob"], "name": ["Ada SECRET", "Bob"]})
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        imported(database, tmp_path, MAPPING, {"people": people})
        file = next((tmp_path / "data" / "imported").iterdir())
        fetched = file.with_name(f".{file.name}.1.tmp")
        fetched.write_bytes(b"half")
        database.transact(EXCISE)
        until(lambda: not file.exists())
        assert fetched.exists()
    with Database.open(str(tmp_path / "data")):
        assert not fetched.exists()
