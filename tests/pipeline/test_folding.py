"""Attributes folded in pieces, as tasks do it: what comes of it is what one process makes of them."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from random import Random

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.spark.engine import SparkEngine
from adalog.pipeline.folding import fold, folding_on
from adalog.store.backup.integrity import relation_faults
from adalog.store.checkpoint import compactor
from adalog.store.checkpoint.attribute_fold import FoldJob
from adalog.store.checkpoint.fold_memory import PAIR_BYTES
from adalog.store.database import Database
from adalog.store.files.segment import Segment
from adalog.store.tries import relation as relations
from adalog.store.tries import value_index
from adalog.store.tries.fold_pieces import ranges_of, samples_of
from tests.pipeline.pipeline_in_process import InProcess

SCHEMA = """[
 {:db/ident :a/many :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :a/one :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :a/flag :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :a/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/value}
 {:db/ident :a/brief :db/valueType :db.type/long :db/cardinality :db.cardinality/one :db/noHistory true}]"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small attributes are worth a fold; their files need not last."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(compactor, "_LEAST", 20)
    monkeypatch.setattr(relations, "_LEAST", 4)


def transaction(rng: Random) -> str:
    """Changes of a few entities, one of which has most; some take back what others said."""
    forms = []
    for _ in range(rng.randrange(1, 250)):
        e = 100 + min(rng.randrange(60), rng.randrange(60))
        attribute, v = rng.choice(
            [
                (":a/many", rng.randrange(400) if e > 105 else rng.randrange(4000)),
                (":a/one", rng.choice([7, rng.randrange(1000)])),
                (":a/flag", rng.choice(["true", "false"])),
                (":a/name", f'"n{e}"'),
                (":a/brief", rng.randrange(9)),
            ]
        )
        forms.append((e, attribute, v, rng.random() < 0.75))
    once = {(e, a) if a != ":a/many" else (e, a, v): (e, a, v, held) for e, a, v, held in forms}
    return (
        "[" + " ".join(f"[:db/{'add' if held else 'retract'} {e} {a} {v}]" for e, a, v, held in once.values()) + "]"
    )


class Counted:
    """Folds here, as tasks would."""

    def __init__(self) -> None:
        self.jobs = 0

    def __call__(self, job: FoldJob) -> Segment:
        self.jobs += 1
        return fold(InProcess(), job)


def everything(database: Database) -> list[list[tuple[object, ...]]]:
    now = database.snapshot()
    views = [now, now.history(), *(now.as_of(t) for t in range(1, now.t, 3))]
    return [
        [(d.e, str(d.a), d.v, d.t, d.added) for d in view.datoms(order) if not str(d.a).startswith(":db")]
        for view in views
        for order in ("EAVT", "AEVT")
    ]


@pytest.mark.parametrize("size", [12, 60])
def test_a_fold_in_pieces_is_the_fold_of_one_process(tmp_path: Path, size: int) -> None:
    rng, folding = Random(size), Counted()
    with Database.open(str(tmp_path / "pieces")) as pieces, Database.open(str(tmp_path / "whole")) as whole:
        pieces.compactor.have_folded(folding, size * PAIR_BYTES)
        for database in (pieces, whole):
            database.transact(SCHEMA)
        for _ in range(8):
            text = transaction(rng)
            for database in (pieces, whole):
                database.transact(text)
                if rng.random() < 0.9:
                    database.compact()
        assert folding.jobs
        assert everything(pieces) == everything(whole)
        for id_, data in pieces.snapshot().data().items():
            ve = data.relation.ve.merged
            e, v = data.relation.ev.merged.pairs()
            order = np.lexsort((e, v))
            assert [column.tolist() for column in ve.pairs()] == [v[order].tolist(), e[order].tolist()], id_
            assert (np.diff(ve.keys) > 0).all()
        expected = everything(whole)
        assert not list((tmp_path / "pieces").glob("importing/*"))
    with Database.open(str(tmp_path / "pieces")) as again:
        assert everything(again) == expected
        relations_of = [data.relation for data in again.snapshot().data().values()]
        assert any(
            each.base.ev.figures is not None and each.base.ev.figures.dense is not None for each in relations_of
        )
        assert [fault for each in relations_of for fault in relation_faults(each)] == []


ORDERED = """[
 {:db/ident :v/text :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :v/double :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :v/price :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}]"""


