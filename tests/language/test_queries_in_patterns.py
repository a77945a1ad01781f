"""Queries in pull patterns: `(q "key" [:find … :in $ ?entity …])` shows what another query finds for the entity."""

from __future__ import annotations

import asyncio

import pytest

from adalog.executor.pool import PullRequest
from adalog.executor.question.request import QueryRequest
from tests.support import MARK


@pytest.fixture
def tracker(db):
    db.tx(
        """[{:db/ident :issue/title :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
            {:db/ident :issue/parent :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
            {:db/ident :comment/issue :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
            {:db/ident :comment/body :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
            {:db/ident :comment/stars :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
            {:db/ident :comment/by :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
            {:db/ident :user/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
             :db/unique :db.unique/identity}]""",
        """[{:db/id 1 :issue/title "one"} {:db/id 2 :issue/title "two" :issue/parent 1}
            {:db/id 3 :issue/title "three" :issue/parent 2}
            {:db/id 7 :user/name "Ada"} {:db/id 8 :user/name "Byron"}
            {:db/id 11 :comment/issue 1 :comment/body "a" :comment/stars 3 :comment/by 7}
            {:db/id 12 :comment/issue 1 :comment/body "b" :comment/stars 5 :comment/by 8}
            {:db/id 13 :comment/issue 1 :comment/body "c" :comment/by 7}
            {:db/id 21 :comment/issue 2 :comment/body "d" :comment/stars 1 :comment/by 8}]""",
    )
    return db


def issues(tracker, within, ins="", *args):
    query = f"[:find [(pull ?e [:db/id {within}]) ...] :in $ {ins} :where [?e :issue/title] :order-by ?e]"
    return tracker.q(query, *args)


def test_a_collection(tracker):
    found = issues(tracker, '(q "c" [:find [?c ...] :in $ ?e :where [?c :comment/issue ?e] :order-by ?c])')
    assert found == '[{:db/id 1, "c" [11 12 13]} {:db/id 2, "c" [21]} {:db/id 3, "c" []}]'


def test_find_specs(tracker):
    body = ":in $ ?e :where [?c :comment/issue ?e] [?c :comment/stars ?s]"
    assert (
        issues(tracker, f'(q "n" [:find (sum ?s) . {body}])') == '[{:db/id 1, "n" 8} {:db/id 2, "n" 1} {:db/id 3}]'
    )
    assert issues(tracker, f'(q "n" [:find [(min ?s) (max ?s)] {body}])') == (
        '[{:db/id 1, "n" [3 5]} {:db/id 2, "n" [1 1]} {:db/id 3}]'
    )
    assert issues(tracker, f"(q :n [:find ?c ?s {body} :order-by [[?s :desc]]])") == (
        "[{:db/id 1, :n [[12 5] [11 3]]} {:db/id 2, :n [[21 1]]} {:db/id 3, :n []}]"
    )
    assert issues(tracker, f"(q :n [:find ?c ?s {body}])") == (
        "[{:db/id 1, :n #{[12 5] [11 3]}} {:db/id 2, :n #{[21 1]}} {:db/id 3, :n #{}}]"
    )
    assert issues(tracker, f"(q :n [:find ?c ?s :keys c s {body} :order-by ?s :limit 1])") == (
        "[{:db/id 1, :n [{:c 11 :s 3}]} {:db/id 2, :n [{:c 21 :s 1}]} {:db/id 3, :n []}]"
    )


def test_order_and_limit_for_each_entity(tracker):
    body = ":in $ ?e :where [?c :comment/issue ?e] (optional [?c :comment/stars ?s])"
    found = issues(tracker, f'(q "c" [:find [?c ...] {body} :order-by [[?s :desc] ?c] :limit 2])')
    assert found == '[{:db/id 1, "c" [12 11]} {:db/id 2, "c" [21]} {:db/id 3, "c" []}]'
    found = issues(tracker, f'(q "c" [:find [?c ...] {body} :order-by [[?s :desc] ?c] :offset 1 :limit 1])')
    assert found == '[{:db/id 1, "c" [11]} {:db/id 2, "c" []} {:db/id 3, "c" []}]'


def test_pulls_within(tracker):
    found = issues(
        tracker,
        """(q "c" [:find [(pull ?c [[:comment/body :as "b"] {[:comment/by :as "by"] [[:user/name :as "n"]]}]) ...]
                :in $ ?e :where [?c :comment/issue ?e] :order-by ?c :limit 2])""",
    )
    assert (
        found
        == """[{:db/id 1, "c" [{"b" "a" "by" {"n" "Ada"}} {"b" "b" "by" {"n" "Byron"}}]}
                        {:db/id 2, "c" [{"b" "d" "by" {"n" "Byron"}}]} {:db/id 3, "c" []}]"""
    )


