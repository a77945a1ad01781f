"""Equality is typed and the same everywhere: literals, joins, sets, indexes. Order never fails."""

from __future__ import annotations

import pytest

TYPED = """[{:db/ident :x/any-long :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
            {:db/ident :x/any-double :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
            {:db/ident :x/key :db/valueType :db.type/keyword} {:db/ident :x/text :db/valueType :db.type/string}]"""


@pytest.fixture
def typed(db):
    db.tx(TYPED)
    db.tx('[{:db/id 1 :x/any-long [1 2] :x/any-double [1.0 2.5] :x/key :a :x/text ":a"}]')
    return db


def test_long_and_double_do_not_join(typed):
    assert typed.q("[:find ?v :where [_ :x/any-long ?v] [_ :x/any-double ?v]]") == "#{}"


def test_keyword_and_string_do_not_join(typed):
    assert typed.q("[:find ?v :where [_ :x/key ?v] [_ :x/text ?v]]") == "#{}"


def test_a_literal_takes_the_declared_type_where_nothing_is_lost(typed):
    assert typed.q("[:find ?e :where [?e :x/any-double 1]]") == "#{[1]}"
    assert typed.q("[:find ?e :where [?e :x/any-long 1.0]]") == "#{[1]}"
    assert typed.q("[:find ?e :where [?e :x/any-long 1N]]") == "#{[1]}"
    assert typed.q("[:find ?e :where [?e :x/any-long 1.5]]") == "#{}"
    assert typed.q("[:find ?e :where [?e :x/text :a]]") == "#{}"
    assert typed.q('[:find ?e :where [?e :x/key ":a"]]') == "#{}"


def test_an_input_takes_the_declared_type_as_a_literal_does(typed):
    query = "[:find ?e :in $ ?v :where [?e :x/any-double ?v]]"
    assert typed.q(query, "1.0") == "#{[1]}"
    assert typed.q(query, "1") == "#{[1]}"
    assert typed.q(query, "1.5") == "#{}"


def test_sets_keep_values_of_different_types_apart(db):
    assert db.q("[:find ?x :in [?x ...]]", '[1 1.0 1N 1M true "1" :1 \\1]') == (
        '#{[1] [1.0] [1N] [1M] [true] ["1"] [:1] [\\1]}'
    )
    assert db.q("[:find (count ?x) . :in [?x ...]]", "[1 1.0 1N 1M true]") == "5"


def test_equals_is_typed(db):
    query = "[:find ?x :in [?x ...] :where [(= ?x 1)]]"
    assert db.q(query, "[1 1.0 1N 1M true]") == "#{[1]}"


def test_double_equals_compares_numbers_by_value(db):
    query = "[:find ?x :in [?x ...] :where [(== ?x 1)]]"
    assert db.q(query, "[1 1.0 1N 1M 2]") == "#{[1] [1.0] [1N] [1M]}"


def test_a_long_equals_a_ref_to_that_entity(db):
    db.tx("[{:db/ident :friend :db/valueType :db.type/ref} {:db/ident :number :db/valueType :db.type/long}]")
    db.tx("[[:db/add 1 :friend 2] [:db/add 3 :number 2]]")
    assert db.q("[:find ?e ?x :where [?e :friend ?f] [?x :number ?f]]") == "#{[1 3]}"
    assert db.q("[:find ?e :in $ ?f :where [?e :friend ?f]]", "2") == "#{[1]}"
    assert db.q("[:find ?x ?n :where [?x :number ?n] [?n :number _]]") == "#{}"


def test_a_number_joins_an_entity_id(db):
    db.tx('[[:db/add 1 :age 2] [:db/add 2 :name "Two"]]')
    assert db.q("[:find ?n :where [1 :age ?a] [?a :name ?n]]") == '#{["Two"]}'


