"""Calls within calls, and conditionals."""

from __future__ import annotations

import pytest

from adalog.executor.question.request import QueryRequest
from tests.language.test_live_traps import Live

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
    assert lines.q("[:find ?r . :where [(clojure.core/or 1 (quot 6 0)) ?r]]") == "1"
    assert lines.q("[:find ?r . :where [(str (clojure.core/if true 1 (quot 6 0))) ?r]]") == '"1"'
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


# In :find and in aggregates


def test_an_expression_in_find(lines):
    assert lines.q("[:find ?e (* ?p (- 1 ?d)) :where [?e :line/price ?p] [?e :line/discount ?d]]") == (
        "#{[1 9.45M] [2 20M] [3 0.5M]}"
    )
    assert lines.q("[:find [(inc ?q) ...] :where [_ :line/qty ?q]]") == "#{4 1 -1}"
    assert lines.q("{:find (inc ?q) :where [[1 :line/qty ?q]]}") == "#{[4]}"
    assert lines.q("{:find (name age) :where [[name :line/qty age]]}") == "#{[1 3] [2 0] [3 -2]}"


def test_a_column_is_called_as_it_is_written(lines):
    result = lines.run("[:find (inc   ?q) (sum (* 2 ?q)) :where [_ :line/qty ?q]]")
    assert [column.name for column in result.columns] == ["(inc ?q)", "(sum (* 2 ?q))"]


def test_nil_stays_in_find(lines):
    text = "[:find ?e (if (pos? ?q) ?q) :where [?e :line/qty ?q] :order-by [2 :desc 1]]"
    assert lines.q(text) == "[[1 3] [2 nil] [3 nil]]"
    assert lines.q(text.replace(":desc ", "")) == "[[1 3] [2 nil] [3 nil]]"
    assert lines.q("[:find (if (pos? ?q) :more) (count ?e) :where [?e :line/qty ?q]]") == "#{[:more 1] [nil 2]}"


def test_aggregates_skip_nil(lines):
    found = lines.q(
        "[:find (sum (if (pos? ?q) ?q)) (count (if (pos? ?q) ?q)) (max (if (> ?q 9) ?q)) :where [_ :line/qty ?q]]"
    )
    assert found == "#{[3 1 nil]}"
    assert (
        lines.q("[:find (count-distinct (if (> ?q 9) ?q)) (distinct (+ ?q nil)) :where [_ :line/qty ?q]]")
        == "#{[0 nil]}"
    )
    assert lines.q("[:find ?e (count (if (pos? ?q) ?q)) :where [?e :line/qty ?q]]") == "#{[1 1] [2 0] [3 0]}"


def test_the_variables_of_an_aggregates_expression_keep_tuples_apart(db):
    db.tx("[{:x/a 2 :x/b 6} {:x/a 3 :x/b 4} {:x/a 3 :x/b 4}]")
    assert db.q("[:find (sum (* ?a ?b)) . :where [?e :x/a ?a] [?e :x/b ?b]]") == "24"
    assert db.q("[:find (sum (* ?a ?b)) . :with ?e :where [?e :x/a ?a] [?e :x/b ?b]]") == "36"
    assert db.q("[:find (sum ?c) . :where [?e :x/a ?a] [?e :x/b ?b] [(* ?a ?b) ?c]]") == "12"


def test_the_value_of_an_expression_is_a_key_of_groups(lines):
    assert lines.q("[:find (pos? ?q) (sum ?q) :with ?e :where [?e :line/qty ?q]]") == "#{[true 3] [false -2]}"


def test_expressions_over_aggregates(lines):
    assert lines.q("[:find (/ (sum ?p) (count ?e)) . :where [?e :line/price ?p]]") == "10.5M"
    assert lines.q("[:find (- (max ?q) (min ?q)) (str (count ?e)) :where [?e :line/qty ?q]]") == '#{[5 "3"]}'
    assert lines.q("[:find (if (> (count ?e) 9) :many :few) . :where [?e :line/qty]]") == ":few"
    assert lines.q("[:find (coalesce (max (if (> ?q 9) ?q)) 0) . :where [_ :line/qty ?q]]") == "0"


