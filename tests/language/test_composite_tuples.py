"""Tuples: composite ones that are kept from other attributes, heterogeneous and homogeneous ones."""

from __future__ import annotations

import pytest

SCHEMA = """[{:db/ident :a :db/valueType :db.type/string} {:db/ident :b :db/valueType :db.type/long}
             {:db/ident :r :db/valueType :db.type/ref}
             {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :a+b :db/valueType :db.type/tuple :db/tupleAttrs [:a :b] :db/unique :db.unique/identity}
             {:db/ident :r+b :db/valueType :db.type/tuple :db/tupleAttrs [:r :b]}]"""
TUPLES = "[:find ?e ?v :where [?e :a+b ?v]]"


@pytest.fixture
def pairs(db):
    db.tx(SCHEMA)
    return db


def test_a_composite_is_kept_from_its_components(pairs):
    pairs.tx('[{:db/id 1 :a "x" :b 1} {:db/id 2 :a "y"} {:db/id 3 :name "n"}]')
    assert pairs.q(TUPLES) == '#{[1 ["x" 1]] [2 ["y" nil]]}'
    pairs.tx("[[:db/add 2 :b 5]]")
    assert pairs.q(TUPLES) == '#{[1 ["x" 1]] [2 ["y" 5]]}'
    pairs.tx("[[:db/retract 2 :a]]")
    assert pairs.q(TUPLES) == '#{[1 ["x" 1]] [2 [nil 5]]}'
    pairs.tx('[[:db/retractEntity 2] [:db/cas 1 :a "x" "z"]]')
    assert pairs.q(TUPLES) == '#{[1 ["z" 1]]}'


def test_what_does_not_change_makes_no_datom(pairs):
    pairs.tx('[{:db/id 1 :a "x" :b 1}]')
    assert len(pairs.tx('[{:db/id 1 :a "x" :b 1}]').datoms) == 1
    assert len(pairs.tx('[{:db/id 1 :name "n"}]').datoms) == 2


def test_a_ref_in_a_composite_is_its_entity(pairs):
    pairs.tx('[{:db/id 1 :r 7 :b 1} {:db/id 2 :r "new" :b 2} {:db/id "new" :name "seven"}]')
    assert pairs.q('[:find ?t ?e :where [?n :name "seven"] [2 :r+b ?t] [(untuple ?t) [?e ?b]] [(= ?e ?n)]]').rows
    assert pairs.q("[:find ?t . :where [1 :r+b ?t]]") == "[7 1]"
    pairs.tx("[[:db/retractEntity 7]]")
    assert pairs.q("[:find ?t . :where [1 :r+b ?t]]") == "[nil 1]"


def test_lookup_by_tuple(pairs):
    pairs.tx('[{:db/id 1 :a "x" :b 1}]')
    assert pairs.q('[:find ?b . :where [[:a+b ["x" 1]] :b ?b]]') == "1"
    pairs.tx('[[:db/add [:a+b ["x" 1.0]] :name "found"]]')
    assert pairs.q('[:find ?e . :where [?e :name "found"]]') == "1"
    pairs.tx_refuses("TX_INVALID", '[[:db/add ‸[:a+b ["x" 2]] :name "nobody"]]')
    pairs.tx_refuses("TX_INVALID", '[[:db/add ‸[:a+b ["x"]] :name "nobody"]]', says="tuple of :a, :b")


def test_upsert_by_tuple(pairs):
    pairs.tx('[{:db/id 1 :a "x" :b 1}]')
    report = pairs.tx('[{:db/id "t" :a "x" :b 1 :name "same"}]')
    assert report.tempids == {"t": 1}
    assert pairs.q("[:find ?e ?n :where [?e :name ?n]]") == '#{[1 "same"]}'


def test_upsert_by_tuple_in_any_order_of_forms(pairs):
    pairs.tx('[{:db/id 1 :a "x" :b 1}]')
    assert pairs.tx('[[:db/add "t" :b 1] [:db/add "u" :r "t"] [:db/add "t" :a "x"]]').tempids["t"] == 1


def test_two_tempids_meet_in_one_tuple(pairs):
    report = pairs.tx('[{:db/id "t" :a "x" :b 1} {:db/id "u" :a "x" :b 1 :name "n"}]')
    assert report.tempids["t"] == report.tempids["u"]


