"""What is refused leaves nothing behind: no value in a dictionary, in memory or on disk, and no attribute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.values.attribute import FIRST_OWN_IDENT

SCHEMA = """
[{:db/ident :name :db/valueType :db.type/string}
 {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/value}
 {:db/ident :n :db/valueType :db.type/long :db.attr/preds pos?}
 {:db/ident :x :db/valueType :db.type/string}
 {:db/ident :y :db/valueType :db.type/string}
 {:db/ident :x+y :db/valueType :db.type/tuple :db/tupleAttrs [:x :y] :db/unique :db.unique/value}
 {:db/ident :is/named :db.entity/attrs [:name]}
 {:db/ident :says/no :db/fn "[:find ?v . :in $ ?v :where [(= ?v \\"no\\")]]"}
 {:db/ident :checked :db/valueType :db.type/string :db.attr/preds says/no}
 {:db/id 1 :name "Ada" :email "ada@example.org" :x "x" :y "y"}]
"""
LONG = "w" * 20_000
REFUSED = [
    ('[[:db/add 1 :name "{}"] [:db/add 1', Code.EDN_SYNTAX),
    ('[[:db/add 1 :name "{}"] [:db/add 1 :n "one"]]', Code.TX_INVALID),
    ('[[:db/add 1 :name "{}"] [:no/such 1]]', Code.TX_INVALID),
    ('[[:db/add 1 :x "{}"] [:db/cas 1 :name "{}" "{} too"]]', Code.CAS_FAILED),
    ('[[:db/add 1 :x "{}"] [:db/add 2 :email "ada@example.org"]]', Code.UNIQUE_CONFLICT),
    ('[[:db/add 2 :x "{}"] [:db/add 2 :y "b"] [:db/add 3 :x "{}"] [:db/add 3 :y "b"]]', Code.UNIQUE_CONFLICT),
    ('[[:db/add 1 :name "{}"] [:db/add 1 :name "{} too"]]', Code.TX_CONFLICT),
    ('[[:db/add 1 :name "{}"] [:db/add 1 :n -1]]', Code.TX_INVALID),
    ('[[:db/add 1 :checked "{}"]]', Code.TX_INVALID),
    ('[{{:db/id 5 :x "{}" :db/ensure :is/named}}]', Code.TX_INVALID),
    ('[[:db/add 1 :new/attribute "{}"] [:db/add 1 :new/attribute 5]]', Code.TX_INVALID),
    ('[{{:db/ident :{} :db/valueType :db.type/string}} [:db/add 1 :n "one"]]', Code.TX_INVALID),
    ('[[:db/add [:email "{}"] :n 1]]', Code.TX_INVALID),
]


def sizes(database: Database) -> dict[int, tuple[int, int]]:
    """How many keys each dictionary has, and the bytes of all."""
    found = {}
    for tag, dictionary in database.snapshot().codes.dictionaries().items():
        blocks, young = dictionary.parts()
        found[tag] = (len(dictionary), sum(len(b.arrays.heap) for b in blocks) + sum(map(len, young)))
    return found


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened, closing(Pool(opened)):
        opened.transact(SCHEMA)
        yield opened


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_a_refused_transaction_interns_nothing(database: Database, text: str, code: Code) -> None:
    before = sizes(database)
    for number in range(3):
        with pytest.raises(AdalogError) as refused:
            database.transact(text.format(*[f"{LONG}{number}"] * text.count("{}")))
        assert refused.value.code is code
    assert sizes(database) == before
    assert database.snapshot().t == 1


def test_a_transaction_that_expects_another_basis_interns_nothing(database: Database) -> None:
    before = sizes(database)
    with pytest.raises(AdalogError) as refused:
        database.transact(f'[[:db/add 1 :name "{LONG}"]]', expected_basis_t=0)
    assert refused.value.code is Code.BASIS_CONFLICT
    assert sizes(database) == before


def test_with_interns_nothing(database: Database) -> None:
    before = sizes(database)
    after, _ = database.speculate(
        database.snapshot(), f'[[:db/add 1 :name "{LONG}"] [:db/add 2 :new/one "{LONG}2"]]'
    )
    name = after.attribute(Keyword("name"))
    assert name is not None
    assert after.codes.decode_many(after.ev(name).row(1)) == [LONG]
    assert sizes(database) == before


def test_a_query_interns_nothing(database: Database) -> None:
    before = sizes(database)
    queries: tuple[tuple[str, list[Any]], ...] = (
        (f'[:find ?e :where [?e :name "{LONG}"]]', []),
        (f'[:find ?s :in ?n :where [(str ?n "{LONG}") ?s]]', [7]),
        ("[:find ?x ?e :in $ ?x :where [?e :n]]", [LONG]),
    )
    with closing(Pool(database)) as pool:
        for query, args in queries:
            pool.run(QueryRequest(query, args)).rows()
    assert sizes(database) == before


def test_a_refused_bulk_load_interns_nothing(database: Database) -> None:
    before = sizes(database)
    columns: dict[Keyword, Any] = {
        Keyword("name"): ([7, 8], ["seven", LONG]),
        Keyword("email"): ([7, 8], ["new", "ada@example.org"]),
    }
    with pytest.raises(AdalogError) as refused:
        database.bulk_load('[[:db/add 5 :x "forms too"]]', columns)
    assert refused.value.code is Code.UNIQUE_CONFLICT
    assert sizes(database) == before


def test_only_what_is_asserted_or_retracted_is_interned(database: Database) -> None:
    """Of an accepted transaction, too: values it only names are not kept, and the others keep their codes."""
    before = sizes(database)
    report = database.transact(
        f'[[:db/retract 1 :name "{LONG}1"] [:db/add 1 :x "new x"] [:db/retract 1 :x "{LONG}2"]'
        f' [:db/add 2 :name "b"] [:db.fn/default 1 :name "{LONG}3"] [:db/add 3 :y "new y"]]'
    )
    assert {datom.v for datom in report.datoms[1:] if datom.added} == {
        *("new x", "b", "new y"),
        *(("new x", "y"), (None, "new y")),
    }
    snapshot = database.snapshot()
    told = {(datom.e, str(datom.a)): datom.v for datom in snapshot.datoms("EAVT") if datom.e < 10}
    assert told[1, ":x"] == "new x"
    assert told[1, ":name"] == "Ada"
    assert told[2, ":name"] == "b"
    assert told[3, ":x+y"] == (None, "new y")
    grown = {tag: size[0] - before[tag][0] for tag, size in sizes(database).items() if size != before[tag]}
    assert sum(grown.values()) == len(["new x", "b", "new y", ("new x", "y"), (None, "new y")])
    for value in ("new x", "b", "new y", "Ada", ("new x", "y")):
        code = snapshot.codes.lookup(value)
        assert code is not None
        assert snapshot.codes.decode(code) == value


def test_refused_and_accepted_ones_of_one_group(database: Database) -> None:
    futures = []
    for number in range(60):
        bad = ' [:db/add 1 :n "one"]' if number % 3 == 0 else ""
        futures.append(
            database.submit(f'[[:db/add {10 + number} :name "name {number}"] [:db/add 7 :k{number} 1]{bad}]')
        )
    refused = [number for number, future in enumerate(futures) if future.exception() is not None]
    assert refused == list(range(0, 60, 3))
    snapshot = database.snapshot()
    name = snapshot.attribute(Keyword("name"))
    assert name is not None
    for number in range(60):
        row = snapshot.codes.decode_many(snapshot.ev(name).row(10 + number))
        assert row == ([] if number in refused else [f"name {number}"])
        assert (snapshot.codes.lookup(f"name {number}") is None) == (number in refused)
        assert (snapshot.attribute(Keyword(f"k{number}")) is None) == (number in refused)
    assert snapshot.schema.get(FIRST_OWN_IDENT) is not None


def test_nothing_of_refused_ones_is_on_disk(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact(SCHEMA.replace(":db.attr/preds says/no", ""))
        for number in range(10):
            with pytest.raises(AdalogError):
                database.transact(f'[[:db/add 1 :name "{LONG}{number}"] [:db/add 1 :n "one"]]')
        database.compact()
        before = sizes(database)
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 200_000
    assert not any(LONG.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())
    with Database.open(str(folder)) as database:
        assert sizes(database) == before
        assert database.transact('[[:db/add 1 :name "Grace"]]').t == 2
        assert database.snapshot().codes.lookup("Grace") is not None
