"""Tables and series of other libraries, imported and as arguments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import adalog

COLUMNS: dict[str, list[Any]] = {
    "id": [7, 8],
    "name": ["Ada", "Grace"],
    "at": [datetime(2024, 1, 2, tzinfo=UTC)] * 2,
}
MAKERS: list[Callable[[dict[str, list[Any]]], Any]] = [
    pd.DataFrame,
    pl.DataFrame,
    pa.table,
    lambda columns: duckdb.from_arrow(pa.table(columns)),
]
PEOPLE = {
    "schema": """[{:db/ident :person/id :db/valueType :db.type/long :db/unique :db.unique/identity}
                  {:db/ident :person/at :db/valueType :db.type/instant}]""",
    "sources": {
        "people": {
            "entity": {"attribute": "person/id", "column": "id"},
            "attributes": {"person/name": "name", "person/at": "at"},
        }
    },
}


@pytest.mark.parametrize("make", MAKERS)
def test_a_table_is_imported(make: Callable[[dict[str, list[Any]]], Any], tmp_path: Path) -> None:
    with adalog.connect(tmp_path / "data") as db:
        assert db.import_(PEOPLE, {"people": make(COLUMNS)}, progress=False).rows == 2
        query = "[:find ?id ?name ?at :where [?p :person/id ?id] [?p :person/name ?name] [?p :person/at ?at]]"
        assert sorted(db.q(query).rows) == sorted(zip(*COLUMNS.values(), strict=True))


def test_a_path_that_is_neither_file_nor_table(tmp_path: Path) -> None:
    with adalog.connect(tmp_path / "data") as db, pytest.raises(adalog.Error, match="source people is a list"):
        db.import_(PEOPLE, {"people": [1, 2]}, progress=False)


@pytest.mark.parametrize("make", MAKERS)
def test_a_table_is_an_argument(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    with adalog.connect(":memory:") as db:
        found = db.q("[:find ?i ?n :in $ [[?i ?n ?at]]]", make(COLUMNS))
        assert sorted(found.rows) == [(7, "Ada"), (8, "Grace")]
        assert sorted(db.q("[:find ?i ?n :in $ [[?i ?n]]]", found).rows) == sorted(found.rows)


@pytest.mark.parametrize(
    "make", [pd.Series, pl.Series, pa.array, np.array, lambda items: pa.chunked_array([items])]
)
def test_a_series_is_an_argument(make: Callable[[list[int]], Any]) -> None:
    with adalog.connect(":memory:") as db:
        assert sorted(db.q("[:find [?i ...] :in $ [?i ...]]", make([7, 8])).value) == [7, 8]


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (pd.NaT, "leave the attribute"),
        (pd.NA, "leave the attribute"),
        (date(2024, 1, 2), "aware datetime"),
        (np.datetime64("2024-01-02", "ns"), "has no zone"),
        (np.timedelta64(3, "ns"), "adalog.Duration"),
        (np.array(["2024-01-02"], "datetime64[ns]"), "has no zone"),
        (pd.Series([pd.Timestamp("2024-01-02")]), "has no zone"),
    ],
)
def test_what_to_write_instead(value: Any, advice: str) -> None:
    with adalog.connect(":memory:") as db:
        for ask in (lambda: db.transact([{"n/x": value}]), lambda: db.q("[:find ?x :in $ ?x]", value)):
            with pytest.raises(adalog.Error, match=advice):
                ask()
