"""Clauses that only a comparison ties together: `=` makes one of two variables, `==` finds equal numbers."""

from __future__ import annotations

import pytest


@pytest.fixture
def tied(db):
    db.tx(
        """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :d :db/valueType :db.type/double}
            {:db/ident :b :db/valueType :db.type/bigdec} {:db/ident :m :db/valueType :db.type/long}]""",
        """[{:db/id 1 :n 1} {:db/id 2 :n 2} {:db/id 3 :n 9007199254740993}
            {:db/id 11 :d 1.0} {:db/id 12 :d 2.5} {:db/id 13 :d 9007199254740992.0} {:db/id 14 :d ##NaN}
            {:db/id 21 :b 1M} {:db/id 22 :b 2.50M} {:db/id 23 :b 9007199254740993M}
            {:db/id 31 :m 2} {:db/id 32 :m 3}]""",
    )
    return db


def test_equal_variables_are_both_found(tied):
    assert tied.q("[:find ?n ?m :where [_ :n ?n] [_ :m ?m] [(= ?n ?m)]]") == "#{[2 2]}"
    assert tied.q("[:find ?e ?f :where [?e :n ?n] [?f :m ?m] [(= ?n ?m ?k)] [_ :n ?k]]") == "#{[2 31]}"


def test_equality_is_typed(tied):
    assert tied.q("[:find ?e ?f :where [?e :n ?n] [?f :d ?d] [(= ?n ?d)]]") == "#{}"


def test_numbers_of_several_types_by_value(tied):
    assert tied.q("[:find ?e ?f :where [?e :n ?n] [?f :d ?d] [(== ?n ?d)]]") == "#{[1 11]}"
    assert tied.q("[:find ?e ?f :where [?e :n ?n] [?f :b ?b] [(== ?b ?n)]]") == "#{[1 21] [3 23]}"
    assert tied.q("[:find ?e ?f :where [?e :d ?d] [?f :b ?b] [(== ?b ?d)]]") == "#{[11 21] [12 22]}"


def test_nan_is_itself_by_equality_and_no_number(tied):
    assert tied.q("[:find ?x :where [_ :d ?x] [_ :d ?y] [(= ?x ?y)] [(= ?y ##NaN)]]") == "#{[##NaN]}"
    assert tied.q("[:find ?x :where [_ :d ?x] [_ :d ?y] [(== ?x ?y)] [(= ?y ##NaN)]]") == "#{}"


def test_an_equality_holds_in_its_branch_alone(tied):
    found = "[:find ?n ?m :where [_ :n ?n] [_ :m ?m] (or [(= ?n ?m)] (and [(= ?n 1)] [(> ?m 2)]))]"
    assert tied.q(found) == "#{[2 2] [1 3]}"


def test_a_not_that_only_a_comparison_ties_to_the_rest(tied):
    assert tied.q("[:find ?n :where [_ :n ?n] (not [_ :m ?m] [(= ?m ?n)])]") == "#{[1] [9007199254740993]}"
    assert tied.q("[:find ?n :where [_ :n ?n] (not [_ :d ?m] [(== ?m ?n)])]") == "#{[2] [9007199254740993]}"
    assert tied.q("[:find ?n :where [_ :n ?n] (not [?f :m ?m] [(> ?m ?n)])]") == "#{[9007199254740993]}"
    assert tied.q("[:find ?n :where [_ :n ?n] (not [?f :m ?m] [(odd? ?m)] [(< ?m ?n)])]") == "#{[1] [2]}"


def test_what_is_computed_is_equal_too(tied):
    assert tied.q("[:find ?n ?w :where [_ :n ?n] [(inc ?n) ?k] [(= ?k ?w)] [_ :m ?w]]") == "#{[1 2] [2 3]}"
    assert tied.q("[:find ?m :where [_ :m ?m] (not [_ :n ?n] [(identity ?n) ?m])]") == "#{[3]}"


def test_an_equality_in_a_rule(tied):
    rule = ":rules [[(same ?x ?y) [?x :n ?n] [?y :m ?m] [(= ?n ?m)]]]"
    assert tied.q(f"[:find ?x ?y :where (same ?x ?y) {rule}]") == "#{[2 31]}"
    assert tied.q(f"[:find ?x :where (same ?x ?y) [(= ?y 31)] {rule}]") == "#{[2]}"
    assert tied.q(f"[:find ?x :where (same ?x ?y) [(= ?y 32)] {rule}]") == "#{}"


def test_an_equality_with_inputs(tied):
    assert tied.q("[:find ?n :in $ ?x :where [_ :n ?n] [(== ?n ?x)]]", "2.0") == "#{[2]}"
    assert tied.q("[:find ?n ?x :in $ [?x ...] :where [_ :n ?n] [(== ?n ?x)]]", "[1M 2.0 3 nil]") == (
        "#{[1 1M] [2 2.0]}"
    )


def test_an_equality_binds_nothing(tied):
    tied.refuses("UNBOUND_VARIABLE", "[:find ?x :where [_ :n ?n] [(= ‸?x 5)]]", says="?x")
    tied.refuses("UNBOUND_VARIABLE", "[:find ?x :where [_ :n ?n] [(= ‸?x ?n)]]", says="?x")
    tied.refuses("UNBOUND_VARIABLE", "[:find ?m :where [_ :m ?m] [(identity ‸?x) ?m]]", says="?x")


def test_two_names_of_one_value_stay_apart(tied):
    found = tied.q("[:find ?n ?m (count ?e) :with ?f :keys n m c :where [?e :n ?n] [?f :m ?m] [(= ?n ?m)]]")
    assert found == "#{{:n 2 :m 2 :c 1}}"
