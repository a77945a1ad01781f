"""After any transactions, folds, restarts and refused appends, every moment reads as it was told then."""

from __future__ import annotations

import pickle
import random
import threading
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries import relation
from tests.store.model import Model, check, check_moments

SCHEMA = """[
 {:db/ident :p/email :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :p/code :db/valueType :db.type/long :db/cardinality :db.cardinality/one :db/unique :db.unique/value}
 {:db/ident :p/tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :p/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :p/part :db/valueType :db.type/ref :db/cardinality :db.cardinality/one :db/isComponent true}]"""


def random_form(dice: random.Random) -> str:
    e = dice.choice([str(dice.randrange(1, 9)), f'"t{dice.randrange(3)}"'])
    value = dice.randrange(4)
    known = dice.randrange(1, 9)
    return dice.choice(
        [
            f'[:db/add {e} :p/email "{value}@x"]',
            f"[:db/add {e} :p/code {value}]",
            f"[:db/add {e} :p/tags :{'abcd'[value]}]",
            f"[:db/add {e} :p/knows {known}]",
            f"[:db/add {e} :p/part {known}]",
            f"[:db/add {e} :free/{value % 2} {dice.choice(['1', '2', '3'])}]",
            f'{{:db/id {e} :p/tags [:a :{"bcde"[value]}] :p/knows [{known} {{:p/email "{value}@y"}}]}}',
            f"[:db/retract {known} :p/tags :{'abcd'[value]}]",
            f"[:db/retract {known} :p/code]",
            f"[:db/retract {known} :p/knows {value + 1}]",
            f"[:db/retractEntity {known}]",
            f'{{:p/email "{value}@x" :p/code {known + 10}}}',
            f"[:db/cas {known} :p/code {value} {value + 1}]",
        ]
    )


class FailingLog:
    """Stands in for a log whose disk is full now and then."""

    def __init__(self, log: Log) -> None:
        self._append = log.append
        self.fails = False

    def __call__(self, entries: list[LogEntry]) -> None:
        if self.fails:
            raise AdalogError(Code.BACKEND_UNAVAILABLE, "nothing was applied: no space")
        self._append(entries)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds whatever is young."""
    monkeypatch.setattr(compactor, "_LEAST", 1)
    monkeypatch.setattr(relation, "_LEAST", 1)
    monkeypatch.setattr(compactor, "_ENOUGH", 50)
    monkeypatch.setattr(compactor, "_SHARE", 0.0)


def storm(database: Database, model: Model, dice: random.Random, count: int) -> int:
    """Random transactions; how many were accepted."""
    accepted = 0
    for _ in range(count):
        text = "[" + " ".join(random_form(dice) for _ in range(dice.randrange(1, 5))) + "]"
        try:
            model.told(database.transact(text))
            accepted += 1
        except AdalogError:
            assert database.snapshot().t == model.t
    return accepted


@pytest.mark.parametrize("seed", range(8))
def test_in_memory(seed: int, eager: None) -> None:
    dice = random.Random(seed)
    model = Model()
    kept: list[tuple[Snapshot, Model]] = []
    with Database.open(":memory:") as database:
        model.told(database.transact(SCHEMA))
        for _ in range(4):
            assert storm(database, model, dice, 12) > 0
            if dice.random() < 0.5:
                database.compact()
            kept.append((database.snapshot(), model.copy()))
        assert any(data.relation.t for data in database.snapshot().data().values())
        check_moments(database.snapshot(), model)
        for snapshot, then in kept:
            check(snapshot, then)
            check(snapshot.history(), then)


@pytest.mark.parametrize("seed", range(5))
def test_on_disk(seed: int, eager: None, tmp_path: Path) -> None:
    dice = random.Random(seed)
    model = Model()
    for round_ in range(4):
        with Database.open(str(tmp_path)) as database:
            assert database.snapshot().t == model.t
            if round_ == 0:
                model.told(database.transact(SCHEMA))
            failing = FailingLog(database.log)
            database.log.append = failing  # type: ignore[method-assign, assignment]
            for _ in range(3):
                storm(database, model, dice, 6)
                failing.fails = True
                assert storm(database, model, dice, 3) == 0
                failing.fails = False
                if dice.random() < 0.6:
                    database.compact()
            check_moments(database.snapshot(), model)
            received = Snapshot.from_manifest(pickle.loads(pickle.dumps(database.snapshot().manifest())))
            check(received, model)
            check(received.as_of(model.t // 2), model)
            reports = list(database.transactions(1, model.t + 1, 1000))
            assert [datom for report in reports for datom in report.datoms] == model.datoms


def test_reading_while_writing_and_folding(eager: None) -> None:
    """Readers on other threads see whole transactions only."""
    with Database.open(":memory:") as database:
        database.transact(
            "[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}"
            " {:db/ident :m :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]"
        )
        stop = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            while not stop.is_set():
                snapshot = database.snapshot()
                n, m = (snapshot.attribute(key) for key in keys)
                if n is None or m is None:
                    continue
                numbers = snapshot.ev(n).row(1).tolist()
                if numbers != ([snapshot.t] if snapshot.t > 1 else []):
                    wrong.append((snapshot.t, numbers))
                if snapshot.ev(m).row(1).tolist() != list(range(2, snapshot.t + 1)):
                    wrong.append((snapshot.t, snapshot.ev(m).row(1)))

        keys = (Keyword("n"), Keyword("m"))
        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for t in range(2, 150):
            database.transact(f"[[:db/add 1 :n {t}] [:db/add 1 :m {t}]]")
            if t % 10 == 0:
                database.compact()
        stop.set()
        for reader in readers:
            reader.join()
        assert not wrong