def values_in_random_order(rng: Random) -> str:
    """Values of which the order is not that in which they were first met; some entities have the same ones."""
    forms = [
        form
        for e in rng.sample(range(100, 400), rng.randrange(20, 60))
        for form in (
            f'[:db/add {e} :v/text "{rng.choice("aéz")}{rng.randrange(300)}"]',
            f"[:db/add {e} :v/double {rng.choice(['##NaN', '##-Inf', -0.5, *(rng.random() for _ in range(3))])}]",
            f"[:db/add {e} :v/price {rng.randrange(-500, 500)}.{rng.randrange(100):02}M]",
        )
    ]
    return f"[{' '.join(forms)}]"


def check_order(database: Database) -> int:
    """How many attributes have the order of their values in their base's file; each order is right."""
    count, snapshot = 0, database.snapshot()
    for name in ("v/text", "v/double", "v/price"):
        attribute = snapshot.attribute(Keyword(name))
        assert attribute is not None
        base = snapshot.data_of(attribute.id).relation.base
        if base.ve.order is None:
            assert len(base.ve.keys) < value_index.LEAST, "an attribute with so many values has their order"
            continue
        count += 1
        assert base.segment is not None
        values = snapshot.codes.decode_many(base.ve.keys[base.ve.order])
        assert sorted(base.ve.order.tolist()) == list(range(len(base.ve.keys)))
        numbers = [value for value in values if value == value]
        assert numbers == sorted(numbers)
        assert all(value != value for value in values[len(numbers) :]), "NaN is last"
    return count


@pytest.mark.parametrize("least", [2, 50])
def test_a_fold_in_pieces_writes_the_order_of_values(
    tmp_path: Path, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the first fold, and the one by which an attribute comes to have so many values."""
    monkeypatch.setattr(value_index, "LEAST", least)
    rng, folding, orders = Random(least), Counted(), 0
    with Database.open(str(tmp_path / "pieces")) as database:
        database.compactor.have_folded(folding, 12 * PAIR_BYTES)
        database.transact(ORDERED)
        for _ in range(8):
            database.transact(values_in_random_order(rng))
            database.compact()
            orders = max(orders, check_order(database))
        assert folding.jobs
        assert orders == 3
    with Database.open(str(tmp_path / "pieces")) as again:
        assert check_order(again) == 3


def test_where_nobody_else_can_fold_this_process_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def refused(job: FoldJob) -> Segment:
        (Path(job.fold.folder) / "left").write_text("half done")
        raise AdalogError(Code.BACKEND_UNAVAILABLE, "Spark is still starting")

    with Database.open(str(tmp_path / "db")) as database, caplog.at_level(logging.INFO, "adalog.store"):
        database.compactor.have_folded(refused, 1)
        database.transact(SCHEMA)
        database.transact("[" + " ".join(f"[:db/add {100 + i} :a/one {i}]" for i in range(3000)) + "]")
        database.compact()
        database.transact("[" + " ".join(f"[:db/add {100 + i} :a/one {i + 1}]" for i in range(3000)) + "]")
        database.compact()
        assert "Spark is still starting" in caplog.text
        assert not list((tmp_path / "db").glob("importing/*"))
        assert sum(1 for _ in database.snapshot().datoms("AEVT")) > 3000


def test_ranges_cover_every_pair_and_cut_a_value_that_has_most_of_them() -> None:
    keys, values = np.repeat([3, 5, 9], [10, 1000, 5]), np.arange(1015)
    ranges = ranges_of([samples_of(keys, values, 100)], 100)
    inside = [
        sum(low <= pair < high for pair in zip(keys.tolist(), values.tolist(), strict=True)) for low, high in ranges
    ]
    assert sum(inside) == 1015
    assert max(inside) <= 110
    whole = ranges_of([samples_of(keys, values, 100)], 100, whole=True)
    assert len(whole) == 2
    assert whole[0][1] == whole[1][0]


@pytest.mark.spark
def test_tasks_of_spark_fold(spark: SparkEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rng, held = Random(1), {}
    with Database.open(str(tmp_path / "db")) as database, caplog.at_level(logging.INFO, "adalog.store"):
        database.compactor.have_folded(folding_on(spark.session), 500 * PAIR_BYTES)
        database.transact(SCHEMA)
        for _ in range(2):
            given = {100 + e: rng.randrange(50) for e in range(2000)}
            database.transact("[" + " ".join(f"[:db/add {e} :a/one {v}]" for e, v in given.items()) + "]")
            held |= given
            database.compact()
        assert not caplog.text
        found = {d.e: d.v for d in database.snapshot().datoms("AEVT", [Keyword("a/one")])}
        assert found == held
        attribute = database.snapshot().attribute(Keyword("a/one"))
        assert attribute is not None
        assert database.snapshot().data_of(attribute.id).relation.base.segment is not None
