"""Transaction functions: the built-in ones, and stored queries whose rows are transaction data."""

from __future__ import annotations

import pytest

from adalog.store.database import Database

STORED = """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :on :db/valueType :db.type/boolean}
             {:db/ident :tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
             {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
ALL = "[:find ?a ?v :in $ ?e :where [?e ?a ?v]]"


@pytest.fixture
def kept(db):
    db.tx(STORED)
    return db


def test_inc(kept):
    kept.tx("[[:db.fn/inc 1 :n]]")
    assert kept.q(ALL, "1") == "#{[:n 1]}"
    kept.tx("[[:db.fn/inc 1 :n 10]]", "[[:db.fn/inc 1 :n -1.0]]")
    assert kept.q(ALL, "1") == "#{[:n 10]}"


def test_inc_keeps_the_type(db):
    db.tx("[{:db/id 1 :d 1.5 :m 1.5M :b 1N :l 9223372036854775807}]")
    db.tx("[[:db.fn/inc 1 :d 1] [:db.fn/inc 1 :m 1] [:db.fn/inc 1 :b 1]]")
    assert db.q(ALL, "1") == "#{[:d 2.5] [:m 2.5M] [:b 2N] [:l 9223372036854775807]}"
    db.tx_refuses("TX_INVALID", "[‸[:db.fn/inc 1 :l]]", says="no long")
    db.tx_refuses("TX_INVALID", "[‸[:db.fn/inc 1 :b 0.5]]", says="no bigint")


def test_inc_of_an_upsert(kept):
    kept.tx('[{:db/id "t" :email "a@x"} [:db.fn/inc "t" :n]]')
    kept.tx('[{:db/id "t" :email "a@x"} [:db.fn/inc "t" :n]]')
    assert kept.q("[:find ?n . :where [_ :n ?n]]") == "2"


def test_functions_read_the_database_before(kept):
    """A transaction is a set: the same call twice is once, and different ones contradict each other."""
    kept.tx("[[:db.fn/inc 1 :n] [:db.fn/inc 1 :n]]")
    assert kept.q(ALL, "1") == "#{[:n 1]}"
    kept.tx_refuses("TX_CONFLICT", "[[:db.fn/inc 1 :n] [:db.fn/inc 1 :n 2]]")
    kept.tx_refuses("TX_CONFLICT", "[[:db.fn/inc 1 :n] [:db/add 1 :n 7]]")


def test_toggle(kept):
    kept.tx("[[:db.fn/toggle 1 :on]]")
    assert kept.q(ALL, "1") == "#{[:on true]}"
    kept.tx("[[:db.fn/toggle 1 :on]]")
    assert kept.q(ALL, "1") == "#{[:on false]}"


def test_default(kept):
    kept.tx("[[:db.fn/default 1 :n 5]]", "[[:db.fn/default 1 :n 6]]")
    assert kept.q(ALL, "1") == "#{[:n 5]}"
    kept.tx('[[:db.fn/default 1 :friend "new"] [:db/add "new" :n 1]]')
    assert kept.q("[:find ?n . :where [1 :friend ?f] [?f :n ?n]]") == "1"


@pytest.mark.parametrize(
    "text",
    [
        "[‸[:db.fn/inc 1]]",
        "[[:db.fn/inc 1 ‸:on]]",
        '[[:db.fn/inc 1 :n ‸"x"]]',
        "[[:db.fn/inc 1 ‸:tag]]",
        "[[:db.fn/inc 1 ‸:many 1]]",
        "[[:db.fn/toggle 1 ‸:n]]",
        "[‸[:db.fn/toggle 1 :on true]]",
        "[[‸:db.fn/nope 1 :on]]",
        "[[‸:db.fn/call 1 :on]]",
    ],
)
def test_malformed_calls(kept, text):
    kept.tx("[{:db/ident :many :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]")
    kept.tx_refuses("TX_INVALID", text)


def test_rows_are_forms(kept):
    kept.tx("""[{:db/ident :my/tag-all
                 :db/fn "[:find ?op ?e ?a ?t :in $ ?t :where [?e :n] [(ground :db/add) ?op] [(ground :tag) ?a]]"}
                {:db/id 1 :n 1} {:db/id 2 :n 2}]""")
    report = kept.tx("[[:my/tag-all :x]]")
    assert kept.q("[:find ?e ?t :where [?e :tag ?t]]") == "#{[1 :x] [2 :x]}"
    assert len(report.datoms) == 3


def test_a_row_of_one_column_is_a_whole_form(kept):
    kept.tx("""[{:db/ident :my/double
                 :db/fn "[:find [?form ...] :in $ ?e
                          :where [?e :n ?n] [(* 2 ?n) ?m] [(tuple :db/add ?e :n ?m) ?form]]"}
                {:db/id 1 :n 4 :email "a@x"}]""")
    kept.tx('[[:my/double [:email "a@x"]]]')
    assert kept.q("[:find ?n . :where [1 :n ?n]]") == "8"
    kept.tx("[[:my/double 1]]")
    assert kept.q("[:find ?n . :where [1 :n ?n]]") == "16"


def test_a_function_that_finds_nothing_does_nothing(kept):
    kept.tx("""[{:db/ident :my/f :db/fn "[:find ?op ?e :in $ ?e :where [?e :n 5] [(ground :db/retractEntity) ?op]]"}
                {:db/id 1 :n 4}]""")
    kept.tx("[[:my/f 1]]", "[[:my/f 99]]")
    assert kept.q(ALL, "1") == "#{[:n 4]}"


def test_a_guard(kept):
    """What a function checks and what it writes cannot be parted by another transaction."""
    kept.tx("""[{:db/ident :my/withdraw
                 :db/fn "[:find ?op ?e ?a ?left :in $ ?e ?sum
                          :where [?e :n ?n] [(>= ?n ?sum)] [(- ?n ?sum) ?left]
                                 [(ground :db/add) ?op] [(ground :n) ?a]]"} {:db/id 1 :n 100}]""")
    kept.tx("[[:my/withdraw 1 60]]", "[[:my/withdraw 1 60]]")
    assert kept.q("[:find ?n . :where [1 :n ?n]]") == "40"


