"""Time: a snapshot never changes; `as-of`, `since` and `history` read the same datoms differently."""

from __future__ import annotations

from datetime import timedelta

import pytest

from adalog.store.values.attribute import TX_BASE

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


# Transactions


def test_the_transactions_of_a_view(ages):
    query = "[:find (count ?tx) . :where [(tx-ids $ nil nil) [?tx ...]]]"
    assert ages.q(query) == "4"
    assert ages.at(as_of=3).q(query) == "3"
    assert ages.at(as_of=3, since=1).q(query) == "2"
    assert ages.at(since=4).q(query) == "nil"
    query = "[:find ?t :where [(tx-ids $ 2 4) [?tx ...]] [?tx :db/txInstant] [?e :age ?v ?tx] [(identity ?v) ?t]]"
    assert ages.q(query) == "#{[11] [30]}"


def test_the_transactions_between_instants(ages):
    query = "[:find (count ?tx) . :in $ ?from ?to :where [(tx-ids $ ?from ?to) [?tx ...]]]"
    assert ages.q(query, '#inst "2000-01-01"', "nil") == "4"
    assert ages.q(query, '#inst "2100-01-01"', "nil") == "nil"
    assert ages.q(query, "nil", '#inst "2000-01-01"') == "nil"
    first = min(row[0] for row in ages.run("[:find ?i :where [?tx :db/txInstant ?i]]").rows())
    assert ages.q(query, first, "nil") == "4"
    assert ages.q(query, "nil", first) == "nil"


def test_the_log_as_datomic_passes_it(ages):
    query = "[:find (count ?tx) . :in $ ?log :where [(tx-ids ?log 2 4) [?tx ...]]]"
    assert ages.q(query, ages) == "2"
    query = (
        "[:find ?e ?v :in ?log ?tx :where [(tx-data ?log ?tx) [[?e _ ?v _ ?added]]] [(< ?e 9)] [(true? ?added)]]"
    )
    assert ages.q(query, ages, 2) == "#{[1 11]}"
    within = "(q [:find [?tx ...] :in ?log :where [(tx-ids ?log 2 3) [?tx ...]]] $)"
    assert ages.q(f"[:find ?t :where [{within} [?tx ...]] [(tx->t ?tx) ?t]]") == "#{[2]}"


def test_since_an_instant(ages):
    instants = {row[0] for row in ages.run("[:find ?i :where [?tx :db/txInstant ?i]]").rows()}
    assert ages.at(since=max(instants)).q("[:find ?e :where [?e :age]]") == "#{}"
    assert ages.at(since=min(instants) - timedelta(days=1)).q("[:find (count ?e) . :where [?e :age]]") == (
        repr(ages.q("[:find (count ?e) . :where [?e :age]]"))
    )


def test_the_datoms_of_a_transaction(ages):
    query = """[:find ?t ?e ?v ?added :where [(tx-ids $ 2 4) [?tx ...]] [(tx-data $ ?tx) [[?e ?a ?v _ ?added]]]
                [?a :db/ident :age] [(ground [[2 :two] [3 :three]]) [[?n ?t]]] [(tx-ids $ ?n nil) [?tx2 ...]]
                [(= ?tx ?tx2)] [(inc ?n) ?next] [(tx-ids $ ?n ?next) [?tx ...]]]"""
    assert ages.q(query) == "#{[:two 1 10 false] [:two 1 11 true] [:three 2 20 false] [:three 3 30 true]}"
    assert ages.q("[:find ?e :where [(tx-data $ 99) [[?e]]]]") == "#{}"
    assert ages.at(as_of=2).q("[:find ?e :where [(tx-data $ 3) [[?e]]]]") == "#{}"
    assert ages.at(since=2).q("[:find ?e :where [(tx-data $ 2) [[?e]]]]") == "#{}"


def test_transactions_are_entities(db):
    db.tx('[[:db/add 1 :age 1] [:db/add "datomic.tx" :by "ann"] {:db/id "datomic.tx" :why "hired"}]')
    db.tx('[[:db/add 1 :age 2] [:db/add "datomic.tx" :by "bob"]]')
    assert db.q("[:find ?who . :where [1 :age _ ?tx] [?tx :by ?who]]") == '"bob"'
    query = "[:find ?v ?who ?added :where [1 :age ?v ?tx ?added] [?tx :by ?who]]"
    assert db.at(history=True).q(query) == '#{[1 "ann" true] [1 "bob" false] [2 "bob" true]}'
    assert db.q('[:find ?a ?v :where [?tx :by "ann"] [?tx ?a ?v] [(not= ?a :db/txInstant)]]') == (
        '#{[:by "ann"] [:why "hired"]}'
    )