COMMENTS_OF = "[:find [?c ...] :in $ ?u {ins} :where [?c :comment/by ?u] {more} :order-by ?c]"


def test_queries_within_queries_and_maps(tracker):
    of_user = COMMENTS_OF.format(ins="", more="")
    found = issues(
        tracker,
        f"""(q "c" [:find [(pull ?c [:db/id {{:comment/by [:user/name (q "of" {of_user})]}}]) ...]
                :in $ ?e :where [?c :comment/issue ?e] :order-by ?c])""",
    )
    ada, byron = '{:user/name "Ada" "of" [11 13]}', '{:user/name "Byron" "of" [12 21]}'
    assert (
        found
        == f"""[{{:db/id 1, "c" [{{:db/id 11 :comment/by {ada}}} {{:db/id 12 :comment/by {byron}}}
                          {{:db/id 13 :comment/by {ada}}}]}}
                         {{:db/id 2, "c" [{{:db/id 21 :comment/by {byron}}}]}} {{:db/id 3, "c" []}}]"""
    )
    of_issue = """(q "up" [:find [(pull ?p [:db/id (q "n" [:find (count ?c) . :in $ ?x
                    :where [?c :comment/issue ?x]])]) ...] :in $ ?e :where [?e :issue/parent ?p]])"""
    assert issues(tracker, of_issue) == (
        '[{:db/id 1 "up" []} {:db/id 2 "up" [{:db/id 1 "n" 3}]} {:db/id 3 "up" [{:db/id 2 "n" 1}]}]'
    )


def test_a_recursion_asks_at_every_level(tracker):
    pattern = '[:db/id {:issue/parent ...} (q "n" [:find (count ?c) . :in $ ?e :where [?c :comment/issue ?e]])]'
    assert tracker.pull(pattern, 3) == ('{:db/id 3 :issue/parent {:db/id 2 "n" 1 :issue/parent {:db/id 1 "n" 3}}}')


def test_arguments_of_the_query_around(tracker):
    least = "[:find [?c ...] :in $ ?e ?least :where [?c :comment/issue ?e] [?c :comment/stars ?s] [(<= ?least ?s)]]"
    assert (
        issues(tracker, f"(q :c {least})", "?least", 4) == "[{:db/id 1 :c [12]} {:db/id 2 :c []} {:db/id 3 :c []}]"
    )
    by = "[:find [?c ...] :in $ ?e {} :where [?c :comment/issue ?e] [?c :comment/by ?by] :order-by ?c]"
    ada = "[{:db/id 1 :c [11 13]} {:db/id 2 :c []} {:db/id 3 :c []}]"
    assert issues(tracker, f"(q :c {by.format('?by')})", "?by", '[:user/name "Ada"]') == ada
    for written in ("?by", "[?by ...]"):
        within = f"(q :c {by.format(written)})"
        assert issues(tracker, within, "[?by ...]", '[[:user/name "Ada"]]') == ada
        # The entities are there whatever the list has.
        assert issues(tracker, within, "[?by ...]", "[]") == "[{:db/id 1 :c []} {:db/id 2 :c []} {:db/id 3 :c []}]"
        assert len(issues(tracker, within, "[?by ...]", "[7 8]").value[0].items()) == 2
    assert issues(tracker, f"(q :c {by.format('[[?by ?z]]')})", "[[?by ?z]]", "[[7 1]]") == ada
    assert issues(tracker, f"(q :c {by.format('?by')})", "[[?by ?z]]", "[[7 1]]") == ada
    assert issues(tracker, f"(q :c {by.format('?by')})", "[?z ?by]", "[1 7]") == ada


def test_a_limit_that_is_an_argument(tracker):
    within = "(q :c [:find [?c ...] :in $ ?e ?n :where [?c :comment/issue ?e] :order-by ?c :limit ?n])"
    assert issues(tracker, within, "?n", 1) == "[{:db/id 1 :c [11]} {:db/id 2 :c [21]} {:db/id 3 :c []}]"


