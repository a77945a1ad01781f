"""Values of every type there and back: as arguments, in transactions, in rows and in Arrow, here and over HTTP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adalog
from adalog import Duration, Keyword, Symbol, edn
from tests.gateway.support import gateway, served

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,6}(/[a-z][a-z0-9-]{0,6})?", fullmatch=True)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4)
INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "long": LONGS,
    "bigint": st.integers(),
    "double": st.floats(allow_nan=False),
    "float": st.floats(width=32, allow_nan=False),
    "bigdec": DECIMALS,
    "string": TEXTS,
    "keyword": NAMES.map(Keyword),
    "symbol": NAMES.map(Symbol),
    "boolean": st.booleans(),
    "instant": INSTANTS,
    "uuid": st.uuids(),
    "bytes": st.binary(max_size=20),
    "duration": st.builds(Duration, st.integers(-99, 99), st.integers(-99, 99), st.integers(-99, 99)),
}
# What an Arrow column has of these is the value itself.
EXACT = {"long", "double", "string", "keyword", "boolean", "instant"}
ANY = st.one_of(*TYPES.values())
NESTED = st.recursive(ANY, lambda within: st.lists(within, max_size=3).map(tuple), max_leaves=5)
SCHEMA = " ".join(
    f"{{:db/ident :v/{name} :db/valueType :db.type/{name} :db/cardinality :db.cardinality/many}}" for name in TYPES
)


@pytest.fixture(scope="module", params=["memory", "http"])
def db(request: pytest.FixtureRequest) -> Iterator[adalog.Connection]:
    if request.param == "memory":
        with adalog.connect(":memory:") as opened:
            opened.transact(f"[{SCHEMA}]")
            yield opened
        return
    with gateway(None, f"[{SCHEMA}]") as made, served(made.app) as url, adalog.connect(url) as opened:
        yield opened


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_a_type(db: adalog.Connection, name: str, data: st.DataObject) -> None:
    value = data.draw(TYPES[name])
    e = db.transact("[[:db/add ?e :v/any ?v]]".replace("any", name), args={"e": "new", "v": value}).tempids["new"]
    assert db.transact([["db/add", e, f"v/{name}", value]]).datoms[1:] == []
    result = db.q(f"[:find ?v :in $ ?e :where [?e :v/{name} ?v]]", e)
    assert result.rows == [(value,)]
    assert isinstance(result.rows[0][0], type(value))
    assert db.pull(f"[:v/{name}]", e) == {f":v/{name}": [value]}
    [datom] = db.datoms("eavt", e)
    assert datom.v == value
    [shown] = result.arrow()["?v"].to_pylist()
    assert shown == (value if name in EXACT else shown)
    assert pa.table(result).equals(result.arrow())


@given(values=st.lists(ANY, min_size=1, max_size=6))
def test_columns_of_several_types(db: adalog.Connection, values: list[Any]) -> None:
    numbered = list(enumerate(values))
    result = db.q("[:find ?n ?v :in $ [[?n ?v]] :order-by [?n]]", numbered)
    assert result.rows == numbered
    assert [type(row[1]) for row in result] == [type(db.q("[:find ?v . :in $ ?v]", each).value) for each in values]


@given(value=NESTED)
def test_edn(value: Any) -> None:
    assert edn.read(edn.write(value)) == value


@given(value=NESTED)
def test_arguments(db: adalog.Connection, value: Any) -> None:
    assert db.q("[:find ?x . :in $ ?x]", value).value == value


def test_values_that_python_takes_for_equal(db: adalog.Connection) -> None:
    result = db.q("[:find ?x :in $ [?x ...]]", [1, 1.0, True, Decimal(1), 2**70, "1", Keyword("1a")])
    assert sorted(map(repr, (row[0] for row in result))) == sorted(
        map(repr, (1, 1.0, True, Decimal(1), 2**70, "1", Keyword("1a")))
    )
    [nan] = db.q("[:find ?x :in $ ?x]", math.nan).rows[0]
    assert math.isnan(nan)