def test_negative_zero_is_zero(db):
    assert db.q("[:find ?x :in [?x ...] :where [(= ?x 0.0)]]", "[-0.0]") != "#{}"
    assert len(db.q("[:find ?x :in [?x ...]]", "[0.0 -0.0]")) == 1


def test_nan_is_itself(db):
    assert len(db.q("[:find ?x :in [?x ...]]", "[##NaN ##NaN 1.0]")) == 2


def test_bigdec_scale_does_not_matter(db):
    assert len(db.q("[:find ?x :in [?x ...]]", "[1.0M 1.00M 1M]")) == 1


def test_collections_equal_by_their_elements(db):
    assert len(db.q("[:find ?x :in [?x ...]]", "[[1 2] [1 2] [1 2.0]]")) == 2
    assert len(db.q("[:find ?x :in [?x ...]]", "[#{1 2} #{2 1} {:a 1} {:a 1}]")) == 2
    assert db.q("[:find ?x :in [?x ...] :where [(= ?x [1 2])]]", "[[1 2] [1 2.0] [2 1]]") == "#{[[1 2]]}"


def test_strings_and_chars_and_symbols_differ(db):
    assert len(db.q("[:find ?x :in [?x ...]]", '["a" \\a a :a]')) == 4


def test_large_and_small_numbers(db):
    numbers = "[9223372036854775807 -9223372036854775808 576460752303423488 -576460752303423489 0 4294967296]"
    assert db.q("[:find [?x ...] :in [?x ...]]", numbers) == "#{" + numbers[1:-1] + "}"
    db.tx("[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]")
    db.tx(f"[{{:db/id 1 :n {numbers}}}]")
    assert db.q("[:find [?x ...] :where [1 :n ?x]]") == "#{" + numbers[1:-1] + "}"
    assert db.q("[:find ?e :where [?e :n 9223372036854775807] [?e :n -576460752303423489]]") == "#{[1]}"


@pytest.mark.parametrize(
    "value",
    [
        "true",
        "false",
        '"text"',
        '""',
        '"naïve ☃ 𝄞"',
        ":kw",
        ":ns/kw",
        "sym",
        "1.5",
        "##Inf",
        "##-Inf",
        "##NaN",
        "12345678901234567890N",
        "1.10M",
        '#inst "2020-02-29T12:34:56.789Z"',
        '#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',
        '#uri "https://example.org/x"',
        '#bytes "AAEC/w=="',
    ],
)
def test_every_type_is_stored_found_and_joined(db, value):
    db.tx(f"[[:db/add 1 :v {value}] [:db/add 2 :w {value}]]")
    assert db.q("[:find ?v . :where [1 :v ?v]]") == value
    assert db.q(f"[:find ?e :where [?e :v {value}]]") == "#{[1]}"
    assert db.q("[:find ?a ?b :where [?a :v ?x] [?b :w ?x]]") == "#{[1 2]}"
    assert db.q("[:find ?e :in $ ?v :where [?e :v ?v]]", value) == "#{[1]}"
    if value != "sym":  # where a term is expected a symbol is a variable
        assert db.q(f"[:find ?e :where [?e :v ?v] [(= ?v {value})]]") == "#{[1]}"


def test_long_and_double_differ_under_not_and_or(db):
    assert db.q("[:find ?x :in [?x ...] :where (not [(ground 1.0) ?x])]", "[1 1.0 2]") == "#{[1] [2]}"
    query = "[:find ?x ?how :in [?x ...] :where (or (and [(ground 1) ?x] [(ground :long) ?how])\n"
    query += "(and [(ground 1.0) ?x] [(ground :double) ?how]))]"
    assert db.q(query, "[1 1.0]") == "#{[1 :long] [1.0 :double]}"


def test_groups_of_long_and_double_differ(db):
    rows = "[[1 10] [1.0 20] [1 30]]"
    assert db.q("[:find ?x (sum ?y) :in [[?x ?y]]]", rows) == "#{[1 40] [1.0 20]}"
