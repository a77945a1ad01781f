"""Durations in a database: declared, undeclared, found, ordered, counted and added."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from adalog.executor.cache.codec import decode, encode, entry_of
from adalog.schema.writing.encoding import Encoding
from adalog.schema.writing.encoding import encode as in_json
from adalog.store.backup.check import check_data
from adalog.store.database import Database

TASKS = """[{:db/id 1 :task/takes #duration "P1M"} {:db/id 2 :task/takes #duration "P31D"}
 {:db/id 3 :task/takes #duration "PT90M"} {:db/id 4 :task/takes #duration "-PT1H30M"}
 {:db/id 5 :task/takes #duration "PT1H30M"}]"""
DECLARED = "[{:db/ident :task/takes :db/valueType :db.type/duration :db/cardinality :db.cardinality/one}]"


@pytest.fixture(params=[True, False])
def tasks(db, request):
    if request.param:
        db.tx(DECLARED)
    db.tx(TASKS)
    return db


def test_the_type_has_an_ident(tasks):
    found = tasks.q("[:find ?n . :where [?a :db/ident :task/takes] [?a :db/valueType ?t] [?t :db/ident ?n]]")
    assert found == ":db.type/duration"
    tasks.tx("[{:db/ident :other :db/valueType :db.type/duration}]")


def test_order_and_equality(tasks):
    assert tasks.q('[:find [?e ...] :where [?e :task/takes #duration "PT5400S"]]') == "#{3 5}"
    assert tasks.q("[:find ?e ?d :where [?e :task/takes ?d] :order-by [?d :desc]]") == (
        '[[1 #duration "P1M"] [2 #duration "P31D"] [3 #duration "PT1H30M"] [5 #duration "PT1H30M"] '
        '[4 #duration "-PT1H30M"]]'
    )
    assert tasks.q('[:find [?e ...] :where [?e :task/takes ?d] [(< ?d #duration "P30D")]]') == "#{3 4 5}"
    assert tasks.q("[:find ?a . :where [1 :task/takes ?d] [2 :task/takes ?m] [(< ?m ?d) ?a]]") == "true"


def test_aggregates(tasks):
    found = tasks.q("[:find (min ?d) (max ?d) (count ?d) (count-distinct ?d) :with ?e :where [?e :task/takes ?d]]")
    assert found == '#{[#duration "-PT1H30M" #duration "P1M" 5 4]}'


def test_functions(tasks):
    def of(call):
        return tasks.q(f"[:find ?x . :where [1 :task/takes ?d] [({call}) ?x]]")

    assert of('+ #inst "2023-01-31" ?d') == '#inst "2023-02-28T00:00:00.000-00:00"'
    assert of('- #inst "2024-03-31" ?d') == '#inst "2024-02-29T00:00:00.000-00:00"'
    assert of('- #inst "2024-03-31" #inst "2024-03-30"') == "86400000"
    assert of('date-add #inst "2024-03-30T01:30:00Z" #duration "P1D" "Europe/Berlin"') == (
        '#inst "2024-03-31T01:30:00.000-00:00"'
    )
    assert of("- ?d") == '#duration "-P1M"'
    assert of("* 2 ?d") == '#duration "P2M"'
    assert of("str ?d") == '"P1M"'
    assert of("duration? ?d") == "true"
    tasks.refuses("QUERY_INVALID", '[:find ?x :where [1 :task/takes ?d] ‸[(date-add #inst "2024" ?d "Mars") ?x]]')


def test_it_is_kept(tasks):
    before = repr(tasks.q("[:find ?e ?d :where [?e :task/takes ?d]]"))
    tasks.database.compact()
    assert tasks.q("[:find ?e ?d :where [?e :task/takes ?d]]") == before


def test_what_is_built_in_is_not_counted(db):
    db.tx("[{:db/ident :a :db/valueType :db.type/string}]")
    before = db.database.snapshot().datom_count
    db.tx("[{:db/ident :b :db/valueType :db.type/duration}]")
    assert db.database.snapshot().datom_count - before == before


def test_no_other_entity_takes_its_ident(db):
    db.tx_refuses("TX_INVALID", "[{:db/id 7 :db/ident :db.type/duration}]", says="built in")


def test_answers_travel(tasks):
    result = tasks.run("[:find ?d :where [?e :task/takes ?d]]")
    assert [column.type for column in result.columns] == ["duration"]
    key = bytes(32)
    cached = decode(key, encode(key, entry_of(result)))
    assert cached.columns[0].values() == result.column(0)
    assert result.to_arrow().column(0).type == pa.string()
    made = tasks.run("[:find ?x :where [?e :task/takes ?d] [(+ ?d ?d) ?x]]")
    assert sorted(made.to_arrow().column(0).to_pylist()) == ["-PT3H", "P2M", "P62D", "PT3H"]
    assert in_json(result.column(0)[0], Encoding.TAGGED) == {"#duration": str(result.column(0)[0])}


def test_a_folder_is_sound_and_is_opened_again(tmp_path: Path) -> None:
    for folded in (False, True):
        with Database.open(str(tmp_path / "data")) as database:
            if not folded:
                database.transact(TASKS)
            else:
                database.compact()
        report = check_data(str(tmp_path / "data"))
        assert not report.findings
