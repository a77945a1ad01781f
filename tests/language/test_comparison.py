"""`< > <= >=` compare numbers by value, are false where there is no common order, and never fail."""

from __future__ import annotations

import pytest

MIXED = '[1 2.5 3N 4M "b" :b b \\b true #inst "2020-01-01" [1 2]]'


@pytest.mark.parametrize(
    ("predicate", "answer"),
    [
        ("(< ?x 3)", "#{1 2.5}"),
        ("(<= ?x 3)", "#{1 2.5 3N}"),
        ("(> ?x 3)", "#{4M}"),
        ("(>= ?x 3)", "#{3N 4M}"),
        ('(< ?x "c")', '#{"b"}'),
        ('(>= ?x "c")', "#{}"),
        ("(< ?x :c)", "#{:b}"),
        ('(< ?x #inst "2021-01-01")', '#{#inst "2020-01-01"}'),
        ("(< 1 ?x 4)", "#{2.5 3N}"),
        ("(<= 1 ?x 2.5 3)", "#{1 2.5}"),
        ("(< ?x 1000)", "#{1 2.5 3N 4M}"),
        ("(not= ?x 1)", '#{2.5 3N 4M "b" :b b \\b true #inst "2020-01-01" [1 2]}'),
    ],
)
def test_comparisons_over_mixed_values(db, predicate, answer):
    assert db.q(f"[:find [?x ...] :in [?x ...] :where [{predicate}]]", MIXED) == answer


def test_no_common_order_is_false_both_ways(db):
    pairs = '[[1 "a"] [:a "a"] [true 1] [nil 1] [#inst "2020-01-01" 5]]'
    for operator in ("<", ">", "<=", ">="):
        assert db.q(f"[:find ?x ?y :in [[?x ?y]] :where [({operator} ?x ?y)]]", pairs) == "#{}"


def test_nan_compares_with_nothing(db):
    for operator in ("<", ">", "<=", ">="):
        assert db.q(f"[:find ?x :in [?x ...] :where [({operator} ?x 1.0)]]", "[##NaN]") == "#{}"


def test_comparisons_across_numeric_types_are_exact(db):
    assert db.q("[:find ?x . :in ?x :where [(< 9007199254740992.0 ?x)]]", "9007199254740993") == "9007199254740993"
    assert db.q("[:find ?x . :in ?x :where [(> ?x 0.1)]]", "0.1M") == "nil"


def test_strings_compare_by_character(db):
    assert (
        db.q('[:find [?x ...] :in [?x ...] :where [(< ?x "b")]]', '["a" "ab" "B" "b" "ba" ""]')
        == '#{"a" "ab" "B" ""}'
    )


def test_a_range_on_an_attribute(db):
    forms = " ".join(f"[:db/add {number} :age {number * 10}]" for number in range(1, 10))
    db.tx(f"[{forms}]")
    assert db.q("[:find [?e ...] :where [?e :age ?a] [(< 25 ?a 55)]]") == "#{3 4 5}"
    assert db.q("[:find [?e ...] :where [?e :age ?a] [(>= ?a 25)] [(<= ?a 50.0)]]") == "#{3 4 5}"


def test_two_attributes_compared(db):
    db.tx("[{:db/id 1 :low 5 :high 9} {:db/id 2 :low 9 :high 5} {:db/id 3 :low 5 :high 5}]")
    assert db.q("[:find ?e :where [?e :low ?l] [?e :high ?h] [(< ?l ?h)]]") == "#{[1]}"
    assert db.q("[:find ?e :where [?e :low ?l] [?e :high ?h] [(= ?l ?h)]]") == "#{[3]}"


def test_one_argument_is_always_in_order(db):
    assert db.q("[:find ?x :in ?x :where [(< ?x)]]", "1") == "#{[1]}"


def test_comparison_as_a_function(db):
    assert db.q("[:find ?x ?less :in [?x ...] :where [(< ?x 2) ?less]]", "[1 3]") == "#{[1 true] [3 false]}"
