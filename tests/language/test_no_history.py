"""`:db/noHistory`: an attribute whose old values are forgotten."""

from __future__ import annotations

import pickle

import pytest

from adalog.store.snapshot.snapshot import Snapshot

SCHEMA = """[{:db/ident :n :db/valueType :db.type/long :db/noHistory true}
             {:db/ident :m :db/valueType :db.type/long}]"""
VALUES = "[:find ?e ?v :where [?e :n ?v]]"
EVENTS = "[:find ?e ?v ?added :where [?e :n ?v _ ?added]]"


@pytest.fixture(params=["young", "folded"])
def seen(db, request):
    db.tx(SCHEMA, "[[:db/add 1 :n 1] [:db/add 2 :n 2] [:db/add 1 :m 1]]")
    db.tx("[[:db/add 1 :n 10] [:db/add 1 :m 10]]", "[[:db/retract 2 :n 2] [:db/add 3 :n 3]]")
    if request.param == "folded":
        db.database.compact()
    return db


def test_history_shows_what_holds(seen):
    assert seen.q(VALUES) == "#{[1 10] [3 3]}"
    assert seen.at(history=True).q(EVENTS) == "#{[1 10 true] [3 3 true]}"
    assert seen.at(history=True).q("[:find ?v ?added :where [1 :m ?v _ ?added]]") == (
        "#{[1 true] [1 false] [10 true]}"
    )


def test_the_past_shows_what_still_holds(seen):
    t = seen.database.snapshot().t
    assert seen.at(t=t - 2).q(VALUES) == "#{}"
    assert seen.at(t=t - 1).q(VALUES) == "#{[1 10]}"
    assert seen.at(t=t - 1, history=True).q(EVENTS) == "#{[1 10 true]}"
    assert seen.at(t=t, since=t - 1).q(VALUES) == "#{[3 3]}"
    assert seen.at(t=t - 2).q("[:find ?v . :where [1 :m ?v]]") == "1"


def test_a_snapshot_that_is_held_does_not_change(seen):
    held = seen.at()
    seen.tx("[[:db/add 1 :n 11]]")
    seen.database.compact()
    assert held.q(VALUES) == "#{[1 10] [3 3]}"
    assert seen.q(VALUES) == "#{[1 11] [3 3]}"


def test_another_process_sees_the_same(seen):
    for basis in ({}, {"t": 3}, {"history": True}, {"t": 3, "history": True}):
        snapshot = seen.database.at(**basis)
        received = Snapshot.from_manifest(pickle.loads(pickle.dumps(snapshot.manifest())))
        assert list(received.datoms("EAVT")) == list(snapshot.datoms("EAVT"))


def test_it_may_begin_but_not_end(seen):
    seen.tx("[{:db/id :m :db/noHistory true}]")
    assert seen.at(history=True).q("[:find ?v ?added :where [1 :m ?v _ ?added]]") == "#{[10 true]}"
    seen.tx_refuses("TX_INVALID", "[[:db/add :m :db/noHistory ‸false]]", says="forgotten")
    seen.tx_refuses("TX_INVALID", "[‸[:db/retract :n :db/noHistory true]]", says=":n")
    seen.tx("[{:db/ident :k :db/valueType :db.type/long :db/noHistory true}]", "[{:db/id :k :db/noHistory false}]")


def test_the_log_keeps_what_was_done(seen):
    reports = list(seen.database.transactions(1, 10, 10))
    values = [datom.v for report in reports for datom in report.datoms if str(datom.a) == ":n"]
    assert sorted(values) == [1, 1, 2, 2, 3, 10]


def test_a_view_that_was_read_before_shows_no_more_than_a_new_one(seen):
    """Views are kept for paging and repeated queries."""
    t = seen.database.snapshot().t
    assert seen.at(t=t - 1).q(VALUES) == "#{[1 10]}"
    seen.tx("[[:db/add 1 :n 11]]")
    assert seen.at(t=t - 1).q(VALUES) == "#{}"
    assert seen.at(t=t).q(VALUES) == "#{[3 3]}"
    assert seen.at(t=t, since=t - 1).q(VALUES) == "#{[3 3]}"
    seen.tx("[[:db/retract 3 :n 3]]")
    seen.database.compact()
    assert seen.at(t=t).q(VALUES) == "#{}"
    assert seen.at(t=t, since=t - 1).q(VALUES) == "#{}"


def test_a_view_that_was_read_before_is_kept_where_nothing_was_forgotten(seen):
    t = seen.database.snapshot().t
    view = seen.database.at(t=t - 1)
    seen.tx("[[:db/add 1 :m 11]]")
    assert seen.database.at(t=t - 1) is view


def test_a_view_forgets_what_an_attribute_had_before_it_began_to(seen):
    t = seen.database.snapshot().t
    values = "[:find ?e ?v :where [?e :m ?v]]"
    assert seen.at(t=t - 2).q(values) == "#{[1 1]}"
    seen.tx("[{:db/id :m :db/noHistory true}]")
    assert seen.at(t=t - 2).q(values) == "#{}"


def test_a_name_in_a_query_is_looked_up_in_each_view(db):
    db.tx("[{:db/ident :key :db/valueType :db.type/string :db/unique :db.unique/identity :db/noHistory true}]")
    db.tx('[[:db/add 1 :key "a"] [:db/add 1 :m 1] [:db/add 2 :m 2]]')
    t = db.database.snapshot().t
    named = '[:find ?v . :where [[:key "a"] :m ?v]]'
    db.tx("[[:db/add 3 :m 3]]")
    assert db.at(t=t).q(named) == "1"
    db.tx('[[:db/retract 1 :key "a"]]')
    assert db.at(t=t).q(named) == "nil"
