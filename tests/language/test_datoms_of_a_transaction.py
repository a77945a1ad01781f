"""A transaction is a set of changes: order does not matter, what holds already makes no datom."""

from __future__ import annotations

import pytest

from adalog.datalog.values import Keyword


def changes(report):
    """The datoms beside the transaction's own, as tuples."""
    return {(d.e, d.a.name, d.v, d.added) for d in report.datoms if d.a != Keyword("db/txInstant")}


@pytest.fixture
def numbers(db):
    db.tx("""[{:db/ident :one :db/valueType :db.type/long}
              {:db/ident :many :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]""")
    return db


def test_an_assertion(numbers):
    assert changes(numbers.tx("[[:db/add 1 :one 5]]")) == {(1, "one", 5, True)}


def test_asserting_again_makes_no_datom(numbers):
    numbers.tx("[[:db/add 1 :one 5] [:db/add 1 :many 5]]")
    assert changes(numbers.tx("[[:db/add 1 :one 5] [:db/add 1 :many 5]]")) == set()


def test_asserting_again_keeps_the_first_transaction(numbers):
    numbers.tx("[[:db/add 1 :one 5]]")
    before = numbers.run("[:find ?tx :where [1 :one 5 ?tx]]").rows()
    numbers.tx("[[:db/add 1 :one 5]]")
    assert numbers.run("[:find ?tx :where [1 :one 5 ?tx]]").rows() == before


def test_replacing(numbers):
    numbers.tx("[[:db/add 1 :one 5]]")
    assert changes(numbers.tx("[[:db/add 1 :one 6]]")) == {(1, "one", 5, False), (1, "one", 6, True)}


def test_replacing_with_an_explicit_retraction(numbers):
    numbers.tx("[[:db/add 1 :one 5]]")
    report = numbers.tx("[[:db/retract 1 :one 5] [:db/add 1 :one 6]]")
    assert changes(report) == {(1, "one", 5, False), (1, "one", 6, True)}
    report = numbers.tx("[[:db/add 1 :one 7] [:db/retract 1 :one]]")
    assert changes(report) == {(1, "one", 6, False), (1, "one", 7, True)}


def test_many_values_are_kept(numbers):
    numbers.tx("[[:db/add 1 :many 5]]")
    assert changes(numbers.tx("[[:db/add 1 :many 6]]")) == {(1, "many", 6, True)}


def test_retracting_what_does_not_hold_makes_no_datom(numbers):
    assert changes(numbers.tx("[[:db/retract 1 :one 5]]")) == set()


def test_the_same_form_twice(numbers):
    assert changes(numbers.tx("[[:db/add 1 :one 5] [:db/add 1 :one 5]]")) == {(1, "one", 5, True)}


def test_two_values_for_a_cardinality_one_attribute(numbers):
    numbers.tx_refuses("TX_CONFLICT", "[[:db/add 1 :one 5] [:db/add 1 :one 6]]", says=":one")
    numbers.tx_refuses("TX_CONFLICT", "[{:db/id 1 :one 5} {:db/id 1 :one 6}]")


def test_two_values_through_one_upsert(db):
    db.tx("[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}]")
    db.tx_refuses("TX_CONFLICT", '[{:db/id "a" :email "x" :n 1} {:db/id "b" :email "x" :n 2}]')


def test_asserting_and_retracting_the_same(numbers):
    numbers.tx_refuses("TX_CONFLICT", "[[:db/add 1 :one 5] [:db/retract 1 :one 5]]")
    numbers.tx("[[:db/add 1 :one 5]]")
    numbers.tx_refuses("TX_CONFLICT", "[[:db/add 1 :one 5] [:db/retract 1 :one 5]]")


@pytest.mark.parametrize(
    "forms",
    [
        "[[:db/add 1 :one 6] [:db/retract 1 :many 1] [:db/add 1 :many 3]]",
        "[[:db/add 1 :many 3] [:db/retract 1 :many 1] [:db/add 1 :one 6]]",
        "[[:db/retract 1 :many 1] [:db/add 1 :one 6] [:db/add 1 :many 3]]",
    ],
)
def test_the_order_of_forms_does_not_matter(numbers, forms):
    numbers.tx("[{:db/id 1 :one 5 :many [1 2]}]")
    numbers.tx(forms)
    assert numbers.q("[:find ?a ?v :where [1 ?a ?v]]") == "#{[:one 6] [:many 2] [:many 3]}"


def test_the_report(numbers):
    report = numbers.tx("[[:db/add 1 :one 5]]")
    assert (report.basis_before, report.t) == (1, 2)
    assert all(datom.t == report.t for datom in report.datoms)


def test_tx_instant(numbers):
    report = numbers.tx("[[:db/add 1 :one 5]]")
    rows = numbers.run("[:find ?when :where [1 :one 5 ?tx] [?tx :db/txInstant ?when]]").rows()
    assert rows == [(report.tx_instant,)]


def test_tx_instant_never_goes_backwards(numbers):
    instants = [numbers.tx(f"[[:db/add 1 :one {number}]]").tx_instant for number in range(20)]
    assert instants == sorted(instants)


def test_tx_instant_may_be_given(db):
    report = db.tx('[[:db/add 1 :n 1] [:db/add "datomic.tx" :db/txInstant #inst "2020-01-01T00:00:00.000Z"]]')
    assert report.tx_instant.year == 2020
    assert (
        db.q("[:find ?i . :where [1 :n _ ?tx] [?tx :db/txInstant ?i]]") == '#inst "2020-01-01T00:00:00.000-00:00"'
    )


def test_a_given_tx_instant_may_not_go_backwards(db):
    db.tx("[[:db/add 1 :n 1]]")
    db.tx_refuses("TX_INVALID", '[[:db/add "datomic.tx" :db/txInstant ‸#inst "1999-01-01"]]')


def test_idempotency(db):
    first = db.database.transact("[[:db/add 1 :n 1]]", idempotency_key="k")
    second = db.database.transact("[[:db/add 1 :n 1]]", idempotency_key="k")
    assert first.t == second.t == db.database.snapshot().t


def test_expected_basis(db):
    db.database.transact("[[:db/add 1 :n 1]]", expected_basis_t=0)
    with pytest.raises(Exception, match="BASIS_CONFLICT"):
        db.database.transact("[[:db/add 1 :n 2]]", expected_basis_t=0)
    assert db.q("[:find ?n . :where [1 :n ?n]]") == "1"