def test_functions_in_functions(kept):
    kept.tx("""[{:db/ident :my/inc-all
                 :db/fn "[:find ?op ?e ?a :where [?e :n] [(ground :db.fn/inc) ?op] [(ground :n) ?a]]"}
                {:db/ident :my/outer :db/fn "[:find ?op . :where [(tuple :my/inc-all) ?op]]"}
                {:db/id 1 :n 1} {:db/id 2 :n 2}]""")
    kept.tx("[[:my/outer]]")
    assert kept.q("[:find ?e ?n :where [?e :n ?n]]") == "#{[1 2] [2 3]}"


def test_a_function_that_calls_itself(kept):
    kept.tx("""[{:db/ident :my/f :db/fn "[:find ?form . :where [(tuple :my/f) ?form]]"}]""")
    kept.tx_refuses("LIMIT_EXCEEDED", "[[:db/add 1 :n 1] ‸[:my/f]]", says="8 calls deep")


def test_tempids_are_the_transactions(kept):
    kept.tx("""[{:db/ident :my/befriend
                 :db/fn "[:find ?op ?e ?a ?f :in $ ?f :where [?e :n] [(ground :db/add) ?op] [(ground :friend) ?a]]"}
                {:db/id 1 :n 1}]""")
    report = kept.tx('[[:my/befriend "new"] {:db/id "new" :email "n@x"}]')
    assert kept.q("[:find ?f . :where [1 :friend ?f]]") == str(report.tempids["new"])


def test_maps_made_by_a_function_are_separate_entities(kept):
    kept.tx("""[{:db/ident :my/maps :db/fn "[:find [?m ...] :in $ [?m ...]]"}]""")
    kept.tx("[[:my/maps [{:n 1} {:n 2}]] {:n 3}]")
    assert len(kept.q("[:find ?e :where [?e :n]]")) == 3


def test_what_a_function_makes_is_checked(kept):
    kept.tx("""[{:db/ident :my/bad :db/fn "[:find ?op ?e ?a ?v :in $ ?e ?v
                :where [(ground :db/add) ?op] [(ground :n) ?a]]"}
                {:db/ident :my/none :db/fn "[:find ?v . :in $ ?v]"}]""")
    kept.tx_refuses("TX_INVALID", '[{:db/id 1 :n 1}\n ‸[:my/bad 2 "text"]]', says="(in what :my/bad made)")
    kept.tx_refuses("TX_INVALID", "[‸[:my/none 42]]", says="no transaction form")
    kept.tx_refuses("TX_INVALID", "[‸[:my/none [:my/nope 1]]]", says="no operation :my/nope")
    kept.tx_refuses("TX_INVALID", "[‸[:my/bad 2]]", says=":my/bad: the query takes 2")


def test_what_is_no_function(kept):
    kept.tx_refuses("TX_INVALID", "[[‸:my/f 1]]", says="no operation :my/f")
    kept.tx_refuses("TX_INVALID", "[[‸:n 1]]", says="write [:db/add entity :n 1]")


def test_a_function_reads_the_database_before_the_transaction(kept):
    """And so it cannot be called in the one that makes it."""
    kept.tx_refuses("TX_INVALID", '[{:db/ident :my/f :db/fn "[:find ?v . :in $ ?v]"} [‸:my/f [:db/add 1 :n 1]]]')


def test_the_answer_is_the_same_every_time(kept):
    kept.tx("""[{:db/ident :my/new :db/fn "[:find ?op ?t ?a ?v :in $ [[?t ?v]]
                :where [(ground :db/add) ?op] [(ground :n) ?a]]"}]""")
    report = kept.tx('[[:my/new [["b" 2] ["a" 1] ["c" 3]]]]')
    ids = [report.tempids[name] for name in "abc"]
    assert ids == sorted(ids)


def test_without_an_engine():
    with Database.open(":memory:") as database:
        database.transact('[{:db/ident :my/f :db/fn "[:find ?v . :in $ ?v]"}]')
        with pytest.raises(Exception, match="query engine"):
            database.transact("[[:my/f [:db/add 1 :n 1]]]")


def test_stored_queries_have_seconds_together(kept, monkeypatch):
    monkeypatch.setattr("adalog.store.writer.rehearsal.SECONDS", 0)
    monkeypatch.setattr("adalog.store.writer.writer._BRIEF", 0)
    kept.tx("""[{:db/ident :my/f :db/fn "[:find ?v . :in $ ?v]"}]""")
    kept.tx_refuses("TIMEOUT", "[[:my/f [:db/add 1 :n 1]] [:my/f [:db/add 2 :n 1]]]", says="together")
