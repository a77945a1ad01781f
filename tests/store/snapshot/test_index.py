"""Raw datoms in the order of each index."""

from __future__ import annotations

from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword, sort_key
from adalog.store.database import Database
from adalog.store.snapshot.index import datom_spans
from adalog.store.values.attribute import TX_BASE

NAME, AGE, KNOWS = Keyword("name"), Keyword("age"), Keyword("knows")


@pytest.fixture
def database() -> Database:
    opened = Database.open(":memory:")
    opened.transact(
        "[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one"
        "  :db/unique :db.unique/identity}"
        " {:db/ident :age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}"
        " {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"
    )
    opened.transact('[{:db/id 1 :name "c" :age 30 :knows [3 2]} {:db/id 2 :name "b" :age 20} {:db/id 3 :name "a"}]')
    opened.transact("[[:db/add 1 :age 31] [:db/add 2 :knows 3]]")
    return opened


def rows(database: Database, index: str, *components: object, history: bool = False) -> list[tuple[Any, ...]]:
    snapshot = database.at(history=history)
    return [(d.e, d.a, d.v, d.t, d.added) for d in snapshot.datoms(index, components)]


def test_orders(database: Database) -> None:
    ids = {each.ident: each.id for each in database.snapshot().attributes()}
    for index in ("EAVT", "AEVT", "AVET", "VAET"):
        found = rows(database, index, history=True)
        keys = [[{"E": e, "A": ids[a], "V": sort_key(v), "T": t}[p] for p in index] for e, a, v, t, _ in found]
        assert keys == sorted(keys)
        assert len(found) == len(set(found))
    everything = set(rows(database, "EAVT"))
    assert everything == set(rows(database, "AEVT")) == set(rows(database, "AVET"))
    refs = {"db/valueType", "db/cardinality", "db/unique", "knows"}
    assert set(rows(database, "VAET")) == {row for row in everything if row[1].name in refs}


def test_starting_anywhere(database: Database) -> None:
    for index in ("EAVT", "AEVT", "AVET", "VAET"):
        everything = list(database.snapshot().datoms(index))
        for start in range(len(everything) + 2):
            assert list(database.snapshot().datoms(index, (), start)) == everything[start:]


def test_pages_of_many(database: Database) -> None:
    database.transact("[" + " ".join(f"[:db/add {i % 700 + 10} :many/{i % 3} {i}]" for i in range(2000)) + "]")
    database.transact("[{:db/ident :tags :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]")
    database.transact("[" + " ".join(f'[:db/add {i % 2 + 1} :tags "{i}"]' for i in range(3000)) + "]")
    for index in ("EAVT", "AEVT", "AVET"):
        everything = list(database.snapshot().datoms(index))
        assert len(set(everything)) == len(everything) > 5000
        for start in (1, 1023, 1024, 1025, 3000, 4999):
            assert list(database.snapshot().datoms(index, (), start)) == everything[start:]
    tags = [datom.v for datom in database.snapshot().datoms("AEVT", (Keyword("tags"), 1))]
    assert tags == sorted(tags)


def test_components(database: Database) -> None:
    assert rows(database, "EAVT", 1, AGE) == [(1, AGE, 31, 3, True)]
    assert rows(database, "EAVT", 1, AGE, history=True) == [
        (1, AGE, 30, 2, True),
        (1, AGE, 30, 3, False),
        (1, AGE, 31, 3, True),
    ]
    assert rows(database, "EAVT", (NAME, "c"), NAME) == [(1, NAME, "c", 2, True)]
    assert [row[2] for row in rows(database, "AVET", NAME)] == ["a", "b", "c"]
    assert rows(database, "AVET", NAME, "b", 2) == [(2, NAME, "b", 2, True)]
    assert rows(database, "AVET", NAME, "z") == []
    assert [row[0] for row in rows(database, "VAET", 3)] == [1, 2]
    assert [row[0] for row in rows(database, "VAET", 3, KNOWS, 2)] == [2]
    assert rows(database, "AEVT", KNOWS, 1, 3, TX_BASE + 2) == [(1, KNOWS, 3, 2, True)]
    assert rows(database, "AEVT", KNOWS, 1, 3, 9) == []
    assert rows(database, "EAVT", 99) == []


@pytest.mark.parametrize(
    ("index", "components", "code"),
    [
        ("EAVX", (), Code.ARG_INVALID),
        ("EAVT", (1, 2, 3, 4, 5), Code.ARG_INVALID),
        ("AEVT", (Keyword("none"),), Code.UNKNOWN_ATTRIBUTE),
        ("EAVT", ((AGE, 20),), Code.ARG_INVALID),
        ("EAVT", ("a",), Code.ARG_INVALID),
        ("AEVT", ("a",), Code.ARG_INVALID),
        ("AEVT", (NAME, 1, "c", "x"), Code.ARG_INVALID),
    ],
)
def test_refusals(database: Database, index: str, components: tuple[object, ...], code: Code) -> None:
    with pytest.raises(AdalogError) as refused:
        rows(database, index, *components)
    assert refused.value.code is code


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("index", ["EAVT", "AEVT", "AVET", "VAET"])
def test_spans_are_the_datoms_that_are_looked_at(database: Database, index: str, history: bool) -> None:
    database.transact("[" + " ".join(f"[:db/add {i % 9 + 4} :knows {i % 31 + 1}]" for i in range(300)) + "]")
    database.transact("[" + " ".join(f"[:db/retract {i % 9 + 4} :knows {i % 31 + 1}]" for i in range(50)) + "]")
    snapshot = database.at(history=history)
    everything = list(snapshot.datoms(index))
    for start in (0, 1, 5, 37, len(everything) - 3, len(everything) + 1):
        for most in (1, 2, 10, 100, len(everything)):
            found = [datom for span in datom_spans(snapshot, index, (), start, most) for datom in span.datoms()]
            assert found == everything[start : start + most], (start, most)
    span = next(datom_spans(snapshot, index, (), 2, 5))
    assert span.cut(0, 1).datoms() == everything[2:3]


def test_a_page_of_entities_costs_what_it_shows(database: Database) -> None:
    database.transact("[" + " ".join(f"[:db/add {i + 10} :n/value {i}]" for i in range(20_000)) + "]")
    looked = []

    def decode(codes: Any) -> list[Any]:
        looked.append(len(codes))
        return decode_many(codes)

    snapshot = database.snapshot()
    decode_many = snapshot.codes.decode_many
    snapshot.codes.decode_many = decode  # type: ignore[method-assign]
    [span] = datom_spans(snapshot, "EAVT", (), 15_000, 10)
    assert len(span.datoms()) == 10
    assert sum(looked) <= 20


def test_spans_stop_when_they_are_told_to(database: Database) -> None:
    database.transact("[" + " ".join(f"[:db/add {i + 10} :n/value {i}]" for i in range(20_000)) + "]")
    steps = 0

    def check() -> None:
        nonlocal steps
        steps += 1
        if steps == 12:
            raise AdalogError(Code.CANCELLED, "enough")

    spans = datom_spans(database.snapshot(), "AVET", (Keyword("n/value"),), 0, None, check)
    assert len(next(spans)) == 1024
    with pytest.raises(AdalogError, match="enough"):
        list(spans)


def test_transactions_are_told_one_at_a_time(database: Database) -> None:
    for number in range(40):
        database.transact(f"[[:db/add 1 :age {number}]]")
    told = database.transactions(2, 1_000, 30)
    assert next(told).t == 2
    assert [report.t for report in told] == list(range(3, 32))
    assert [report.t for report in database.transactions(40, 1_000, 30)] == [40, 41, 42, 43]
