"""Calls within calls, and conditionals."""

from __future__ import annotations

import pytest

from adalog.executor.question.request import QueryRequest

DATA = """[{:db/id 1 :line/price 10.5M :line/discount 0.1M :line/qty 3 :line/note "a" :line/weight 1.5}
           {:db/id 2 :line/price 20M :line/discount 0M :line/qty 0 :line/weight 0.25}
           {:db/id 3 :line/price 1M :line/discount 0.5M :line/qty -2 :line/note "c" :line/weight 4.0}]"""


@pytest.fixture
def lines(db):
    db.tx(DATA)
    return db


def test_a_call_within_a_call(lines):
    found = lines.q("[:find ?e ?r :where [?e :line/price ?p] [?e :line/discount ?d] [(* ?p (- 1 ?d)) ?r]]")
    assert found == "#{[1 9.45M] [2 20M] [3 0.5M]}"


def test_calls_on_doubles_and_longs(lines):
    found = lines.q("[:find ?e ?r :where [?e :line/weight ?w] [?e :line/qty ?q] [(/ (+ ?w 1 ?q) (* 2 (- ?w))) ?r]]")
    assert found == "#{[1 -1.8333333333333333] [2 -2.5] [3 -0.375]}"


def test_a_comparison_of_calls(lines):
    assert lines.q("[:find ?e :where [?e :line/qty ?q] [(< (abs ?q) (inc (* 1 ?q)))]]") == "#{[1] [2]}"
    assert lines.q("[:find ?e :where [?e :line/qty ?q] [(= ?q (- 5 2))]]") == "#{[1]}"
    assert lines.q("[:find ?e :in $ ?n :where [?e :line/qty ?q] [(< (- ?n 3) ?q (+ ?n 1))]]", 0) == "#{[2] [3]}"


def test_if_without_an_else_drops_the_row(lines):
    assert lines.q("[:find ?e ?r :where [?e :line/qty ?q] [(if (pos? ?q) :many) ?r]]") == "#{[1 :many]}"


def test_only_the_chosen_value_is_computed(lines):
    assert (
        lines.q("[:find ?e ?r :where [?e :line/qty ?q] [(if (= ?q 0) 0 (quot 6 ?q)) ?r]]")
        == "#{[1 2] [2 0] [3 -3]}"
    )
    assert lines.q("[:find ?e :where [?e :line/qty ?q] [(and (not= ?q 0) (pos? (quot 6 ?q)))]]") == "#{[1]}"
    assert lines.q("[:find ?e :where [?e :line/qty ?q] [(or (= ?q 0) (pos? (quot 6 ?q)))]]") == "#{[1] [2]}"
    lines.refuses(
        "QUERY_INVALID", "[:find ?r :where [?e :line/qty ?q] [(+ 1 ‸(quot 6 ?q)) ?r]]", says="divides by zero"
    )


def test_cond(lines):
    text = '[:find ?e ?r :where [?e :line/qty ?q] [(cond (< ?q 0) "less" (= ?q 0) "none" :else (str "+" ?q)) ?r]]'
    assert lines.q(text) == '#{[1 "+3"] [2 "none"] [3 "less"]}'


def test_case_compares_with_constants(lines):
    text = "[:find ?e ?r :where [?e :line/qty ?q] [(case ?q 0 :none (3 -2) :some) ?r]]"
    assert lines.q(text) == "#{[1 :some] [2 :none] [3 :some]}"
    assert lines.q("[:find ?e ?r :where [?e :line/qty ?q] [(case ?q 3.0 1 0) ?r]]") == "#{[1 0] [2 0] [3 0]}"


def test_coalesce_and_nil(lines):
    text = "[:find ?e ?r :where [?e :line/qty ?q] [(coalesce (+ 1 (if (pos? ?q) ?q)) -1) ?r]]"
    assert lines.q(text) == "#{[1 4] [2 -1] [3 -1]}"
    assert lines.q("[:find ?x :where [(+ 1 nil) ?x]]") == "#{}"
    assert lines.q("[:find ?x . :where [(nil? (year nil)) ?x]]") == "true"


def test_a_database_is_looked_into_within_a_call(lines):
    text = '[:find ?e ?r :where [?e :line/qty] [(str (get-else $ ?e :line/note "no") "!") ?r]]'
    assert lines.q(text) == '#{[1 "a!"] [2 "no!"] [3 "c!"]}'
    text = (
        '[:find ?e ?r :where [?e :line/qty] [(if (missing? $ ?e :line/note) "-" (get-else $ ?e :line/note "")) ?r]]'
    )
    assert lines.q(text) == '#{[1 "a"] [2 "-"] [3 "c"]}'
    assert lines.warnings("[:find ?r :where [?e :line/qty] [(if true (get-else $ ?e :line/note 1)) ?r]]") == []


def test_a_name_within_a_call_is_checked(lines):
    text = "[:find ?r :where [?e :line/qty] [(str (get-else $ ?e ‸:line/nota 1)) ?r]]"
    assert lines.warnings(text) == ["UNKNOWN_ATTRIBUTE"]


def test_a_call_binds_a_collection(lines):
    text = "[:find ?e ?a ?b :where [?e :line/qty ?q] [(vector (inc ?q) (str ?q)) [?a ?b]]]"
    assert lines.q(text) == '#{[1 4 "3"] [2 1 "0"] [3 -1 "-2"]}'


def test_a_recursion_that_betters_a_sum_of_calls(db):
    db.tx("[{:db/id 1 :to 2 :cost 5} {:db/id 2 :to 3 :cost 7} {:db/id 3 :to 1 :cost 1}]")
    text = """[:find ?n ?d :rules [[(far ?n (min ?d)) [(ground 1) ?n] [(ground 0) ?d]]
                                   [(far ?n (min ?d)) (far ?m ?c) [?m :to ?n] [?m :cost ?w] [(+ 1 (+ ?c ?w)) ?d]]]
               :where (far ?n ?d)]"""
    assert db.q(text) == "#{[1 0] [2 6] [3 14]}"


def test_a_plan_shows_the_calls(lines):
    text = "[:find ?r :where [?e :line/qty ?q] [(if (pos? ?q) (inc ?q) 0) ?r]]"
    assert "[(if (pos? ?q) (inc ?q) 0) ?r]" in str(lines.pool.explain(QueryRequest(text)))
