"""Durations in a database: declared, undeclared, found, ordered, counted and added."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from dateutil.relativedelta import relativedelta

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.codec import decode, encode, entry_of
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.recomputed import RecomputedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view_choice import live_of, view_of
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from adalog.schema.writing.encoding import Encoding
from adalog.schema.writing.encoding import encode as in_json
from adalog.store.backup.check import check_data
from adalog.store.database import Database
from tests.language.test_live_traps import Live
from tests.spark.spark_in_process import spark_in_process

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


def test_sums(tasks):
    total = "[:find (sum ?d) . :with ?e :where [?e :task/takes ?d]]"
    assert tasks.q(total) == '#duration "P1M31DT1H30M"'
    assert tasks.q("[:find (sum ?d) . :where [?e :task/takes ?d]]") == '#duration "P1M31D"'
    live = Live(tasks, "[:find ?m (sum ?d) :with ?e :where [?e :task/takes ?d] [(mod ?e 2) ?m]]")
    assert live.tx('[[:db/add 2 :task/takes #duration "P1D"] [:db/add 7 :task/takes #duration "-P3M"]]') == (
        '+[0 #duration "P1DT-1H-30M"] +[1 #duration "P-2MT3H"]'
        ' -[0 #duration "P31DT-1H-30M"] -[1 #duration "P1MT3H"]'
    )
    tasks.refuses("QUERY_INVALID", "[:find ‸(avg ?d) :where [?e :task/takes ?d]]", says="avg takes numbers, and")
    tasks.refuses(
        "QUERY_INVALID",
        "[:find ‸(sum ?x) :where (or [_ :task/takes ?x] [(ground 1) ?x])]",
        says="sum takes numbers, or durations alone",
    )
    most = '#duration "PT9223372036854775.807S"'
    tasks.tx(f"[[:db/add 1 :task/takes {most}]]")
    tasks.refuses("QUERY_INVALID", "[:find ‸(sum ?d) :with ?e :where [?e :task/takes ?d]]", says="at most 2^63")


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
    assert result.to_arrow().column(0).type == pa.dictionary(pa.int32(), pa.string())
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


FLOWS = """[{:db/ident :from :db/valueType :db.type/ref} {:db/ident :to :db/valueType :db.type/ref}
 {:db/ident :start :db/valueType :db.type/instant :db/cardinality :db.cardinality/many}
 {:db/ident :takes :db/valueType :db.type/duration} {:db/ident :length :db/valueType :db.type/long}]"""
DUE = """[:find ?n ?t :where (due ?n ?t) :rules [[(due ?n (min ?t)) [?n :start ?t]]
 [(due ?n (min ?t)) (due ?m ?s) [?e :from ?m] [?e :to ?n] [?e :takes ?d] [(+ ?s ?d) ?t]]]]"""
FAR = """[:find ?n ?t :where (far ?n ?t) :rules [[(far ?n (min ?t)) [?n :start _] [(ground 0) ?t]]
 [(far ?n (min ?t)) (far ?m ?s) (edge ?m ?n ?d) [(+ ?s ?d) ?t]]
 [(far ?n (min ?t)) (far ?m ?s) (far ?n ?u) [(+ ?s ?u) ?t]]
 [(edge ?m ?n ?d) [?e :from ?m] [?e :to ?n] [?e :length ?d]]]]"""


def naive(starts, edges):
    """By node the earliest moment, each found from the best ones alone, until nothing changes."""
    best = dict(starts)
    while True:
        found = dict(starts)
        for a, b, months in edges:
            if a in best:
                moment = best[a] + relativedelta(months=months)
                found[b] = min(found.get(b, moment), moment)
        if found == best:
            return set(best.items())
        best = found


def test_a_recursion_that_adds_months_is_asked_again(db):
    """30 January, 10:00, and 31 January, 09:00, change their order a month later."""
    db.tx(
        FLOWS,
        """[{:from 1 :to 2 :takes #duration "P1M" :length 5} {:from 2 :to 3 :takes #duration "P1M" :length 5}
        {:db/id 1 :start #inst "2023-01-31T09:00:00Z"}]""",
    )
    edges = [(1, 2, 1), (2, 3, 1)]
    request = QueryRequest(DUE)
    question = db.pool.question(request)
    view = view_of(question, db.pool.engine)
    assert isinstance(view, RecomputedView)
    assert "may add durations" in live_of(question)["reason"]
    view.add(0, UndatedQuestion.of(question), db.database.snapshot(), Cancel())
    rows, at = set(map(tuple, db.pool.run(request).rows())), db.database.snapshot()
    first, second = (datetime(2023, 1, day, hour, tzinfo=UTC) for day, hour in ((31, 9), (30, 10)))
    for text, start in (
        ('[[:db/add 1 :start #inst "2023-01-30T10:00:00Z"]]', second),
        ('[[:db/retract 1 :start #inst "2023-01-30T10:00:00Z"]]', first),
    ):
        db.tx(text)
        before, at = at, db.database.snapshot()
        change = view.step(Moments(before, at), Cancel())[0]
        rows = (rows - set(map(tuple, change.removed.rows()))) | set(map(tuple, change.added.rows()))
        assert rows == naive({1: start}, edges)
    # A recursion that adds numbers alone is maintained.
    assert live_of(db.pool.question(QueryRequest(FAR))) == {"how": "maintained", "reason": None}
    text = DUE.replace("[?e :takes ?d] [(+ ?s ?d) ?t]", "[?e :takes _] [(max ?s ?s) ?t]")
    assert live_of(db.pool.question(QueryRequest(text)))["how"] == "maintained"


def test_changes_of_an_answer(tasks):
    live = Live(tasks, '[:find ?e ?t :where [?e :task/takes ?d] [(+ #inst "2024-01-31" ?d) ?t]]')
    assert live.tx('[[:db/add 2 :task/takes #duration "P1M1D"]]') == (
        '+[2 #inst "2024-03-01T00:00:00.000-00:00"] -[2 #inst "2024-03-02T00:00:00.000-00:00"]'
    )
    query = "[:find (max ?d) (count-distinct ?d) :in $ ?least :where [?e :task/takes ?d] [(< ?least ?d)]]"
    longest = Live(tasks, query, json=("PT1H",))
    assert (
        longest.tx('[[:db/retract 2 :task/takes #duration "P1M1D"]]')
        == '+[#duration "P1M" 2] -[#duration "P1M1D" 3]'
    )


def test_an_argument_is_read_as_the_attribute_has_it(tasks):
    given = [GivenArgument("PT90M", json=True)]
    found = tasks.pool.run(QueryRequest("[:find ?e :in $ ?d :where [?e :task/takes ?d]]", given))
    assert sorted(found.rows()) == [(3,), (5,)]


def test_tasks_in_other_processes_say_the_same(tasks, monkeypatch):
    tasks.tx("[" + " ".join(f'[:db/add {n} :task/takes #duration "P{n % 7}MT{n}S"]' for n in range(10, 400)) + "]")
    with spark_in_process(monkeypatch) as engine:
        pool = Pool(tasks.database, PoolSettings(threads=2), spark=engine)
        try:
            for text in (
                '[:find ?e ?t :where [?e :task/takes ?d] [(+ #inst "2024-01-31" ?d) ?t]]',
                "[:find ?m (min ?d) (max ?d) (count ?e) :where [?e :task/takes ?d] [(mod ?e 5) ?m]]",
                "[:find ?m (sum ?d) :with ?e :where [?e :task/takes ?d] [(mod ?e 5) ?m]]",
                '[:find ?e ?x :where [?e :task/takes ?d] [(< #duration "P3M" ?d)] [(- (* ?d 3)) ?x]]',
            ):
                wanted = pool.run(QueryRequest(text, engine="LOCAL"))
                found = pool.run(QueryRequest(text, engine="SPARK"))
                assert found.engine == "SPARK"
                assert sorted(found.rows()) == sorted(wanted.rows())
                assert len(wanted.rows()) > 4
        finally:
            pool.close()