def test_a_variable_beside_aggregates_is_a_key(db):
    db.tx("[{:g/k 1 :g/n 2} {:g/k 1 :g/n 3} {:g/k 2 :g/n 4}]")
    assert db.q("[:find (+ (* 10 ?k) (sum ?n)) :where [?e :g/k ?k] [?e :g/n ?n]]") == "#{[15] [24]}"
    # Two groups show the same row, which is there once.
    assert db.q("[:find (+ (- 5 ?k) (sum (- ?n 5 ?n)) (* 2 ?k)) :where [?e :g/k ?k] [?e :g/n ?n]]") == "#{[-4] [2]}"
    assert db.q("[:find (- (sum ?k) ?k) :where [?e :g/k ?k]]") == "#{[0]}"
    assert db.q("[:find (- (sum ?k) ?k) :where [?e :g/k ?k] :order-by [[(sum ?k) :desc]] :limit 5]") == "[[0]]"


def test_within_an_aggregate_min_max_and_count_are_functions(lines):
    assert lines.q("[:find (sum (max 0 ?q)) (max 0 ?q) (max (min ?q 1)) :where [_ :line/qty ?q]]") == "#{[3 [] 1]}"


def test_order_by_expressions(lines):
    assert lines.q("[:find ?e :where [?e :line/qty ?q] :order-by [(abs ?q)]]") == "[[2] [3] [1]]"
    assert lines.q("[:find ?e :where [?e :line/qty ?q] :order-by [(abs ?q) :desc] :limit 1]") == "[[1]]"
    assert (
        lines.q("[:find ?e (sum ?q) :where [?e :line/qty ?q] :order-by [(- (sum ?q)) ?e]]")
        == "[[1 3] [2 0] [3 -2]]"
    )
    assert lines.q("[:find ?e :with ?q :where [?e :line/qty ?q] :order-by [(sum ?q)]]") == "[[3] [2] [1]]"


# :having


def test_having_drops_groups(db):
    db.tx("[{:g/k 1 :g/n 2} {:g/k 1 :g/n 3} {:g/k 2 :g/n 4} {:g/k 3 :g/n 9}]")
    where = ":where [?e :g/k ?k] [?e :g/n ?n]"
    assert db.q(f"[:find ?k (sum ?n) {where} :having [(> (sum ?n) 4)]]") == "#{[1 5] [3 9]}"
    assert db.q(f"[:find ?k {where} :with ?n :having [(> (sum ?n) 4) [(< (count ?n) 2)]]]") == "#{[3]}"
    assert db.q(f"[:find ?k (sum ?n) {where} :having (> (sum ?n) 4) (not= ?k 3)]") == "#{[1 5]}"
    assert db.q(f"[:find ?k (sum ?n) {where} :having [(or (= ?k 3) (< (sum ?n) 5))]]") == "#{[2 4] [3 9]}"
    assert db.q(f"[:find (sum ?n) . {where} :having [(> (sum ?n) 40)]]") == "nil"
    text = f"[:find ?k (sum ?n) {where} :having [(> (sum (* 2 ?n)) 9)] :order-by [2 :desc] :limit 1]"
    assert db.q(text) == "[[3 9]]"
    assert db.q(f"[:find (odd? ?k) (sum ?n) {where} :having [(odd? ?k)]]") == "#{[true 14]}"
    assert db.q(f"[:find ?k {where} :having [(> ?k 1)]]") == "#{[2] [3]}"
    assert (
        db.q(f"{{:find [?k] :with [?n] {where[:6]} [[?e :g/k ?k] [?e :g/n ?n]] :having (= (count ?n) 2)}}")
        == "#{[1]}"
    )