def test_upsert_by_a_tuple_of_what_is_found_by_another_upsert(db):
    db.tx("""[{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
              {:db/ident :of :db/valueType :db.type/ref} {:db/ident :n :db/valueType :db.type/long}
              {:db/ident :of+n :db/valueType :db.type/tuple :db/tupleAttrs [:of :n]
               :db/unique :db.unique/identity}]""")
    db.tx('[{:db/id 9 :name "nine"} {:db/id 1 :of 9 :n 1}]')
    assert db.tx('[{:db/id "t" :of "u" :n 1} {:db/id "u" :name "nine"}]').tempids == {"t": 1, "u": 9}


def test_part_of_a_tuple_names_nobody(pairs):
    pairs.tx('[{:db/id 1 :a "x"}]')
    pairs.tx_refuses("UNIQUE_CONFLICT", '[{:db/id "t" :a ‸"x" :name "other"}]', says=":a+b")


def test_a_composite_is_unique(pairs):
    pairs.tx('[{:db/id 1 :a "x" :b 1} {:db/id 2 :a "x" :b 2}]')
    pairs.tx_refuses("UNIQUE_CONFLICT", "[[:db/add 2 :b ‸1]]", says='["x" 1]')
    pairs.tx("[[:db/add 2 :b 1] [:db/add 1 :b 2]]")
    assert pairs.q(TUPLES) == '#{[1 ["x" 2]] [2 ["x" 1]]}'


@pytest.mark.parametrize(
    "text",
    [
        '[[:db/add 1 ‸:a+b ["x" 1]]]',
        '[{:db/id 1 ‸:a+b ["x" 1]}]',
        '[[:db/retract 1 ‸:a+b ["x" 1]]]',
        "[[:db/retract 1 ‸:a+b]]",
        '[[:db/cas 1 ‸:a+b nil ["x" 1]]]',
        '[[:db.fn/default 1 ‸:a+b ["x" 1]]]',
    ],
)
def test_a_composite_cannot_be_written(pairs, text):
    pairs.tx_refuses("TX_INVALID", text, says="kept from :a :b")


def test_a_composite_declared_later_has_what_is_there(db):
    db.tx('[{:db/id 1 :a "x" :b 1} {:db/id 2 :a "y"} {:db/id 3 :c 1}]')
    db.tx("[{:db/ident :a+b :db/valueType :db.type/tuple :db/tupleAttrs [:a :b]} [:db/add 2 :b 7]]")
    assert db.q(TUPLES) == '#{[1 ["x" 1]] [2 ["y" 7]]}'


def test_a_composite_declared_later_may_find_duplicates(db):
    db.tx('[{:db/id 1 :a "x" :b 1} {:db/id 2 :a "x" :b 1}]')
    tuple_ = "{:db/ident :a+b :db/valueType :db.type/tuple :db/tupleAttrs [:a :b] :db/unique :db.unique/value}"
    db.tx_refuses("UNIQUE_CONFLICT", f"[{tuple_}]", says="entity 1")


def test_a_composite_in_the_past(pairs):
    t = pairs.tx('[{:db/id 1 :a "x" :b 1}]').t
    pairs.tx("[[:db/add 1 :b 2]]")
    assert pairs.at(t=t).q(TUPLES) == '#{[1 ["x" 1]]}'
    assert pairs.at(history=True).q("[:find ?v ?added :where [1 :a+b ?v _ ?added]]") == (
        '#{[["x" 1] true] [["x" 1] false] [["x" 2] true]}'
    )


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (":db/valueType :db.type/tuple :db/tupleAttrs ‸[:a]", "2 to 8"),
        (":db/valueType :db.type/tuple :db/tupleAttrs ‸[:a :nope]", ":nope"),
        (":db/valueType :db.type/tuple :db/tupleAttrs ‸[:a :many]", "cardinality many"),
        (":db/valueType :db.type/tuple :db/tupleAttrs ‸[:a :a+b]", "composite itself"),
        (':db/valueType :db.type/tuple :db/tupleAttrs ‸["a" "b"]', "attributes"),
        (":db/valueType :db.type/string :db/tupleAttrs ‸[:a :b]", ":db.type/tuple"),
        (":db/tupleTypes ‸[:db.type/long :db.type/long]", ":db.type/tuple"),
        (":db/valueType :db.type/tuple :db/tupleTypes ‸[:db.type/long :db.type/lng]", "types"),
        (":db/valueType :db.type/tuple :db/tupleTypes ‸[:db.type/long]", "2 to 8"),
        (":db/valueType :db.type/tuple :db/tupleType ‸:db.type/tuple", "items"),
        (":db/valueType :db.type/tuple :db/tupleType ‸:db.type/long :db/tupleAttrs [:a :b]", "more than one"),
        (":db/valueType :db.type/tuple :db/cardinality :db.cardinality/many :db/tupleAttrs ‸[:a :b]", "one"),
    ],
)
def test_malformed_declarations(pairs, declared, says):
    pairs.tx("[{:db/ident :many :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]")
    pairs.tx_refuses("TX_INVALID", f"[{{:db/ident :t {declared}}}]", says=says)


