"""`:db.attr/preds` and `:db/ensure`: what values and entities have to satisfy."""

from __future__ import annotations

import pytest

STORED = """[{:db/ident :my/known :db/fn "[:find ?e . :in $ ?v :where [?e :color/name ?v]]"}
             {:db/ident :my/balanced
              :db/fn "[:find ?e :in $ ?e :where [?e :in ?i] [?e :out ?o] [(<= ?o ?i)]]"}
             {:db/ident :age :db/valueType :db.type/long :db.attr/preds pos?}
             {:db/ident :color/name :db/valueType :db.type/string}
             {:db/ident :color :db/valueType :db.type/string :db.attr/preds my/known}
             {:db/ident :account :db.entity/attrs [:in :out] :db.entity/preds my/balanced}
             {:db/ident :in :db/valueType :db.type/long} {:db/ident :out :db/valueType :db.type/long}]"""


@pytest.fixture
def guarded(db):
    db.tx(STORED)
    return db


def test_a_built_in_predicate(guarded):
    guarded.tx("[{:db/id 1 :age 5}]")
    guarded.tx_refuses(
        "TX_INVALID", "[{:db/id 2 :age ‸-5}]", says=":age of entity 2 cannot be -5: it does not satisfy pos?"
    )
    guarded.tx_refuses("TX_INVALID", "[[:db.fn/inc 1 :age -5]]", says="cannot be 0")


def test_several_predicates(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/long :db.attr/preds [pos? even?]}]")
    db.tx("[[:db/add 1 :n 2]]")
    db.tx_refuses("TX_INVALID", "[[:db/add 1 :n ‸3]]", says="even?")
    db.tx_refuses("TX_INVALID", "[[:db/add 1 :n ‸-2]]", says="pos?")


def test_a_stored_query_as_predicate(guarded):
    guarded.tx('[{:color/name "red"}]')
    guarded.tx('[[:db/add 1 :color "red"]]')
    guarded.tx_refuses("TX_INVALID", '[[:db/add 1 :color ‸"green"]]', says="my/known")


def test_it_is_judged_on_the_database_after(guarded):
    guarded.tx('[{:color/name "blue"} [:db/add 1 :color "blue"]]')
    assert guarded.q("[:find ?c . :where [1 :color ?c]]") == '"blue"'


def test_a_scalar_that_is_false_is_no_row(db):
    db.tx("""[{:db/ident :my/small :db/fn "[:find ?ok . :in $ ?v :where [(< ?v 10) ?ok]]"}
              {:db/ident :n :db/valueType :db.type/long :db.attr/preds :my/small}]""")
    db.tx("[[:db/add 1 :n 9]]")
    db.tx_refuses("TX_INVALID", "[[:db/add 1 :n ‸10]]", says="my/small")


def test_a_predicate_named_later_is_true_of_what_is_there(db):
    db.tx("[[:db/add 1 :n 1] [:db/add 77 :n -1]]")
    db.tx_refuses("TX_INVALID", "[{:db/id :n :db.attr/preds ‸pos?}]", says="entity 77")
    db.tx("[[:db/add 77 :n 2]]", "[{:db/id :n :db.attr/preds pos?}]")
    db.tx_refuses("TX_INVALID", "[[:db/add 1 :n ‸0]]")


def test_a_predicate_and_its_first_values_in_one_transaction(db):
    db.tx_refuses(
        "TX_INVALID",
        "[[:db/add 1 :n -1] {:db/ident :n :db/valueType :db.type/long :db.attr/preds ‸pos?}]",
        says="pos?",
    )


def test_a_predicate_may_go(guarded):
    guarded.tx("[[:db/retract :age :db.attr/preds pos?]]", "[[:db/add 1 :age -1]]")


@pytest.mark.parametrize("name", ["nope?", "my/nope", "<", "missing?", "tx-ids"])
def test_a_predicate_that_is_none(db, name):
    db.tx("[{:db/ident :n :db/valueType :db.type/long}]")
    if name == "<":
        # A comparison of one argument is always true, as in Clojure.
        db.tx(f"[{{:db/id :n :db.attr/preds {name}}}]", "[[:db/add 1 :n 1]]")
    else:
        db.tx_refuses("TX_INVALID", f"[{{:db/id :n :db.attr/preds ‸{name}}}]", says=name)


def test_a_broken_stored_query_is_refused_with_its_place(db):
    db.tx_refuses(
        "TX_INVALID",
        '[{:db/ident :my/f\n  :db/fn "[:find ?e :in $ ?e\n    :where ‸[?e :a ?b :c :d :e]]"}]',
        says=":db/fn",
    )
    db.tx_refuses("TX_INVALID", '[{:db/ident :my/f :db/fn "[:find ?e :where [?e :a \\"x\\"] ‸42]"}]')
    db.tx_refuses("TX_INVALID", '[{:db/ident :my/f :db/fn "[:find ‸(rand ?e) :where [?e :a]]"}]', says="chance")
    nested = '"[:find ?n :where [(q [:find ‸(sample 1 ?e) :where [?e :a]] $) [[?n]]]]"'
    db.tx_refuses("TX_INVALID", f"[{{:db/ident :my/f :db/fn {nested}}}]", says="chance")


def test_ensure_required_attributes(guarded):
    guarded.tx("[{:db/id 1 :in 5 :out 3 :db/ensure :account}]")
    guarded.tx_refuses("TX_INVALID", "[{:db/id 2 :in 5 :db/ensure ‸:account}]", says="entity 2 lacks :out")
    guarded.tx("[{:db/id 2 :in 5}]", "[{:db/id 2 :out 5 :db/ensure :account}]")


def test_ensure_with_predicates(guarded):
    guarded.tx_refuses("TX_INVALID", "[{:db/id 1 :in 5 :out 6 :db/ensure ‸:account}]", says="my/balanced")
    guarded.tx("[{:db/id 1 :in 5 :out 5} [:db/add 1 :db/ensure :account]]")
    guarded.tx_refuses("TX_INVALID", "[[:db/retract 1 :out] [:db/add 1 :db/ensure ‸:account]]", says=":out")
    guarded.tx("[[:db/retract 1 :out]]")


def test_ensure_of_a_tempid(guarded):
    guarded.tx('[{:db/id "new" :in 1 :out 1 :db/ensure :account}]')
    guarded.tx_refuses("TX_INVALID", '[{:db/id "new" :in 1 :db/ensure ‸:account}]')


def test_ensure_is_not_stored(guarded):
    report = guarded.tx("[{:db/id 1 :in 5 :out 3 :db/ensure :account}]")
    assert {str(datom.a) for datom in report.datoms} == {":in", ":out", ":db/txInstant"}


def test_ensure_what_is_no_spec(guarded):
    guarded.tx_refuses("TX_INVALID", "[{:db/id 1 :in 5 :db/ensure ‸:age}]", says=":db.entity/attrs")
    guarded.tx_refuses("TX_INVALID", "[{:db/id 1 :in 5 :db/ensure ‸:nope}]")
    guarded.tx_refuses("TX_INVALID", "[[:db/retract 1 ‸:db/ensure :account]]", says="not stored")


def test_a_predicate_that_fails_itself(db):
    db.tx("""[{:db/ident :my/two :db/fn "[:find ?a :in $ ?a ?b :where [?a :n ?b]]"}
              {:db/ident :n :db/valueType :db.type/long :db.attr/preds my/two}]""")
    db.tx_refuses("TX_INVALID", "[[:db/add 1 :n ‸1]]", says="my/two: the query takes 2")
