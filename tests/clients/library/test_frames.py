"""Answers in the libraries that take columns: the values of each type are there, in process and over HTTP."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adalog
from adalog import Keyword, edn
from tests.clients.library.places import KINDS
from tests.clients.library.test_values import TYPES
from tests.gateway.support import gateway, served

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROWS = "[:find ?n ?v :in $ [[?n ?v]] :order-by [?n]]"
# What a column of Arrow has where the value itself is not it.
SHOWN: dict[str, Callable[[Any], Any]] = {
    "bigint": str,
    "symbol": str,
    "uuid": str,
    "duration": str,
    "keyword": str,
}
VALUES = {
    **{name: kind for name, kind in TYPES.items() if name not in ("double", "float", "bigint")},
    "double": st.floats(),
    "float": st.floats(width=32),
    "bigint": st.integers(2**63, 2**70),
}
FRAMES: dict[str, Callable[[adalog.Result], list[Any]]] = {
    "arrow": lambda result: result.arrow()["?v"].to_pylist(),
    "arrow without dictionaries": lambda result: result.arrow(dictionaries=False)["?v"].to_pylist(),
    "a stream": lambda result: pa.table(result)["?v"].to_pylist(),
    "polars": lambda result: result.polars()["?v"].to_list(),
    "polars of a stream": lambda result: pl.DataFrame(result)["?v"].to_list(),
    "pandas": lambda result: [None if each is pd.NA or each is pd.NaT else each for each in result.pandas()["?v"]],
    "duckdb": lambda result: [
        row[1] for row in sorted(duckdb.from_arrow(result).fetchall(), key=lambda row: row[0])
    ],
}


@pytest.fixture(scope="module", params=["memory", "http"])
def db(request: pytest.FixtureRequest) -> Iterator[adalog.Connection]:
    if request.param == "memory":
        with adalog.connect(":memory:") as opened:
            yield opened
        return
    with gateway() as made, served(made.app) as url, adalog.connect(url) as opened:
        yield opened


def alike(one: Any, other: Any) -> bool:
    """Equal, where the frames have numbers of their own, NaN, and None as NaN."""
    absent = [each is None or (isinstance(each, float) and math.isnan(each)) for each in (one, other)]
    return all(absent) or (not any(absent) and bool(one == other))


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_a_column_in_all_frames(db: adalog.Connection, name: str, data: st.DataObject) -> None:
    some = data.draw(st.lists(VALUES[name], min_size=1, max_size=3))
    nil = data.draw(st.sampled_from([[], [None]]))
    values = data.draw(st.lists(st.sampled_from([*some, *nil]), min_size=1, max_size=8))
    values.append(some[0])
    result = db.q(ROWS, list(enumerate(values)))
    assert all(alike(row[1], value) for row, value in zip(result, values, strict=True))
    shown = SHOWN.get(name, lambda each: each)
    wanted = [None if each is None else shown(each) for each in values]
    for frame, read in FRAMES.items():
        found = read(result)
        assert all(map(alike, found, wanted)), (frame, found, wanted)
        assert len(found) == len(wanted)


@given(values=st.lists(st.one_of(*VALUES.values()), min_size=1, max_size=6))
def test_values_of_several_types_are_edn(db: adalog.Connection, values: list[Any]) -> None:
    values = [1, Keyword("a"), *values]
    result = db.q(ROWS, list(enumerate(values)))
    wanted = [edn.write(each) for each in (row[1] for row in result)]
    for frame, read in FRAMES.items():
        assert read(result) == wanted, frame


def test_types_are_the_frames_own(db: adalog.Connection) -> None:
    result = db.q(
        "[:find ?x ?s ?d ?at ?b :in $ [[?x ?s ?d ?at ?b]]]", [(1, "a", 0.5, NOON, True), (2, "a", 1.5, NOON, False)]
    )
    assert dict(result.polars().schema) == {
        "?x": pl.Int64(),
        "?s": pl.String(),
        "?d": pl.Float64(),
        "?at": pl.Datetime("ms", "UTC"),
        "?b": pl.Boolean(),
    }
    assert list(map(str, result.pandas().dtypes)) == ["int64", "str", "float64", "datetime64[ms, UTC]", "bool"]
    assert result.arrow().schema.field("?s").type == pa.dictionary(pa.int32(), pa.string())
    assert result.arrow(dictionaries=False).schema.field("?s").type == pa.string()


def test_a_dictionary_has_only_what_the_rows_have(db: adalog.Connection) -> None:
    db.transact([{"d/x": number, "d/s": f"s{number % 5}"} for number in range(50)])
    result = db.q("[:find ?x ?s :where [?e :d/x ?x] [?e :d/s ?s] [(< ?x 12)]]")
    [chunk] = result.arrow()["?s"].chunks
    assert sorted(chunk.dictionary.to_pylist()) == ["s0", "s1", "s2", "s3", "s4"]
    [chunk] = db.q('[:find ?x ?s :where [?e :d/x ?x] [?e :d/s ?s] [(= ?s "s1")]]').arrow()["?s"].chunks
    assert chunk.dictionary.to_pylist() == ["s1"]


def test_longs_stay_exact_beside_nil(db: adalog.Connection) -> None:
    result = db.q(ROWS, [(1, 2**62 + 1), (2, None)])
    assert result.pandas()["?v"].tolist() == [2**62 + 1, pd.NA]


# Of each type a value, and what a column of Arrow has of it.
STORED: dict[str, tuple[Any, Any]] = {
    "ref": (7, 7),
    "long": (2**62 + 1, 2**62 + 1),
    "bigint": (2**70, str(2**70)),
    "double": (0.1, 0.1),
    "float": (0.5, 0.5),
    "bigdec": (Decimal("1.50"), Decimal("1.50")),
    "string": ("ä", "ä"),
    "keyword": (Keyword("a/b"), ":a/b"),
    "symbol": (adalog.Symbol("a"), "a"),
    "uri": ("https://example.org", "https://example.org"),
    "boolean": (True, True),
    "instant": (NOON, NOON),
    "uuid": (UUID(int=7), str(UUID(int=7))),
    "bytes": (b"\0x", b"\0x"),
    "duration": (adalog.Duration(1, 2, 3), str(adalog.Duration(1, 2, 3))),
    "tuple": ((1, "b"), '[1 "b"]'),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_stored_values_of_every_type(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    declared = " ".join(
        f"{{:db/ident :v/{name} :db/valueType :db.type/{name}"
        + (" :db/tupleTypes [:db.type/long :db.type/string]}" if name == "tuple" else "}")
        for name in STORED
    )
    clauses = " ".join(f"[?e :v/{name} ?{name}]" for name in STORED)
    query = f"[:find {' '.join(f'?{name}' for name in STORED)} :where {clauses}]"
    wanted = [shown for _, shown in STORED.values()]
    with KINDS[kind](tmp_path, lambda: request.getfixturevalue("postgres")) as db:
        db.transact(f"[{declared}]")
        db.transact([{"db/id": 7, **{f"v/{name}": value for name, (value, _) in STORED.items()}}])
        result = db.q(query)
        assert result.rows == [tuple(value for value, _ in STORED.values())]
        for frame in (result.arrow(), result.arrow(dictionaries=False), pa.table(result)):
            assert [column.to_pylist() for column in frame.columns] == [[each] for each in wanted]
        assert list(result.polars().row(0)) == list(pl.DataFrame(result).row(0)) == wanted
        assert result.pandas().iloc[0].tolist() == wanted
        assert list(duckdb.from_arrow(result).fetchall()[0]) == wanted


def test_columns_have_the_names_of_keys(db: adalog.Connection) -> None:
    result = db.q("[:find ?x ?s :keys number text :in $ [[?x ?s]]]", [(1, "a")])
    assert result.polars().to_dicts() == result.pandas().to_dict("records") == result.value
    assert pl.DataFrame(result).to_dicts() == result.value == [{"number": 1, "text": "a"}]
    assert duckdb.from_arrow(result).columns == ["number", "text"]


def test_no_rows(db: adalog.Connection) -> None:
    result = db.q("[:find ?x ?s :in $ [[?x ?s]]]", [])
    assert (
        pa.table(result).num_rows == len(result.pandas()) == len(result.polars()) == len(pl.DataFrame(result)) == 0
    )
    assert result.polars().columns == ["?x", "?s"] == list(result.pandas().columns)
    assert duckdb.from_arrow(result).fetchall() == result.rows == []


def test_pulled_maps_are_edn(db: adalog.Connection) -> None:
    db.transact("[{:db/ident :p/knows :db/valueType :db.type/ref :db/isComponent true}]")
    db.transact([{"p/name": "Ada", "p/knows": {"p/name": "Bob", "p/born": Decimal("1.5")}}])
    result = db.q('[:find (pull ?e [:p/name {:p/knows [:p/born]}]) :where [?e :p/name "Ada"]]')
    [text] = result.polars().to_series().to_list()
    assert edn.read(text) == {":p/name": "Ada", ":p/knows": {":p/born": Decimal("1.5")}} == result.rows[0][0]
    assert duckdb.from_arrow(result).fetchall() == [(text,)]


def test_a_long_stream_over_http_is_what_there_is_in_process() -> None:
    # Buffers that are sent in several pieces.
    query = "[:find ?a ?b ?s ?d :in $ [?a ...] [?b ...] :where [(str ?a) ?s] [(/ ?b 2.0) ?d] :order-by [?a ?b]]"
    numbers = list(range(400))
    with (
        gateway() as made,
        served(made.app) as url,
        adalog.connect(url) as there,
        adalog.connect(":memory:") as here,
    ):
        found, wanted = there.q(query, numbers, numbers), here.q(query, numbers, numbers)
        assert found.arrow().nbytes > 1 << 21
        assert found.arrow().equals(wanted.arrow(), check_metadata=True)


def test_what_came_over_http_is_what_there_is_in_process() -> None:
    rows = [
        (1, "a", Keyword("a"), 0.5, NOON, Decimal("1.5"), b"x"),
        (2, "b", Keyword("a"), 1.5, NOON, Decimal(2), b""),
    ]
    query = "[:find ?a ?b ?c ?d ?e ?f ?g (if (= ?a 1) ?b 7) :in $ [[?a ?b ?c ?d ?e ?f ?g]] :order-by [?a]]"
    with (
        gateway() as made,
        served(made.app) as url,
        adalog.connect(url) as there,
        adalog.connect(":memory:") as here,
    ):
        assert there.q(query, rows).arrow().equals(here.q(query, rows).arrow(), check_metadata=True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with adalog.connect(":memory:") as db:
        result = db.q("[:find ?x . :in $ ?x]", 1)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {library}"):
        getattr(result, library)()