def test_what_a_composite_is_made_of_stays(pairs):
    pairs.tx_refuses("TX_INVALID", "[{:db/id :a :db/cardinality :db.cardinality/many}]", says=":a+b")
    pairs.tx_refuses("TX_INVALID", "[[:db/add :a :db/ident :other]]", says=":a+b")


def test_a_composite_with_data_stays(pairs):
    pairs.tx('[{:db/id 77 :a "x" :b 1}]')
    pairs.tx_refuses("TX_INVALID", "[[:db/retract :a+b :db/tupleAttrs [:a :b]]]", says="77")
    pairs.tx_refuses("TX_INVALID", "[{:db/id :a+b :db/tupleAttrs [:b :a]}]", says="77")


def test_heterogeneous_tuples(db):
    db.tx("""[{:db/ident :at :db/valueType :db.type/tuple
               :db/tupleTypes [:db.type/double :db.type/string :db.type/ref]}]""")
    db.tx('[{:db/ident :here} {:db/id 1 :at [1 "x" 7]} {:db/id 2 :at [nil nil :here]}]')
    assert db.q("[:find ?v . :where [1 :at ?v]]") == '[1.0 "x" 7]'
    assert db.q('[:find ?e :where [?e :at [1 "x" 7]]]') == "#{[1]}"
    assert db.q("[:find ?e :where [?e :at ?t] [(untuple ?t) [_ _ ?r]] [?r :db/ident :here]]") == "#{[2]}"
    db.tx_refuses("TX_INVALID", '[[:db/add 3 :at ‸["y" "x" 7]]]', says="tuple of double, string, ref")
    db.tx_refuses("TX_INVALID", '[[:db/add 3 :at ‸[1.0 "x"]]]')
    db.tx_refuses("TX_INVALID", '[[:db/add 3 :at ‸[1.0 "x" "tempid"]]]', says="tempid")


def test_homogeneous_tuples(db):
    db.tx("[{:db/ident :v :db/valueType :db.type/tuple :db/tupleType :db.type/long}]")
    db.tx("[[:db/add 1 :v [1 2 3]] [:db/add 2 :v [1.0 nil]]]")
    assert db.q("[:find ?e ?v :where [?e :v ?v]]") == "#{[1 [1 2 3]] [2 [1 nil]]}"
    db.tx_refuses("TX_INVALID", "[[:db/add 3 :v ‸[1]]]", says="2 to 8")
    db.tx_refuses("TX_INVALID", "[[:db/add 3 :v ‸[1 2 3 4 5 6 7 8 9]]]")
    db.tx_refuses("TX_INVALID", "[[:db/add 3 :v ‸[1 1.5]]]")


def test_tuples_of_a_many_valued_attribute(db):
    db.tx("""[{:db/ident :v :db/valueType :db.type/tuple :db/tupleType :db.type/long
               :db/cardinality :db.cardinality/many}]""")
    db.tx("[{:db/id 1 :v [[1 2] [3 4]]} {:db/id 2 :v [5 6]}]")
    assert db.q("[:find ?e ?v :where [?e :v ?v]]") == "#{[1 [1 2]] [1 [3 4]] [2 [5 6]]}"
