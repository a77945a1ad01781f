"""Random databases with random excisions and retentions among their transactions, bulk loads, folds and restarts:
each is as though what was excised had never been, whatever it is opened from, and so are the streams of its live
queries."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.values.attribute import SCHEMA_BASE
from adalog.store.values.datom import TxReport
from tests.live.following import NewestReader, hub_over
from tests.pipeline.pipeline_in_process import imported
from tests.postgres_servers import PostgresServer
from tests.property.excised_model import ExcisedModel, row_of, shown, state
from tests.property.model import examples

SCHEMA = """[
  {:db/ident :s :db/valueType :db.type/string}
  {:db/ident :many :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
  {:db/ident :key :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :n :db/valueType :db.type/long}
  {:db/ident :x :db/valueType :db.type/double}
  {:db/ident :dec :db/valueType :db.type/bigdec}
  {:db/ident :lately :db/valueType :db.type/string :db/noHistory true}
  {:db/ident :ref :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}
]"""
ATTRIBUTES = (":s", ":many", ":n", ":x", ":dec", ":lately", ":ref", ":part")
MAPPING = {
    "sources": {
        "people": {
            "path": "people.parquet",
            "entity": {"attribute": "key", "column": "id"},
            "delete": {"when": {"column": "op", "equals": "D"}},
            "attributes": {"s": "s", "many": {"column": "many", "split": ","}, "x": "x", "lately": "lately"},
        }
    }
}
QUERIES = (
    "[:find ?e ?v :where [?e :s ?v]]",
    '[:find ?e ?n :where [?e :s "secret 1"] [?e :n ?n]]',
    "[:find ?v :where [?e :many ?v]]",
    "[:find ?e (count ?v) :where [?e :many ?v]]",
    "[:find ?a ?v :where [?e :ref ?a] [?a :s ?v]]",
    "[:find (pull ?e [:s :many {:part [:n]}]) :where [?e :n _]]",
    "[:find ?e ?v :where [?e :lately ?v]]",
)


def value(rng: Random, attribute: str, entity: int) -> Any:
    text = f"secret {rng.randint(1, 5)}" if rng.random() < 0.6 else f"own {entity} {rng.randint(1, 3)}"
    match attribute:
        case ":s" | ":many" | ":lately":
            return f'"{text}"'
        case ":n":
            return rng.randint(1, 4)
        case ":x":
            return f"{rng.randint(1, 5)}.5"
        case ":dec":
            return f"{rng.randint(1, 5)}.25M"
    return rng.randint(1, 6)


def transaction(rng: Random) -> str:
    forms: dict[Any, str] = {}
    if rng.random() < 0.1:
        return f"[[:db/retractEntity {rng.randint(1, 6)}]]"
    for _ in range(rng.choice((1, 2, 4, 8))):
        e, a = rng.randint(1, 6), rng.choice(ATTRIBUTES)
        v = value(rng, a, e)
        if a == ":part" and v <= e:
            continue
        operation = rng.choice(("add", "add", "add", "retract"))
        forms[e, a, v if a in (":many", ":ref", ":part") else None] = f"[:db/{operation} {e} {a} {v}]"
    if rng.random() < 0.3:
        name = f"name of {rng.randint(1, 3)}"
        forms[name] = f'{{:db/id "{name}" :key "{name}" :s "{name}"}}'
    return f"[{' '.join(forms.values())}]"


def excision(rng: Random, model: ExcisedModel, t: int) -> str:
    """A form; the model has what is left."""
    before = rng.randint(1, t) if rng.random() < 0.3 else None
    beforehand = "" if before is None else f" :db.excise/beforeT {before}"
    until = t if before is None else before
    named = [datom for datom in model.held(t) if str(datom.a) == ":key"]
    kind = rng.random()
    if kind < 0.35:
        chosen = rng.sample(sorted({*ATTRIBUTES, ":key"}), rng.randint(1, 9))
        point = t if before is None else before
        for attribute in chosen:
            model.retain(attribute, point)
        return " ".join(f"{{:db/excise {attribute} :db.excise/endedBeforeT {point}}}" for attribute in chosen)
    if kind < 0.45:
        attribute = rng.choice(ATTRIBUTES)
        model.excise(lambda datom: str(datom.a) == attribute and datom.t < until)
        return f"{{:db/excise {attribute}{beforehand}}}"
    if kind < 0.55 and named:
        datom = rng.choice(named)
        model.excise_entity(datom.e, until)
        return f'{{:db/excise [:key "{datom.v}"]{beforehand}}}'
    entity = rng.randint(1, 6)
    if kind < 0.7:
        chosen = rng.sample(ATTRIBUTES, rng.randint(1, 3))
        model.excise(lambda datom: datom.e == entity and str(datom.a) in chosen and datom.t < until)
        return f"{{:db/excise {entity} :db.excise/attrs [{' '.join(chosen)}]{beforehand}}}"
    model.excise_entity(entity, until)
    return f"{{:db/excise {entity}{beforehand}}}"


def copy_if_there(file: str, to: str) -> None:
    """Leaves out a file that was removed since it was listed, as those of imports are that the log does not name
    any more, and those that SQLite has while it writes."""
    with suppress(FileNotFoundError):
        shutil.copy2(file, to)


class World:
    """A database in a folder or on a server, a follower on the same log, and subscribers of both."""

    def __init__(self, rng: Random, folder: Path, undo: ExitStack, address: str | None = None) -> None:
        self.rng, self.folder, self.undo, self.address = rng, folder, undo, address
        self.model = ExcisedModel((":ref", ":part"), (":part",), (":lately",))
        self.kept: Path | None = None
        self.has_follower = address is not None or rng.random() < 0.5
        self.open()
        self.learn(self.database.transact(SCHEMA))

    def open(self) -> None:
        self.living = ExitStack()
        self.database = self.opened()
        self.subscribers = [self.subscriber(self.database, text) for text in self.rng.sample(QUERIES, 2)]
        self.follower: Database | None = None
        if self.has_follower:
            self.follower = self.opened(follow_seconds=0.05)
            if self.rng.random() < 0.5 and self.follower._following is not None:
                # It reads what it missed when it is asked to, long after it happened.
                self.follower._following.close()
            self.subscribers.append(self.subscriber(self.follower, self.rng.choice(QUERIES)))
        self.follow()

    def opened(self, **options: Any) -> Database:
        if self.address is None:
            return self.living.enter_context(Database.open(str(self.folder), shared=self.has_follower, **options))
        number = len(list(self.folder.parent.iterdir()))
        copy, place = (str(self.folder.parent / name) for name in (f"copy {number}", "place"))
        return self.living.enter_context(Database.open(self.address, segments=place, copy=copy, **options))

    def subscriber(self, database: Database, text: str) -> NewestReader:
        hub = self.living.enter_context(hub_over(database))
        return NewestReader(database, hub.pool, text)

    def close(self) -> None:
        for each in self.subscribers:
            each.close()
        self.living.close()

    def learn(self, report: Any) -> None:
        self.model.learn(report.datoms)
        self.follow()

    def follow(self) -> None:
        for place, known in enumerate(self.subscribers):
            t = known.database.snapshot().t
            try:
                known.until(t)
            except AdalogError as error:
                if error.code is not Code.BACKEND_UNAVAILABLE:
                    raise
                again = NewestReader(known.database, known.pool, known.query, resume=known.resume)
                again.rows, again.t, again.whole = known.rows, known.t, True
                again.until(t)
                self.subscribers[place] = again

    def bulk(self) -> None:
        rng = self.rng
        held = {datom.e for datom in self.model.datoms}
        new = [e for e in range(1000, 1030) if e not in held]
        entities = sorted(rng.sample(new, min(len(new), 4)))
        texts = np.array([f"secret {rng.randint(1, 9)}" for _ in entities], object)
        columns: dict[Keyword, Any] = {
            Keyword("s"): (entities, texts.tolist()),
            Keyword("n"): (entities, [1] * len(entities)),
        }
        self.learn(self.database.bulk_load("[]", columns))

    def load(self) -> None:
        """An import, which also retracts the entities of some rows, and replaces values."""
        rng = self.rng
        rows = rng.sample(range(1, 9), rng.randint(1, 6))
        table = pa.table(
            {
                "id": [f"name of {number}" for number in rows],
                "op": [rng.choice(("D", "U", "U", "U")) for _ in rows],
                "s": [f"secret {rng.randint(1, 9)}" for _ in rows],
                "many": [f"many {rng.randint(1, 5)},own {number}" for number in rows],
                "x": [rng.randint(1, 5) + 0.5 for _ in rows],
                "lately": [rng.choice((None, f"lately {rng.randint(1, 9)}")) for _ in rows],
            }
        )
        t = self.database.snapshot().t
        with tempfile.TemporaryDirectory() as folder:
            rejected = self.imported(Path(folder), table)
        assert not rejected
        for report in self.database.transactions(t + 1, t + 2, 1):
            self.learn(report)

    def imported(self, folder: Path, table: pa.Table) -> Sequence[Any]:
        while True:
            try:
                return imported(self.database, folder, MAPPING, {"people": table})[1]
            except AdalogError as error:
                # An excision may remove files before its tasks have read them. The refusal asks to try again.
                if error.code is not Code.BACKEND_UNAVAILABLE:
                    raise

    def check(self) -> None:
        database, model = self.database, self.model
        newest = database.snapshot()
        assert shown(newest) == model.rows(newest.t, newest.t)
        assert shown(newest.history()) == model.rows(newest.t, newest.t, history=True)
        logged = [datom for report in database.transactions(1, newest.t + 1, newest.t) for datom in report.datoms]
        assert {row_of(each) for each in logged if each.e < SCHEMA_BASE} == set(map(row_of, model.datoms))
        ended = [datom.t for datom in model.datoms if str(datom.a) in model.forgetful and not datom.added]
        counted = database.retention.ends.until(newest.schema.forgetful, newest.t)
        assert [each for times in counted.values() for each in times.tolist()] == sorted(ended)
        t = self.rng.randint(0, newest.t)
        assert shown(database.at(t=t)) == model.rows(t, newest.t), t

    def check_others(self) -> None:
        """The same state from the log alone, from an old checkpoint, and in the follower."""
        expected = state(self.database)
        if self.follower is not None:
            waiting = self.follower.reached(self.database.snapshot().t)
            if waiting is not None:
                waiting.result()
            self.follow()
            assert state(self.follower) == expected
        if self.address is not None:
            with Database.open(self.address, segments=str(self.folder.parent / "place")) as database:
                assert state(database) == expected
            return
        for before in (None, self.kept):
            with tempfile.TemporaryDirectory() as other:
                copied = Path(other) / "copy"
                if before is None:
                    copied.mkdir()
                else:
                    shutil.copytree(before, copied)
                for file in copied.glob("log.sqlite*"):
                    file.unlink()
                shutil.rmtree(copied / "imported", ignore_errors=True)
                self.copy_log(copied)
                with Database.open(str(copied)) as database:
                    assert state(database) == expected

    def written(self, text: str) -> TxReport:
        """What a transaction did, by either process, once the first one has it."""
        report = (self.follower if self.follower and self.rng.random() < 0.3 else self.database).transact(text)
        waiting = self.database.reached(report.t)
        if waiting is not None:
            waiting.result()
        return report

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Neither process removes files of the folder, until the end."""
        with ExitStack() as both:
            for each in (self.database, self.follower):
                if each is not None:
                    both.enter_context(each.compactor.paused())
            yield

    def copy_log(self, to: Path) -> None:
        # Whole, also while the log is written anew after an excision.
        with (
            closing(sqlite3.connect(self.folder / "log.sqlite")) as log,
            closing(sqlite3.connect(to / "log.sqlite")) as copied,
        ):
            log.backup(copied)
        if (self.folder / "imported").exists():
            shutil.copytree(self.folder / "imported", to / "imported", copy_function=copy_if_there)

    def step(self) -> None:
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            with suppress(AdalogError):
                self.learn(self.written(transaction(rng)))
        elif kind < 0.58:
            self.bulk()
        elif kind < 0.64:
            self.load()
        elif kind < 0.7:
            self.database.compact()
        elif kind < 0.76 and self.kept is None and (self.folder / "checkpoint.json").exists():
            self.kept = Path(self.undo.enter_context(tempfile.TemporaryDirectory())) / "kept"
            with self.paused():
                ignored = shutil.ignore_patterns("lock*", "*.sock", "peers")
                shutil.copytree(self.folder, self.kept, ignore=ignored, copy_function=copy_if_there)
        elif kind < 0.82:
            self.close()
            self.open()
        else:
            t = self.database.snapshot().t + 1
            self.written(f"[{excision(rng, self.model, t)}]")
            self.follow()
            self.check()


def run(world: World) -> None:
    try:
        for _ in range(world.rng.randint(5, 25)):
            world.step()
        world.check()
        world.check_others()
    finally:
        world.close()


@settings(max_examples=examples(25))
@given(st.integers(0, 2**48))
def test_a_database_is_as_though_what_was_excised_had_never_been(seed):
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory())) / "data"
        run(World(Random(seed), folder, undo))


@settings(max_examples=examples(6))
@given(st.integers(0, 2**48))
def test_so_are_all_gateways_on_one_server(postgres: PostgresServer, seed: int) -> None:
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory())) / "data"
        run(World(Random(seed), folder, undo, postgres.new_database()))
