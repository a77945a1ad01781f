"""Backups taken beside writers and folds, of random databases, restore what was there at any transaction."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError
from adalog.executor.pool import Pool
from adalog.store.backup import chunks
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import prune, take
from adalog.store.backup.restoration import restore
from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.files.place import Place, place_of
from adalog.store.tries import relation
from tests.pipeline.pipeline_in_process import imported
from tests.pipeline.test_importing import SCHEMA as PEOPLE
from tests.pipeline.test_importing import mapping
from tests.store.model import Model, check
from tests.store.test_stateful import SCHEMA, forms

FORGETFUL = frozenset({":seen"})


class History:
    """A database's transactions as they were told, with the ids that were free and the keys used."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.folder = folder
        self.model = Model(forgetful=FORGETFUL)
        self.free: dict[int, Any] = {0: self._free()}
        self.keys: dict[str, int] = {}
        self.imports = 0

    def _free(self) -> Any:
        origin = self.database.snapshot().origin
        return origin.free, origin.next_ident

    def transact(self, text: str, key: str | None = None) -> None:
        try:
            report = self.database.transact(text, idempotency_key=key)
        except AdalogError:
            return
        self.model.told(report)
        self.free[report.t] = self._free()
        if key is not None:
            self.keys[key] = report.t

    def import_(self) -> None:
        self.imports += 1
        n = self.imports
        table = pa.table({"id": [f"p{n}", f"q{n % 3}", "r"], "name": [f"name {n}", "same", f"{n % 2}"]})
        imported(self.database, self.folder, mapping({"person/name": "name"}), {"people": table})
        for report in self.database.transactions(self.model.t + 1, self.database.snapshot().t + 1, 10):
            self.model.told(report)
        self.free[self.model.t] = self._free()

    def until(self, t: int) -> Model:
        model = Model(forgetful=FORGETFUL)
        model.t, model.datoms = t, [datom for datom in self.model.datoms if datom.t <= t]
        return model

    def check(self, restored: Database, t: int) -> None:
        """Whether a database is what this one was after transaction t."""
        assert restored.log.identity == self.database.log.identity
        assert restored.history_mark(t) == self.database.history_mark(t)
        snapshot = restored.snapshot()
        assert snapshot.t == t
        check(snapshot, self.until(t))
        check(snapshot.history(), self.until(t))
        assert (snapshot.origin.free, snapshot.origin.next_ident) == self.free[t]
        for key, used in self.keys.items():
            assert restored.transaction_of(key) == (used if used <= t else None)
        assert told(restored, t) == told(self.database, t)


def told(database: Database, t: int) -> list[Any]:
    return [(each.t, each.tx_instant, list(each.datoms)) for each in database.transactions(1, t + 1, t)]


@contextmanager
def eager() -> Iterator[None]:
    """Everything is folded at once, and a chunk of the log holds little."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compactor, "_LEAST", 1)
        patch.setattr(compactor, "_ENOUGH", 20)
        patch.setattr(relation, "_LEAST", 4)
        patch.setattr(chunks, "_FULL", 2_000)
        yield


STEP = st.one_of(
    st.lists(forms(), min_size=1, max_size=3).map(lambda written: ("transact", f"[{' '.join(written)}]")),
    st.lists(forms(), min_size=1, max_size=3).map(lambda written: ("transact", f"[{' '.join(written)}]")),
    st.sampled_from([("import", ""), ("fold", ""), ("backup", "")]),
)


@given(steps=st.lists(STEP, min_size=4, max_size=25), seed=st.integers(0, 1000))
# An example takes as long as many of others.
@settings(max_examples=max(settings().max_examples // 10, 4), suppress_health_check=list(HealthCheck))
def test_any_transaction_of_any_database_is_restored(steps: list[tuple[str, str]], seed: int) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as made, eager():
        folder = Path(made)
        place = place_of(str(folder / "out"))
        with Database.open(str(folder / "data")) as database:
            # Who evaluates the stored queries that transactions call.
            pool = Pool(database)
            try:
                history = History(database, folder)
                history.transact(SCHEMA)
                history.transact(PEOPLE)
                for number, (kind, text) in enumerate(steps):
                    if kind == "transact":
                        history.transact(text, f"key {number}" if dice.random() < 0.3 else None)
                    elif kind == "import":
                        history.import_()
                    elif kind == "fold":
                        database.compact()
                    else:
                        take(database.source(), place)
                take(database.source(), place)
                _check_restored(history, place, dice, folder)
            finally:
                pool.close()


def _check_restored(history: History, place: Place, dice: random.Random, folder: Path) -> None:
    assert check_backups(place, deep=True).findings == []
    last = history.model.t
    for t in {last, dice.randint(0, last)}:
        path = folder / f"restored-{t}"
        assert restore(place, path, moment=t).t == t
        # The newest one was looked at deeply already.
        assert check_data(str(path), deep=t != last).findings == []
        with Database.open(str(path)) as restored:
            history.check(restored, t)


def test_beside_writers_and_folds(tmp_path: Path) -> None:
    """Each backup is of some moment that there was; all of them are whole."""
    place = place_of(str(tmp_path / "out"))
    dice = random.Random(5)
    with eager(), Database.open(str(tmp_path / "data")) as database:
        history = History(database, tmp_path)
        history.transact(SCHEMA)
        history.transact(PEOPLE)
        stop = threading.Event()
        failures: list[BaseException] = []

        def write() -> None:
            try:
                for number in range(100_000):
                    if stop.is_set():
                        return
                    e = dice.randint(1, 60)
                    history.transact(f"[[:db/add {e} :free/a {number}] [:db/add {e} :seen {number % 7}]]")
                    if number % 40 == 7:
                        history.import_()
            except BaseException as error:
                failures.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            taken = [take(database.source(), place, keep=5)]
            while len(taken) < 12 or history.model.t < 100:
                taken.append(take(database.source(), place, keep=5))
        finally:
            stop.set()
            writer.join()
        assert not failures, failures
        assert not any(each.left_out for each in taken)
        assert [each.t for each in taken] == sorted(each.t for each in taken)
        found = catalogue(place)
        assert [each.number for each in found.backups] == [each.number for each in taken[-5:]]
        assert check_backups(place).findings == []
        for backup in found.backups[::2]:
            path = tmp_path / f"restored-{backup.number}"
            assert restore(place, path, number=backup.number).t == backup.t
            with Database.open(str(path)) as restored:
                history.check(restored, backup.t)
        prune(place, 1)
        named = set(catalogue(place).backups[0].parts())
        assert {f"{kind}/{name}" for kind in ("files", "log") for name in place.sizes(kind)} == named
