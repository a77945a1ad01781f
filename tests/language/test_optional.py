"""`optional`: a left join. Each row outside has all solutions of its clauses, or one row with nil."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import Code
from adalog.executor.question.request import QueryRequest

ISSUES = ":where [?i :title ?t] (optional [?i :owner ?p] [?p :name ?n])"


@pytest.fixture
def issues(db):
    db.tx(
        """[{:db/ident :owner :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
            {:db/ident :tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]"""
    )
    db.tx(
        """[{:db/id 1 :title "a" :size 3 :owner 11 :tag ["x" "y"]} {:db/id 2 :title "b" :owner 12}
            {:db/id 3 :title "c" :size 5}
            {:db/id 11 :name "Ada" :phone "1"} {:db/id 12 :name "Bob"}]"""
    )
    return db


def test_a_row_without_a_solution_has_nil(issues):
    assert issues.q(f"[:find ?t ?n {ISSUES}]") == '#{["a" "Ada"] ["b" "Bob"] ["c" nil]}'


def test_a_row_has_all_its_solutions(issues):
    query = "[:find ?t ?g :where [?i :title ?t] (optional [?i :tag ?g])]"
    assert issues.q(query) == '#{["a" "x"] ["a" "y"] ["b" nil] ["c" nil]}'


def test_what_looks_into_the_database_takes_nil_for_no_entity(issues):
    where = "[?i :title ?t] (optional [?i :owner ?p])"
    query = f'[:find ?t ?n :where {where} [(get-else $ ?p :name "-") ?n]]'
    assert issues.q(query) == '#{["a" "Ada"] ["b" "Bob"] ["c" "-"]}'
    assert issues.q(f"[:find ?t :where {where} [(missing? $ ?p :phone)]]") == '#{["b"] ["c"]}'
    assert issues.q(f"[:find ?t ?x :where {where} [(get-some $ ?p :phone :name) [_ ?x]]]") == (
        '#{["a" "1"] ["b" "Bob"]}'
    )
    assert issues.q(f"[:find ?t :where {where} [(entid $ ?p) ?e]]") == '#{["a"] ["b"]}'


def test_the_order_of_clauses_does_not_matter(issues):
    query = "[:find ?t ?n :where (optional [?i :owner ?p] [?p :name ?n]) [?i :title ?t]]"
    assert issues.q(query) == '#{["a" "Ada"] ["b" "Bob"] ["c" nil]}'


def test_optionals_nest(issues):
    where = "[?i :title ?t] (optional [?i :owner ?p] [?p :name ?n] (optional [?p :phone ?f]))"
    assert issues.q(f"[:find ?t ?n ?f :where {where}]") == '#{["a" "Ada" "1"] ["b" "Bob" nil] ["c" nil nil]}'


def test_clauses_of_all_kinds_within(issues):
    where = (
        "[?i :title ?t] (optional (or-join [?i ?g] [?i :tag ?g] (and [?i :size ?s] [(str ?s) ?g])) "
        '(not [?i :owner 12]) [(not= ?g "x")] (sized ?i))'
    )
    rules = "[[(sized ?x) [?x :size]]]"
    assert issues.q(f"[:find ?t ?g :where {where} :rules {rules}]") == '#{["a" "y"] ["a" "3"] ["b" nil] ["c" "5"]}'


def test_one_that_shares_nothing_has_all_its_solutions_or_a_row_of_nils(issues):
    assert (
        issues.q("[:find ?t ?s :where [?i :title ?t] [(= ?i 2)] (optional [_ :size ?s])]") == '#{["b" 3] ["b" 5]}'
    )
    assert issues.q("[:find ?t ?s :where [?i :title ?t] [(= ?i 2)] (optional [_ :none ?s])]") == '#{["b" nil]}'


def test_one_alone(issues):
    assert issues.q("[:find ?i ?s :where (optional [?i :size ?s])]") == "#{[1 3] [3 5]}"
    assert issues.q("[:find ?i ?s :where (optional [?i :none ?s])]") == "#{[nil nil]}"


def test_no_rows_outside(issues):
    assert issues.q("[:find ?i ?s :where [?i :none] (optional [?i :size ?s])]") == "#{}"


def test_an_argument_is_shared(issues):
    query = "[:find ?s :in $ [?i ...] :where (optional [?i :size ?s])]"
    assert issues.q(query, "[1 2 2 4]") == "#{[3] [nil]}"


def test_a_strict_schema_refuses_undeclared_attributes(strict):
    strict.refuses(Code.UNKNOWN_ATTRIBUTE, "[:find ?v :where (optional [_ ‸:none ?v])]", says=":none")


def test_other_sources_and_moments(issues):
    old = issues.at(t=1)
    query = "[:find ?t ?n :in $ $old :where [?i :title ?t] ($old optional [?i :owner ?p] [?p :name ?n])]"
    assert issues.q(query, old) == '#{["a" nil] ["b" nil] ["c" nil]}'
    issues.tx("[[:db/retract 1 :owner 11]]")
    query = f"[:find ?t ?n {ISSUES}]"
    assert issues.q(query) == '#{["a" nil] ["b" "Bob"] ["c" nil]}'
    assert issues.at(history=True).q(query) == '#{["a" "Ada"] ["b" "Bob"] ["c" nil]}'
    assert issues.at(since=2).q(query) == "#{}"


def test_a_list_of_tuples_may_be_optional(issues):
    query = "[:find ?t ?c :in $ $rel :where [?i :title ?t] (optional [$rel ?t ?c])]"
    assert issues.q(query, '[["a" 1] ["a" 2] ["b" 3]]') == '#{["a" 1] ["a" 2] ["b" 3] ["c" nil]}'


def test_a_query_within(issues):
    query = "[(q [:find ?t ?s :where [?i :title ?t] (optional [?i :size ?s])] $) [[?t ?s]]]"
    assert issues.q(f"[:find ?t ?s :where {query}]") == '#{["a" 3] ["c" 5]}'
    within = "(optional [(q [:find (max ?n) . :in $ ?i :where [?i :size ?n]] $ ?i) ?s])"
    assert issues.q(f"[:find ?t ?s :where [?i :title ?t] {within}]") == '#{["a" 3] ["b" nil] ["c" 5]}'


# Nil


@pytest.mark.parametrize("comparison", ["=", "==", "not=", "!=", "<", ">", "<=", ">="])
def test_comparisons_with_nil_are_false(issues, comparison):
    sized = "[?i :title ?t] (optional [?i :size ?s])"
    for call in (f"({comparison} ?s 4)", f"({comparison} 4 ?s)", f"({comparison} ?s nil)", f"({comparison} ?s ?u)"):
        other = "[?j :title] (optional [?j :size ?u]) [(nil? ?u)]"
        rows = issues.q(f"[:find ?t :where {sized} {other} [{call}]]").rows
        assert ("b",) not in rows, call
        assert len(rows) == 0 or "nil" not in call, call
        value = issues.q(f"[:find {call} . :where {sized} {other} [(nil? ?s)]]").value
        assert value is False, call


def test_other_conditions_on_nil(issues):
    for call in ("(in ?s [3 4])", "(not-in ?s [3 4])", "(between ?s 1 9)", '(like (str ?s) "9%")'):
        rows = issues.q(f"[:find ?t :where [?i :title ?t] (optional [?i :size ?s]) [{call}]]").rows
        assert ("b",) not in rows, call
    for call in ('(like ?n "%")', '(not-like ?n "B%")'):
        assert ("c",) not in issues.q(f"[:find ?t {ISSUES} [{call}]]").rows, call
    assert issues.q(f"[:find ?t {ISSUES} [(nil? ?n)]]") == '#{["c"]}'
    assert issues.q(f"[:find ?t {ISSUES} [(some? ?n)]]") == '#{["a"] ["b"]}'


def test_an_order_looks_up_no_row_for_nil(issues):
    query = "[:find ?t ?u :where [?i :title ?t] (optional [?i :size ?s]) [?j :size ?m] [?j :title ?u] [(<= ?m ?s)]]"
    assert issues.q(query) == '#{["a" "a"] ["c" "a"] ["c" "c"]}'


def test_functions_take_nil_by_their_own_rules(issues):
    sized = ":where [?i :title ?t] (optional [?i :size ?s])"
    assert issues.q(f"[:find ?t ?n {sized} [(coalesce ?s 0) ?n]]") == '#{["a" 3] ["b" 0] ["c" 5]}'
    assert issues.q(f"[:find ?t ?n {sized} [(+ ?s 1) ?n]]") == '#{["a" 4] ["c" 6]}'
    assert issues.q(f"[:find ?t (+ ?s 1) {sized}]") == '#{["a" 4] ["b" nil] ["c" 6]}'


def test_aggregates_skip_nil(issues):
    sized = ":where [?i :title ?t] (optional [?i :size ?s])"
    assert issues.q(f"[:find (count ?s) (sum ?s) (min ?s) (count ?i) {sized}]") == "#{[2 8 3 3]}"
    query = "[:find ?t (count ?s) (count-distinct ?s) (sum ?s) (avg ?s) (max ?s) (distinct ?s)"
    assert issues.q(f'{query} {sized} [(= ?t "b")]]') == '#{["b" 0 0 nil nil nil nil]}'
    assert issues.q(f"[:find (count ?s) . :with ?i {sized}]") == "2"
    assert issues.q(f"[:find ?t (sum ?s) {sized} :having [(> (sum ?s) 3)]]") == '#{["c" 5]}'


def test_nil_is_one_group(issues):
    issues.tx('[{:db/id 4 :title "d"}]')
    query = "[:find ?s (count ?i) :where [?i :title] (optional [?i :size ?s])]"
    assert issues.q(query) == "#{[3 1] [5 1] [nil 2]}"


def test_nil_is_last_in_either_direction(issues):
    sized = ":where [?i :title ?t] (optional [?i :size ?s])"
    assert issues.q(f"[:find ?t ?s {sized} :order-by [?s]]") == '[["a" 3] ["c" 5] ["b" nil]]'
    assert issues.q(f"[:find ?t ?s {sized} :order-by [?s :desc]]") == '[["c" 5] ["a" 3] ["b" nil]]'
    assert issues.q(f"[:find ?t {sized} :order-by [?s :desc] :limit 2]") == '[["c"] ["a"]]'


def test_a_pull_of_nil_is_nil(issues):
    query = f"[:find ?t (pull ?p [:name]) {ISSUES}]"
    assert issues.q(query) == '#{["a" {:name "Ada"}] ["b" {:name "Bob"}] ["c" nil]}'


# Where it may stand


def test_in_a_rule_whose_head_does_not_show_it(issues):
    rules = "[[(free ?i) [?i :title] (optional [?i :owner ?p]) [(nil? ?p)]]]"
    assert issues.q(f"[:find ?t :where (free ?i) [?i :title ?t] :rules {rules}]") == '#{["c"]}'


def test_in_or_join_and_not(issues):
    within = "[?i :title ?t] (optional [?i :size ?s]) [(nil? ?s)]"
    assert issues.q(f"[:find ?t :where (or-join [?t] (and {within}) [_ :phone ?t])]") == '#{["b"] ["1"]}'
    assert issues.q(f"[:find ?t :where [?i :title ?t] (not {within})]") == '#{["a"] ["c"]}'


def test_a_rule_named_optional_wins(issues):
    query = "[:find ?t :where [?i :title ?t] (optional ?i) :rules [[(optional ?x) [?x :owner 12]]]]"
    assert issues.q(query) == '#{["b"]}'
    given = "[:find ?t :in $ % :where [?i :title ?t] (optional ?i)]"
    assert issues.q(given, "[[(optional ?x) [?x :owner 12]]]") == '#{["b"]}'
    assert issues.q(f"[:find ?t ?n :in $ % {ISSUES}]", "[]") == '#{["a" "Ada"] ["b" "Bob"] ["c" nil]}'


OWNED = "[?i :title ?t] (optional [?i :owner ?p])"


@pytest.mark.parametrize(
    "where",
    [
        f"{OWNED} [‸?p :name ?n]",
        f"{OWNED} (optional [‸?p :name ?n])",
        f'{OWNED} (not [‸?p :name "Ada"])',
        f'{OWNED} (not-join [‸?p] [?p :name "Ada"])',
        f"{OWNED} (or [(nil? ‸?p)] [(> ?p 3)])",
        f"{OWNED} (or-join [[‸?p]] [(nil? ?p)])",
        f"{OWNED} (big ‸?p) :rules [[(big ?x) [(> ?x 3)]]]",
        "[?i :title ?t] (owned ?i ?p) :rules [[(owned ?i ?p) [?i :title] (optional [?i :owner ‸?p])]]",
        "[?i :title ?t] (owned ?i ?n) :rules [[(owned ?i (count ?p)) [?i :title] (optional [?i :owner ‸?p])]]",
        "(or (and [?i :title ?t] (optional [?i :size ‸?p])) (and [?i :name ?t] [?i :phone ?p]))",
        "(or-join [?t ?p] (and [?i :title ?t] (optional [?i :size ‸?p])) (and [?i :name ?t] [?i :phone ?p]))",
        "[?i :title ?t] (optional [?i :owner ?p] [?p :size ?s]) ‸(big ?p) :rules [[(big ?x) [(> ?x 3)]]]",
    ],
)
def test_what_may_be_nil_cannot_stand_in_other_clauses(issues, where):
    issues.refuses(Code.QUERY_INVALID, f"[:find ?t :where {where}]", says="use coalesce")


def test_a_recursion_through_optional_is_unstratifiable(issues):
    rules = "[[(up ?i) [?i :owner ?p] (optional (up ?p) [?p :name ?n]) [(some? ?n)]]]"
    query = f"[:find ?i :where (up ?i) :rules {rules}]"
    issues.refuses(Code.UNSTRATIFIABLE, query, says="up → optional up")


def test_an_empty_one_is_refused(issues):
    issues.refuses(Code.QUERY_INVALID, "[:find ?t :where [?i :title ?t] ‸(optional)]", says="at least one clause")


def test_explain_shows_it_as_it_is_written(issues):
    explained = issues.pool.explain(QueryRequest(f"[:find ?t ?n {ISSUES}]"))
    assert [each["kind"] for each in explained.plan["extenders"]["children"]] == ["pattern", "optional"]
    assert "propose/intersect (optional [?i :owner ?p] [?p :name ?n])" in explained.text