def test_arguments_that_differ_from_entity_to_entity(tracker):
    """In a query within a query, and where what is passed on is an entity around."""
    query = """[:find ?n ?v :where [(ground [0 4]) [?n ...]]
                [(q [:find [(pull ?e [:db/id (q "c" [:find [?c ...] :in $ ?e ?n :where [?c :comment/issue ?e]
                                                 [?c :comment/stars ?s] [(<= ?n ?s)] :order-by ?c])]) ...]
                     :in $ ?n :where [?e :issue/title] :order-by ?e] $ ?n) ?v]]"""
    one = '[{:db/id 1 "c" [11 12]} {:db/id 2 "c" [21]} {:db/id 3 "c" []}]'
    other = '[{:db/id 1 "c" [12]} {:db/id 2 "c" []} {:db/id 3 "c" []}]'
    assert tracker.q(query) == f"#{{[0 {one}] [4 {other}]}}"
    within = """(q "c" [:find [(pull ?c [:db/id (q "rest" [:find [?d ...] :in $ ?c ?e :where [?d :comment/issue ?e]
                    [(not= ?c ?d)] :order-by ?d])]) ...]
                    :in $ ?e :where [?c :comment/issue ?e] :order-by ?c :limit 2])"""
    assert (
        issues(tracker, within)
        == """[
        {:db/id 1 "c" [{:db/id 11 "rest" [12 13]} {:db/id 12 "rest" [11 13]}]}
        {:db/id 2 "c" [{:db/id 21 "rest" []}]} {:db/id 3 "c" []}]"""
    )


def test_rules_of_the_query_around(tracker):
    query = """[:find [(pull ?e [:db/id (q "n" [:find (count ?c) . :in $ % ?e :where (said ?c ?e)])]) ...] :in $ %
               :where [?e :issue/title] :order-by ?e]"""
    rules = "[[(said ?c ?e) [?c :comment/issue ?e]] [(said ?c ?e) [?x :issue/parent ?e] (said ?c ?x)]]"
    assert tracker.q(query, rules) == '[{:db/id 1 "n" 4} {:db/id 2 "n" 1} {:db/id 3}]'


def test_other_databases_and_lists(tracker):
    tracker.tx('[{:db/id 31 :comment/issue 3 :comment/body "new"}]')
    within = '(q "c" [:find [?c ...] :in {} ?e :where [{} ?c :comment/issue ?e] :order-by ?c])'
    query = '[:find [(pull {} ?e [:db/id {}]) ...] :in $ $old :where [?e :issue/title "three"]]'
    old = tracker.database.at(t=2)

    def ask(pull, within):
        return tracker.q(query.format(pull, within), old)

    assert ask("", within.format("$", "")) == '[{:db/id 3 "c" [31]}]'
    assert ask("", within.format("$old", "$old")) == '[{:db/id 3 "c" []}]'
    assert ask("$old", within.format("$", "")) == '[{:db/id 3 "c" []}]'
    listed = '[:find [(pull ?e [:db/id (q "l" [:find [?x ...] :in $ $r ?e :where [$r ?e ?x] :order-by ?x])]) ...]'
    found = tracker.q(listed + " :in $ $r :where [?e :issue/title] :order-by ?e]", '[[1 "x"] [1 "y"] [2 "z"]]')
    assert found == '[{:db/id 1 "l" ["x" "y"]} {:db/id 2 "l" ["z"]} {:db/id 3 "l" []}]'


def test_a_pattern_that_is_an_argument(tracker):
    query = "[:find [(pull ?e ?p) ...] :in $ ?p ?least :where [?e :issue/title] :order-by ?e]"
    pattern = """[:db/id (q "n" [:find (count ?c) . :in $ ?e ?least :where [?c :comment/issue ?e]
                  [?c :comment/stars ?s] [(<= ?least ?s)]])]"""
    assert tracker.q(query, pattern, 4) == '[{:db/id 1 "n" 1} {:db/id 2} {:db/id 3}]'
    assert tracker.q(query, pattern, 1) == '[{:db/id 1 "n" 2} {:db/id 2 "n" 1} {:db/id 3}]'


def test_pull_fields(tracker):
    pattern = '[:issue/title (q "c" [:find [?c ...] :in $ ?e :where [?c :comment/issue ?e] :order-by ?c])]'
    assert tracker.pull(pattern, 1, 3, 1) == (
        '[{:issue/title "one" "c" [11 12 13]} {:issue/title "three" "c" []} {:issue/title "one" "c" [11 12 13]}]'
    )
    assert tracker.pull('[* (q "n" [:find (count ?c) . :in $ ?e :where [?c :comment/issue ?e]])]', 1) == (
        '{:db/id 1 :issue/title "one" "n" 3}'
    )


