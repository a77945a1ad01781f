"""Time: a snapshot never changes; `as-of`, `since` and `history` read the same datoms differently."""

from __future__ import annotations

import pytest

AGES = "[:find ?e ?v :where [?e :age ?v]]"


@pytest.fixture
def ages(db):
    db.tx("[[:db/add 1 :age 10] [:db/add 2 :age 20]]")
    db.tx("[[:db/add 1 :age 11]]")
    db.tx("[[:db/retract 2 :age 20] [:db/add 3 :age 30]]")
    db.tx("[[:db/add 2 :age 20]]")
    return db


@pytest.mark.parametrize(
    ("t", "answer"),
    [
        (0, "#{}"),
        (1, "#{[1 10] [2 20]}"),
        (2, "#{[1 11] [2 20]}"),
        (3, "#{[1 11] [3 30]}"),
        (4, "#{[1 11] [2 20] [3 30]}"),
    ],
)
def test_as_of(ages, t, answer):
    assert ages.at(as_of=t).q(AGES) == answer
    assert ages.at(t=t).q(AGES) == answer


def test_now(ages):
    assert ages.q(AGES) == "#{[1 11] [2 20] [3 30]}"


def test_a_snapshot_does_not_change(ages):
    then = ages.at()
    ages.tx("[[:db/add 1 :age 99] [:db/retract 3 :age 30]]")
    assert then.q(AGES) == "#{[1 11] [2 20] [3 30]}"
    assert ages.at(as_of=4).q(AGES) == "#{[1 11] [2 20] [3 30]}"
    assert ages.q(AGES) == "#{[1 99] [2 20]}"


def test_since(ages):
    assert ages.at(since=0).q(AGES) == "#{[1 11] [2 20] [3 30]}"
    assert ages.at(since=1).q(AGES) == "#{[1 11] [2 20] [3 30]}"
    assert ages.at(since=2).q(AGES) == "#{[2 20] [3 30]}"
    assert ages.at(since=3).q(AGES) == "#{[2 20]}"
    assert ages.at(since=4).q(AGES) == "#{}"


def test_since_composes_with_as_of(ages):
    assert ages.at(as_of=3, since=1).q(AGES) == "#{[1 11] [3 30]}"


def test_history(ages):
    query = "[:find ?v ?added :where [2 :age ?v _ ?added]]"
    assert ages.at(history=True).q(query) == "#{[20 true] [20 false]}"
    query = "[:find ?e ?v :where [?e :age ?v _ false]]"
    assert ages.at(history=True).q(query) == "#{[1 10] [2 20]}"
    assert ages.at(history=True).q(AGES) == "#{[1 10] [1 11] [2 20] [3 30]}"


def test_history_tells_every_transaction(ages):
    query = "[:find (count ?tx) . :with ?added :where [2 :age 20 ?tx ?added]]"
    assert ages.at(history=True).q(query) == "3"


def test_history_joins_the_transaction(ages):
    query = "[:find ?v ?when :where [1 :age ?v ?tx true] [?tx :db/txInstant ?when]]"
    assert len(ages.at(history=True).q(query)) == 2


def test_history_composes_with_as_of_and_since(ages):
    query = "[:find ?e ?v ?added :where [?e :age ?v _ ?added]]"
    assert ages.at(history=True, as_of=2).q(query) == "#{[1 10 true] [2 20 true] [1 10 false] [1 11 true]}"
    assert ages.at(history=True, since=3).q(query) == "#{[2 20 true]}"
    assert ages.at(history=True, as_of=3, since=2).q(query) == "#{[2 20 false] [3 30 true]}"


def test_history_by_attribute_variable(ages):
    query = "[:find ?a ?v ?added :where [2 ?a ?v _ ?added]]"
    assert ages.at(history=True).q(query) == "#{[:age 20 true] [:age 20 false]}"


def test_as_of_by_attribute_variable_and_value(ages):
    assert ages.at(as_of=1).q("[:find ?e ?a :where [?e ?a 20]]") == "#{[2 :age]}"
    assert ages.at(as_of=3).q("[:find ?e ?a :where [?e ?a 20]]") == "#{}"


def test_as_of_an_instant(db):
    db.tx('[[:db/add 1 :age 1] [:db/add "datomic.tx" :db/txInstant #inst "2020-01-01"]]')
    db.tx('[[:db/add 1 :age 2] [:db/add "datomic.tx" :db/txInstant #inst "2021-01-01"]]')
    from datetime import UTC, datetime

    assert db.at(as_of=datetime(2020, 6, 1, tzinfo=UTC)).q(AGES) == "#{[1 1]}"
    assert db.at(as_of=datetime(2021, 1, 1, tzinfo=UTC)).q(AGES) == "#{[1 2]}"
    assert db.at(as_of=datetime(2019, 1, 1, tzinfo=UTC)).q(AGES) == "#{}"


def test_the_future_is_refused(ages):
    with pytest.raises(Exception, match="BASIS_FUTURE"):
        ages.at(t=99)


def test_many_valued_through_time(db):
    db.tx("[{:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :tags [:a :b]}]", "[[:db/retract 1 :tags :a] [:db/add 1 :tags :c]]", "[[:db/add 1 :tags :a]]")
    query = "[:find [?t ...] :where [1 :tags ?t]]"
    assert db.at(as_of=2).q(query) == "#{:a :b}"
    assert db.at(as_of=3).q(query) == "#{:b :c}"
    assert db.q(query) == "#{:a :b :c}"
    assert db.at(since=2).q(query) == "#{:c :a}"


def test_joins_not_and_aggregates_in_the_past(ages):
    past = ages.at(as_of=1)
    assert past.q("[:find (sum ?v) . :with ?e :where [?e :age ?v]]") == "30"
    assert past.q("[:find ?e :where [?e :age] (not [?e :age 10])]") == "#{[2]}"
    assert past.q("[:find ?x :in $ [?x ...] :where (not [?x :age])]", "[1 2 3]") == "#{[3]}"
