"""Bulk loads: columns become datoms as if they had been transacted, or nothing does."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from tests.store.model import Model, check_moments

SCHEMA = """[
 {:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/identity}
 {:db/ident :size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :weight :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :price :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
 {:db/ident :flag :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :at :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :needs :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
E3 = np.array([1, 2, 3])


def columns(**given: Any) -> dict[Keyword, tuple[Any, Any]]:
    return {Keyword(name): column for name, column in given.items()}


def everything() -> dict[Keyword, tuple[Any, Any]]:
    return columns(
        name=(E3, pa.array(["a", "b", "c"]).dictionary_encode()),
        size=(E3, np.array([5, 2**62, -(2**63)])),
        weight=(E3, pa.chunked_array([[0.5, 1.5], [0.5]])),
        price=(E3[:2], [Decimal("1.50"), 2]),
        kind=(E3, [Keyword("x"), Keyword("y"), Keyword("x")]),
        flag=(E3, [True, False, True]),
        at=(E3[:1], pa.array([1_600_000_000_000], pa.timestamp("ms", "UTC"))),
        needs=(np.array([3, 1, 1, 1]), np.array([1, 3, 2, 3])),
    )


@pytest.mark.parametrize("location", ["memory", "folder"])
def test_it_reads_as_if_it_had_been_transacted(location: str, tmp_path: Path) -> None:
    where = ":memory:" if location == "memory" else str(tmp_path)
    model = Model()
    with Database.open(where) as database:
        model.told(database.bulk_load(SCHEMA, everything()))
        model.told(database.transact('[{:name "a" :size 6 :needs [2]} {:name "new" :needs {:name "b"}}]'))
        check_moments(database.snapshot(), model)
        database.compact()
        check_moments(database.snapshot(), model)
        assert next(database.transactions(1, 2, 1)).datoms[-1] == model.datoms[model_index(model)]
        new = database.snapshot().entid((Keyword("name"), "new"))
        assert new == 4
    if location == "folder":
        for _ in range(2):
            with Database.open(where) as database:
                check_moments(database.snapshot(), model)
            (tmp_path / "checkpoint.json").unlink(missing_ok=True)


def model_index(model: Model) -> int:
    """The place of the first transaction's last datom."""
    return max(i for i, datom in enumerate(model.datoms) if datom.t == 1)


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        (columns(nothing=(E3, [1, 2, 3])), Code.UNKNOWN_ATTRIBUTE, ":nothing"),
        (columns(size=(E3, [1, "a", 3])), Code.TX_INVALID, ":size are not longs"),
        (columns(size=(E3, pa.array(["1", "x", "3"]))), Code.TX_INVALID, ":size are not longs"),
        (columns(size=(E3, pa.array([1, None, 3]))), Code.TX_INVALID, "1 nulls"),
        (columns(size=(E3, [1, 2])), Code.ARG_INVALID, "3 entities and 2 values"),
        (columns(size=(np.array([1, 1]), [1, 2])), Code.TX_CONFLICT, "entity 1"),
        (columns(size=(np.array([-1]), [1])), Code.TX_INVALID, "-1"),
        (columns(needs=(E3, np.array([1, 2, 2**41]))), Code.TX_INVALID, str(2**41)),
        (columns(name=(E3, pa.array(["a", "b", "a"]))), Code.UNIQUE_CONFLICT, '"a"'),
        (columns(name=(np.array([8]), ["known"])), Code.UNIQUE_CONFLICT, '"known"'),
        (columns(name=(np.array([9]), ["other"])), Code.TX_CONFLICT, "entity 9"),
    ],
)
def test_refusals_leave_nothing(given: dict[Keyword, tuple[Any, Any]], code: Code, says: str) -> None:
    model = Model()
    with Database.open(":memory:") as database:
        model.told(database.transact(SCHEMA))
        model.told(database.transact('[{:db/id 9 :name "known"}]'))
        with pytest.raises(AdalogError) as refused:
            database.bulk_load("[[:db/add 1 :extra 1]]", given)
        assert refused.value.code is code
        assert says in refused.value.message
        check_moments(database.snapshot(), model)
        model.told(database.transact("[[:db/add 1 :extra 1]]"))
        check_moments(database.snapshot(), model)


def test_what_holds_already_makes_no_datom() -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact('[{:db/id 1 :name "a" :needs [2]}]')
        report = database.bulk_load("[]", columns(name=(E3, ["a", "b", "c"]), needs=(E3, np.array([2, 2, 2]))))
        assert len(report.datoms) == 1 + 2 + 2


def test_so_much_text_that_arrow_cuts_it_in_pieces() -> None:
    texts = np.array([f"{i} {'x' * (1 << 18)}" for i in range(100)])
    with Database.open(":memory:") as database:
        report = database.bulk_load(
            "[{:db/ident :text :db/valueType :db.type/string}]", {Keyword("text"): (np.arange(1, 101), texts)}
        )
        assert [datom.v for datom in report.datoms[-2:]] == texts[-2:].tolist()