def test_the_key_is_of_the_query_alone(tracker):
    found = tracker.pull("[* (q :issue/title [:find (count ?c) . :in $ ?e :where [?c :comment/issue ?e]])]", 1)
    assert found == "{:db/id 1 :issue/title 3}"


# What is said about them


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ('⟦(q "c")', 'takes a key and a query: (q "comments"'),
        ("(q ⟦3 [:find ?c :in $ ?e :where [?c :comment/issue ?e]])", "a string or a keyword, not 3"),
        ('(q "c" ⟦[:find ?c :where [?c :comment/issue _]])', "takes the entity that the map shows"),
        ('(q "c" [:find ?c :in $ ⟦[?e ...] :where [?c :comment/issue ?e]])', "first, not [?e ...]"),
        ('(q "c" [:find ?c :in $ ?e ⟦?u :where [?c :comment/issue ?e] [?c _ ?u]])', "?u is not in the :in of the"),
        ('(q "c" [:find ?c :in $ ?e ⟦[?n] :where [?c :comment/issue ?e] [?c _ ?n]])', "[?n] is not in the :in"),
        ('(q "c" [:find ?c :in ⟦$x ?e :where [$x ?c :comment/issue ?e]])', "$x is no source of the query around"),
        ('(q "c" [:find ?c :in $ ⟦% ?e :where (r ?c ?e)])', "the outer query has no rules to give"),
        ('(q "c" ⟦[:find ?c :in $ ?e :where [?c :comment/issue ?e] :timeout 5])', "has no :timeout of its own"),
        (':a [:b :as "c"] (q ⟦"c" [:find ?c :in $ ?e :where [?c :comment/issue ?e]])', "the key of something else"),
        ("{:issue/parent [(q :c [:find ?c :in $ ?e ⟦?n :where [?c :a ?e]])]}", ""),
    ],
)
def test_refusals(tracker, pattern, says):
    query = f"[:find (pull ?e [{pattern}]) :in $ :where [?e :issue/title]]".replace("⟦", MARK)
    tracker.refuses("QUERY_INVALID", query, says=says)
    if "%" not in pattern:
        tracker.pull_refuses("QUERY_INVALID", f"[{pattern}]".replace("⟦", MARK), says=says)


def test_what_nothing_binds_is_refused_before_anything_runs(tracker):
    pattern = "[(q :c [:find ?c :in $ ?e :where [?c :comment/issue ?e] [(< ?a 1)]])]".replace("?a", MARK + "?a")
    tracker.refuses("UNBOUND_VARIABLE", f"[:find (pull ?e {pattern}) :where [?e :nothing/at-all]]")
    tracker.pull_refuses("UNBOUND_VARIABLE", pattern)


def test_warnings(tracker):
    inner = f"[:find (pull ?c [:comment/body {MARK}:comment/bdy]) :in $ ?e :where [?c {MARK}:comment/isue ?e]]"
    query = f"[:find (pull ?e [{{:issue/parent [(q :c {inner})]}}]) :where [?e :issue/title]]"
    assert tracker.warnings(query) == ["UNKNOWN_ATTRIBUTE"] * 2
    given = "[:find (pull ?e ?p) :in $ ?p :where [?e :issue/title]]"
    assert tracker.warnings(given, f"[(q :c {inner})]".replace(MARK, "")) == ["UNKNOWN_ATTRIBUTE"] * 2
    fields = [each.code.value for each in field_warnings(tracker, f"[(q :c {inner})]".replace(MARK, ""))]
    assert fields == ["UNKNOWN_ATTRIBUTE"] * 2


def field_warnings(tracker, pattern):
    return asyncio.run(tracker.pool.apull(PullRequest(pattern, [1])))[2]


def test_explain_shows_their_plans(tracker):
    pulled = "(pull ?c [(q :by [:find ?u . :in $ ?c :where [?c :comment/by ?u]])])"
    inner = f"[:find [{pulled} ...] :in $ ?e :where [?c :comment/issue ?e]]"
    query = f"[:find (pull ?e [(q :c {inner})]) :where [?e :issue/title]]"
    shown = tracker.pool.explain(QueryRequest(query), analyze=True)
    (within,) = shown.plan["queries"]
    assert within["clause"] == f"(q :c [:find {pulled} …] $)"
    assert within["plan"]["order"] == ["?c"]
    assert [each["clause"] for each in within["plan"]["queries"]] == ["(q :by [:find ?u …] $)"]
    assert "(q :c" in shown.text