def test_having_and_order_by_take_what_in_gives_one_value(db):
    db.tx("[{:db/id 1 :g/k 1 :g/n 5} {:db/id 2 :g/k 2 :g/n 4} {:db/id 3 :g/k 3 :g/n 9}]")
    where = ":where [?e :g/k ?k] [?e :g/n ?n]"
    assert db.q(f"[:find ?k :in $ ?x {where} :with ?n :having [(> (sum ?n) (+ ?x 1))]]", 3) == "#{[1] [3]}"
    assert db.q(f"[:find (sum ?n) . :in $ ?x {where} :having [(> (sum ?n) ?x) (< ?x 18)]]", 17) == "18"
    assert db.q(f"[:find (sum ?n) . :in $ ?x {where} :having [(> (sum ?n) ?x) (< ?x 18)]]", 18) == "nil"
    assert db.q(f"[:find ?k (sum ?n) :in $ ?x {where} :order-by [(* ?x (sum ?n))]]", -1) == "([3 9] [1 5] [2 4])"
    inner = f"[:find ?k (sum ?n) :in $ ?x {where} :having [(> (sum ?n) ?x)]]"
    assert db.q(f"[:find ?x ?k :in $ [?x ...] :where [(q {inner} $ ?x) [[?k _]]]]", "[4 5 9]") == (
        "#{[4 1] [4 3] [5 3]}"
    )
    db.refuses("QUERY_INVALID", f"[:find ?k :in $ [?x ...] {where} :with ?n :having [(> (sum ?n) ‸?x)]]", "[3]")


def test_having_within_a_query_within(db):
    db.tx("[{:g/k 1 :g/n 2} {:g/k 1 :g/n 3} {:g/k 2 :g/n 4}]")
    inner = "[:find ?k (sum ?n) :where [?e :g/k ?k] [?e :g/n ?n] :having [(> (sum ?n) 4)]]"
    assert db.q(f"[:find ?k ?s :where [(q {inner} $) [[?k ?s]]]]") == "#{[1 5]}"
    inner = "[:find (+ 1 (sum ?n)) . :in $ ?k :where [?e :g/k ?k] [?e :g/n ?n]]"
    assert db.q(f"[:find ?k ?s :where [_ :g/k ?k] [(q {inner} $ ?k) ?s]]") == "#{[1 6] [2 5]}"


def test_a_live_query_follows_expressions(db):
    db.tx("[{:db/id 1 :g/k 1 :g/n 2} {:db/id 2 :g/k 1 :g/n 3} {:db/id 3 :g/k 2 :g/n 4}]")
    where = ":where [?e :g/k ?k] [?e :g/n ?n]"
    sums = Live(db, f"[:find ?k (* 2 (sum ?n)) {where} :having [(> (sum ?n) 4)]]")
    counts = Live(db, f"[:find (odd? ?k) (count (if (> ?n 2) ?n)) :with ?e {where}]")
    values = Live(db, f"[:find ?e (if (> ?n 2) (+ ?n ?k)) {where}]")
    change = "[[:db/add 2 :g/n 1] [:db/add 3 :g/n 8]]"
    assert sums.tx(change) == "+[2 16] -[1 10]"
    assert counts.tx("[]") == "+[true 0] -[true 1]"
    assert values.tx("[]") == "+[2 nil] +[3 10] -[2 4] -[3 6]"


def test_explain_shows_what_groups_are_computed_from_and_chosen_by(lines):
    text = "[:find ?p (/ (sum ?q) 2) :where [?l :line/note ?p] [?l :line/qty ?q] :having [(> (sum ?q) 3)]]"
    shown = lines.pool.explain(QueryRequest(text))
    assert shown.plan["groups"] == {"computed": ["(/ (sum ?q) 2)"], "having": ["(> (sum ?q) 3)"]}
    assert "having (> (sum ?q) 3)" in shown.text.splitlines()