def test_the_instants_of_transactions_join_and_compare(db):
    for year, age in ((2020, 1), (2021, 2), (2022, 3)):
        db.tx(f'[[:db/add 1 :age {age}] [:db/add "datomic.tx" :db/txInstant #inst "{year}-01-01"]]')
    query = """[:find ?v :in $ ?from :where [1 :age ?v ?tx true] [?tx :db/txInstant ?when] [(>= ?when ?from)]]"""
    assert db.at(history=True).q(query, '#inst "2021-01-01"') == "#{[2] [3]}"
    assert (
        db.q('[:find ?tx2 :where [?tx :db/txInstant #inst "2021-01-01"] [(identity ?tx) ?tx2] [1 :age 2 ?tx]]')
        == "#{}"
    )
    assert len(db.at(as_of=2).q('[:find ?tx :where [?tx :db/txInstant #inst "2021-01-01"] [1 :age 2 ?tx]]')) == 1
    assert db.at(as_of=1).q("[:find (count ?when) . :where [_ :db/txInstant ?when]]") == "1"


def test_all_five_places_are_variables(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/long}]", "[[:db/add 1 :n 5]]", "[[:db/add 1 :n 6]]")
    query = "[:find ?e ?a ?v ?t ?added :where [?e ?a ?v ?tx ?added] [(= ?a :n)] [(- ?tx %d) ?t]]"
    query %= TX_BASE
    assert db.q(query) == "#{[1 :n 6 3 true]}"
    assert db.at(history=True).q(query) == "#{[1 :n 5 2 true] [1 :n 5 3 false] [1 :n 6 3 true]}"
    assert db.at(history=True, since=2).q(query) == "#{[1 :n 5 3 false] [1 :n 6 3 true]}"
    assert db.at(as_of=2).q(query) == "#{[1 :n 5 2 true]}"


def test_a_transaction_is_written_as_its_number_or_its_id(ages):

    past = ages.at(history=True)
    assert past.q("[:find ?e ?v :where [?e :age ?v 3 true]]") == "#{[3 30]}"
    assert past.q(f"[:find ?e ?v :where [?e :age ?v {TX_BASE + 3} true]]") == "#{[3 30]}"
    assert past.q("[:find ?e ?v :in $ ?tx :where [?e :age ?v ?tx true]]", str(TX_BASE + 3)) == "#{[3 30]}"
    ages.refuses("QUERY_INVALID", "[:find ?e :where [?e :age _ ‸:three]]")


def test_one_variable_in_two_places_over_time(db):

    db.tx("[{:db/ident :seen :db/valueType :db.type/ref}]", '[[:db/add 1 :seen "datomic.tx"] [:db/add 2 :seen 9]]')
    assert db.q("[:find ?e ?tx :where [?e :seen ?tx ?tx]]") == f"#{{[1 {TX_BASE + 2}]}}"


def test_since_is_over_what_holds_as_of(ages):
    """2 :age 20 was asserted at 1, retracted at 3 and asserted again at 4."""
    query = "[:find ?v :where [2 :age ?v]]"
    assert ages.at(as_of=2, since=0).q(query) == "#{[20]}"
    assert ages.at(as_of=2, since=1).q(query) == "#{}"
    assert ages.at(as_of=3, since=0).q(query) == "#{}"
    assert ages.at(as_of=4, since=1).q(query) == "#{[20]}"
    assert ages.at().snapshot.as_of(4).since(1).key == ages.at().snapshot.since(1).as_of(4).key


def test_names_hold_in_every_view(db):
    """Idents and lookup refs are looked up as of the moment, whatever `since` and `history` leave out."""
    db.tx("[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity} {:db/ident :red}]")
    db.tx('[{:db/id 1 :email "a@x"}]', "[[:db/add 1 :age 5]]", "[[:db/add 1 :age 6]]")
    assert db.at(since=2).q('[:find ?v . :where [[:email "a@x"] :age ?v]]') == "6"
    db.tx("[{:db/ident :fond :db/valueType :db.type/ref} {:db/id 1 :fond :red}]")
    assert db.at(since=4).q("[:find ?e . :where [?e :fond :red]]") == "1"
    assert db.at(since=4, history=True).q('[:find ?a :where [[:email "a@x"] ?a]]') == "#{[:fond]}"
