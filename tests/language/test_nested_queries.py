"""Queries within a query: `[(q [:find …] $ ?x) binding]` binds what another query answers."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import AdalogError


@pytest.fixture
def shop(db):
    db.tx(
        """[{:db/ident :order/items :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
            {:db/ident :customer/name :db/valueType :db.type/string :db/unique :db.unique/identity}
            {:db/ident :order/by :db/valueType :db.type/ref}]""",
        """[{:db/id 1 :customer/name "Ada"} {:db/id 2 :customer/name "Byron"} {:db/id 3 :customer/name "Claire"}
            {:db/id 11 :order/by 1 :order/items [10 20] :order/total 30}
            {:db/id 12 :order/by 1 :order/items [5] :order/total 5}
            {:db/id 13 :order/by 2 :order/items [7 8 9] :order/total 24}]""",
    )
    return db


# What is bound


def test_a_relation_is_a_set_of_tuples(shop):
    query = "[:find ?r :where [(q [:find ?o ?t :where [?o :order/total ?t]] $) ?r]]"
    assert shop.q(query) == "#{[#{[11 30] [12 5] [13 24]}]}"


def test_a_relation_taken_apart(shop):
    query = "[:find ?n ?t :where [(q [:find ?c ?t :where [?o :order/by ?c] [?o :order/total ?t]] $) [[?c ?t]]]\n"
    assert shop.q(query + "[?c :customer/name ?n]]") == '#{["Ada" 30] ["Ada" 5] ["Byron" 24]}'


def test_a_relation_as_tuples(shop):
    query = "[:find ?row :where [(q [:find ?o ?t :where [?o :order/total ?t]] $) [?row ...]]]"
    assert shop.q(query) == "#{[[11 30]] [[12 5]] [[13 24]]}"


def test_the_one_row_of_an_aggregate(shop):
    query = "[:find ?o ?m :where [(q [:find (max ?t) :where [_ :order/total ?t]] $) [[?m]]] [?o :order/total ?m]]"
    assert shop.q(query) == "#{[11 30]}"


def test_a_scalar(shop):
    query = "[:find ?o . :where [(q [:find (min ?t) . :where [_ :order/total ?t]] $) ?m] [?o :order/total ?m]]"
    assert shop.q(query) == "12"


def test_a_collection(shop):
    query = "[:find ?c :where [(q [:find [?c ...] :where [_ :order/by ?c]] $) [?c ...]]]"
    assert shop.q(query) == "#{[1] [2]}"
    assert shop.q(query.replace("[?c ...]]]", "?c]]").replace("find ?c :w", "find ?c . :w")) == "[1 2]"


def test_a_tuple(shop):
    query = "[:find ?a ?b :where [(q [:find [(min ?t) (max ?t)] :where [_ :order/total ?t]] $) [?a ?b]]]"
    assert shop.q(query) == "#{[5 30]}"


def test_maps(shop):
    query = "[:find ?r . :where [(q [:find ?c (sum ?t) :keys who total :with ?o\n"
    query += ":where [?o :order/by ?c] [?o :order/total ?t]] $) [?r ...]] [(= ?r {:who 2 :total 24})]]"
    assert shop.q(query) == "{:who 2 :total 24}"


def test_ordered_rows_are_a_vector(shop):
    query = (
        "[:find ?r . :where [(q [:find ?o ?t :where [?o :order/total ?t] :order-by [[?t :desc]] :limit 2] $) ?r]]"
    )
    assert shop.q(query) == "[[11 30] [13 24]]"


def test_an_empty_answer(shop):
    nothing = "[_ :order/gone ?t]"
    assert shop.q(f"[:find ?r :where [(q [:find ?t . :where {nothing}] $) ?r]]") == "#{}"
    assert shop.q(f"[:find ?r :where [(q [:find [?t ?t] :where {nothing}] $) ?r]]") == "#{}"
    assert shop.q(f"[:find ?r :where [(q [:find ?t :where {nothing}] $) [[?r]]]]") == "#{}"
    assert shop.q(f"[:find ?r :where [(q [:find ?t :where {nothing}] $) ?r]]") == "#{[#{}]}"
    assert shop.q(f"[:find ?r :where [(q [:find [?t ...] :where {nothing}] $) ?r]]") == "#{[[]]}"
    assert shop.q(f"[:find ?r :where [(q [:find (count ?t) . :where {nothing}] $) ?r]]") == "#{}"


def test_its_rows_are_a_set_before_they_are_counted(shop):
    query = "[:find ?n . :where [(q [:find (count ?c) . :where [_ :order/by ?c]] $) ?n]]"
    assert shop.q(query) == "2"
    assert shop.q(query.replace(". :where [_", ". :with ?o :where [?o")) == "3"


# Arguments


def test_one_answer_for_each_argument(shop):
    query = """[:find ?n ?most :where [?c :customer/name ?n]
                [(q [:find (max ?t) . :in $ ?c :where [?o :order/by ?c] [?o :order/total ?t]] $ ?c) ?most]]"""
    assert shop.q(query) == '#{["Ada" 30] ["Byron" 24]}'


def test_an_aggregate_of_an_aggregate(shop):
    query = """[:find (avg ?sum) . :with ?o :where [?o :order/by]
                [(q [:find (sum ?i) . :in $ ?o :where [?o :order/items ?i]] $ ?o) ?sum]]"""
    assert shop.q(query) == "19.666666666666668"


def test_rows_of_each_argument(shop):
    query = """[:find ?n ?t :where [?c :customer/name ?n]
                [(q [:find ?t :in $ ?c :where [?o :order/by ?c] [?o :order/total ?t]] $ ?c) [[?t]]]]"""
    assert shop.q(query) == '#{["Ada" 30] ["Ada" 5] ["Byron" 24]}'


def test_order_limit_and_offset_are_those_of_each_argument(shop):
    query = """[:find ?c ?t :where [?c :customer/name]
                [(q [:find [?t ...] :in $ ?c :where [?o :order/by ?c] [?o :order/items ?t]
                     :order-by [[?t :desc]] :limit 2 :offset 1] $ ?c) ?t]]"""
    assert shop.q(query) == "#{[1 [10 5]] [2 [8 7]] [3 []]}"


def test_arguments_of_every_shape(shop):
    query = "[:find ?r . :where [(q [:find (sum ?x) . :in [?x ...] :where [(pos? ?x)]] [3 -1 4]) ?r]]"
    assert shop.q(query) == "7"
    query = "[:find ?r . :where [(q [:find ?s . :in [?a _ ?b] :where [(+ ?a ?b) ?s]] [3 9 4]) ?r]]"
    assert shop.q(query) == "7"
    query = (
        "[:find ?r . :where [(q [:find (sum ?s) . :with ?a :in [[?a ?b]] :where [(* ?a ?b) ?s]] [[1 2] [2 1]]) ?r]]"
    )
    assert shop.q(query) == "4"
    query = """[:find ?o ?r :where [?o :order/by]
                [(q [:find [?i ...] :in $ ?o :where [?o :order/items ?i]] $ ?o) ?all]
                [(q [:find (count ?i) . :in [?i ...] :where [(< ?i 10)]] ?all) ?r]]"""
    assert shop.q(query) == "#{[12 1] [13 3]}"


def test_a_variable_of_the_same_name_is_another_one(shop):
    query = """[:find ?c ?n :where [?c :customer/name ?n] [?o :order/total 24]
                [(q [:find ?n . :in $ ?o :where [?o :order/by ?c] [?c :customer/name ?n]] $ ?o) ?n]]"""
    assert shop.q(query) == '#{[2 "Byron"]}'
    query = "[:find ?t :where [(q [:find (max ?t) . :where [_ :order/total ?t]] $) ?max] [_ :order/total ?t]]"
    assert shop.q(query) == "#{[30] [5] [24]}"


def test_idents_and_lookup_refs_name_entities(shop):
    query = "[:find ?t :where [(q [:find ?t :in $ ?c :where [?o :order/by ?c] [?o :order/total ?t]] $ %s) [[?t]]]]"
    assert shop.q(query % '[:customer/name "Byron"]') == "#{[24]}"
    assert shop.q(query % "2") == "#{[24]}"
    assert shop.q(query % '[:customer/name "Nobody"]') == "#{}"
    # An argument of the outer query is read as the inner one uses it.
    given = query.replace(":where [(q", ":in $ ?who :where [(q", 1) % "?who"
    assert shop.q(given, '[:customer/name "Byron"]') == "#{[24]}"


def test_idents_and_lookup_refs_that_a_row_holds_name_entities(shop):
    shop.tx("[[:db/add 2 :db/ident :customer/second]]")
    totals = "[:find ?t :in $ %s :where [?o :order/by ?c] [?o :order/total ?t]]"
    query = f"[:find ?n ?t :where [_ :customer/name ?n] %s [(q {totals} $ ?who) [[?t]]]]"
    refs = "[(tuple :customer/name ?n) ?who]"
    assert shop.q(query % (refs, "?c")) == '#{["Byron" 24] ["Ada" 30] ["Ada" 5]}'
    idents = "[(ground [:customer/second 1 :customer/third]) [?who ...]]"
    assert shop.q(query.replace("?n ?t", "?t", 1) % (idents, "?c")) == "#{[30] [24] [5]}"


@pytest.mark.parametrize(
    ("taken", "argument"),
    [
        ("[?c ...]", "[%s]"),
        ("[?c _]", "[%s 7]"),
        ("[[_ ?c]]", "[[7 %s]]"),
    ],
)
def test_and_so_they_do_within_an_argument(shop, taken, argument):
    totals = f"[:find ?t :in $ {taken} :where [?o :order/by ?c] [?o :order/total ?t]]"
    constant = argument % '[:customer/name "Byron"]'
    assert shop.q(f"[:find ?t :where [(q {totals} $ {constant}) [[?t]]]]") == "#{[24]}"
    made = f"[(identity {constant}) ?who]"
    assert shop.q(f"[:find ?t :where [_ :customer/name ?n] {made} [(q {totals} $ ?who) [[?t]]]]") == "#{[24]}"


def test_a_bound_result_filters(shop):
    query = """[:find ?n :where [?c :customer/name ?n] [?c2 :customer/name "Ada"] [(identity ?c2) ?c]
                [(q [:find ?c . :where [?c :customer/name "Ada"]] $) ?c]]"""
    assert shop.q(query) == '#{["Ada"]}'
    query = "[:find ?o :where [?o :order/total ?t] [(q [:find (max ?t) . :where [_ :order/total ?t]] $) ?t]]"
    assert shop.q(query) == "#{[11]}"
    query = "[:find ?o :where [?o :order/total ?t] [(q [:find (max ?t) :where [_ :order/total ?t]] $) [[?t]]]]"
    assert shop.q(query) == "#{[11]}"


def test_without_a_source_it_is_that_of_its_surroundings(shop):
    assert shop.q("[:find ?m . :where [(q [:find (max ?t) . :where [_ :order/total ?t]]) ?m]]") == "30"
    query = "[:find ?m . :in $ $old :where ($old or [(q [:find (max ?t) . :where [_ :order/total ?t]]) ?m])]"
    shop.tx("[[:db/add 11 :order/total 99]]")
    assert shop.q(query, shop.at(as_of=2)) == "30"


# Forms


@pytest.mark.parametrize("name", ["q", "d/q", "datomic.api/q"])
@pytest.mark.parametrize(
    "query",
    [
        "[:find (max ?t) . :in $ ?c :where [?o :order/by ?c] [?o :order/total ?t]]",
        "{:find [(max ?t) .] :in [$ ?c] :where [[?o :order/by ?c] [?o :order/total ?t]]}",
        "(quote [:find (max ?t) . :in $ ?c :where [?o :order/by ?c] [?o :order/total ?t]])",
        "'[:find (max ?t) . :in $ ?c :where [?o :order/by ?c] [?o :order/total ?t]]",
    ],
)
def test_forms(shop, name, query):
    assert shop.q(f"[:find ?m . :where [({name} {query} $ 2) ?m]]") == "24"


def test_the_order_of_inputs_is_the_written_one(shop):
    query = (
        "[:find ?t . :where [(q [:find (max ?t) . :in ?c $ :where [?o :order/by ?c] [?o :order/total ?t]] 2 $) ?t]]"
    )
    assert shop.q(query) == "24"


# Sources


def test_another_source(shop):
    shop.tx("[[:db/add 11 :order/total 99]]")
    old = shop.at(as_of=2)
    query = "[:find ?m . :in $ $old :where [(q [:find (max ?t) . :where [_ :order/total ?t]] $old) ?m]]"
    assert shop.q(query, old) == "30"
    query = """[:find ?then ?now :in $ $old :where
                [(q [:find ?then ?now :in $was $ :where [$was ?o :order/total ?then] [?o :order/total ?now]
                                                        [(not= ?then ?now)]] $old $) [[?then ?now]]]]"""
    assert shop.q(query, old) == "#{[30 99]}"


def test_a_relation_as_the_source(shop):
    query = "[:find ?m . :in $ $r :where [(q [:find (max ?b) . :in $x :where [$x _ ?b]] $r) ?m]]"
    assert shop.q(query, "[[1 2] [2 7]]") == "7"
    query = "[:find ?m . :in $ $r :where [(q [:find (max ?b) . :where [_ ?b]] $r) ?m]]"
    assert shop.q(query, "[[1 2] [2 7]]") == "7"


# Where it stands


def test_inside_or_and_not(shop):
    query = """[:find ?n :where [?c :customer/name ?n]
                (not [(q [:find [?c ...] :where [_ :order/by ?c]] $) [?c ...]])]"""
    assert shop.q(query) == '#{["Claire"]}'
    query = """[:find ?n :where [?c :customer/name ?n]
                (not-join [?c] [(q [:find (count ?o) . :in $ ?c :where [?o :order/by ?c]] $ ?c) ?k] [(> ?k 1)])]"""
    assert shop.q(query) == '#{["Byron"] ["Claire"]}'
    query = """[:find ?x :where (or [(q [:find (max ?t) . :where [_ :order/total ?t]] $) ?x]
                                    [(q [:find [(min ?t) ...] :where [_ :order/total ?t]] $) [?x ...]])]"""
    assert shop.q(query) == "#{[30] [5]}"


def test_within_one_another(shop):
    query = """[:find ?o . :where
                [(q [:find ?o . :in $ :where
                     [(q [:find (max ?t) . :where [_ :order/total ?t]] $) ?m] [?o :order/total ?m]] $) ?o]]"""
    assert shop.q(query) == "11"


# Rules and pulls


@pytest.fixture
def kin(db):
    db.tx(
        """[{:db/ident :parent :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
            {:db/ident :name :db/unique :db.unique/identity :db/valueType :db.type/string}]""",
        """[{:db/id 1 :name "a" :parent [2 3]} {:db/id 2 :name "b" :parent 4} {:db/id 3 :name "c" :parent 4}
            {:db/id 4 :name "d"}]""",
    )
    return db


ANCESTORS = "[[(above ?x ?y) [?x :parent ?y]] [(above ?x ?y) [?x :parent ?z] (above ?z ?y)]]"


def test_rules_of_its_own(kin):
    query = (
        f"[:find ?n . :where [(q [:find (count ?y) . :in $ ?x :where (above ?x ?y) :rules {ANCESTORS}] $ 1) ?n]]"
    )
    assert kin.q(query) == "3"
    query = (
        query.replace(":find ?n .", ":find ?x ?n")
        .replace("$ 1)", "$ ?x)")
        .replace(":where [(q", ":where [?x :name] [(q")
    )
    assert kin.q(query) == "#{[1 3] [2 1] [3 1]}"


def test_rules_of_the_outer_query(kin):
    query = """[:find ?n ?k :in $ % :where [?x :name ?n]
                [(q [:find (count ?y) . :in $ % ?x :where (above ?x ?y)] $ % ?x) ?k]]"""
    assert kin.q(query, ANCESTORS) == '#{["a" 3] ["b" 1] ["c" 1]}'
    within = query.replace(":in $ % :where [?x :n", f":rules {ANCESTORS} :where [?x :n")
    assert kin.q(within) == '#{["a" 3] ["b" 1] ["c" 1]}'
    kin.refuses(
        "QUERY_INVALID",
        query.replace("(above ?x ?y)", "‸(abov ?x ?y)").replace("‸(", "(‸"),
        ANCESTORS,
        says="above",
    )
    kin.refuses(
        "QUERY_INVALID", "[:find ?n :where [(q [:find ?x :in $ ‸% :where [?x :name]] $ %) ?n]]", says="rules"
    )
    kin.refuses("QUERY_INVALID", query.replace("$ % ?x)", "$ ‸?x ?x)"), ANCESTORS, says="rules of the outer")


def test_within_a_rule(kin):
    rules = """[[(parents ?x ?n) [?x :name] [(q [:find (count ?y) . :in $ ?x :where [?x :parent ?y]] $ ?x) ?n]]]"""
    assert kin.q("[:find ?x ?n :in $ % :where (parents ?x ?n)]", rules) == "#{[1 2] [2 1] [3 1]}"
    assert kin.q("[:find ?x :in $ % :where (parents ?x 2)]", rules) == "#{[1]}"
    rules = "[[(r ?x) [(q [:find ?x . :in $ % :where (r ?x)] $ %) ?x]]]"
    kin.refuses("QUERY_INVALID", f"[:find ?x :rules {rules} :where (r ?x)]", says="within a rule")


def test_a_query_within_a_recursive_rule(kin):
    rules = """[[(up ?x ?y) [(q [:find [?y ...] :in $ ?x :where [?x :parent ?y]] $ ?x) [?y ...]] [?x :name]]
                [(up ?x ?y) (up ?x ?z) [(q [:find [?y ...] :in $ ?x :where [?x :parent ?y]] $ ?z) [?y ...]]]]"""
    assert kin.q("[:find ?x ?y :in $ % :where (up ?x ?y)]", rules) == "#{[1 2] [1 3] [1 4] [2 4] [3 4]}"
    assert kin.q("[:find ?y :in $ % :where (up 1 ?y)]", rules) == "#{[2] [3] [4]}"


def test_pulls(kin):
    query = """[:find ?n ?ps :where [?x :name ?n]
                [(q [:find [(pull ?y [:name]) ...] :in $ ?x :where [?x :parent ?y]] $ ?x) ?ps]]"""
    assert kin.q(query) == '#{["a" [{:name "b"} {:name "c"}]] ["b" [{:name "d"}]] ["c" [{:name "d"}]] ["d" []]}'
    query = '[:find ?m . :where [(q [:find (pull ?y [:name]) . :where [1 :parent ?y] [?y :name "c"]] $) ?m]]'
    assert kin.q(query) == '{:name "c"}'
    query = "[:find ?m :where [(q [:find ?y (pull ?y [:name]) :where [1 :parent ?y]] $) [[_ ?m]]]]"
    assert kin.q(query) == '#{[{:name "b"}] [{:name "c"}]}'
    kin.refuses(
        "QUERY_INVALID", "[:find ?m :where [(q [:find (pull ?y ‸?p) :in $ ?p :where [?y :name]] $ [:name]) ?m]]"
    )


# Refusals


def test_what_is_wrong_within_is_shown_there(shop):
    outer = "[:find ?r :where [(q %s $) ?r]]"
    shop.refuses("QUERY_INVALID", outer % "[:find ?x :where [?x :order/by ?y] ‸?z]")
    shop.refuses("QUERY_INVALID", outer % "[:find ?x :where [(‸strr ?x) ?y]]", says="str")
    shop.refuses("QUERY_INVALID", outer % "‸[:where [?x :order/by]]", says=":find")
    shop.refuses("UNBOUND_VARIABLE", outer % "[:find ‸?y :where [?x :order/by]]", says="?y")
    shop.refuses("UNBOUND_VARIABLE", outer % "[:find ?x :where [?x :order/by] [(< ?x ‸?y)]]", says="?y")
    within = "[:find ?y :where [?y :order/total ?t] [(< ?t ‸?total)]]"
    shop.refuses(
        "UNBOUND_VARIABLE", f"[:find ?r :where [?o :order/total ?total] [(q {within} $) ?r]]", says="its own :in"
    )
    shop.refuses("QUERY_INVALID", outer % "‸17", says="a query is a map")
    shop.refuses(
        "QUERY_INVALID", "[:find ?r :where\n [(q [:find ?x\n :where [‸$no ?x :order/by]] $) ?r]]", says="$no"
    )


def test_wrong_arguments(shop):
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?r :where [?c :order/by] [‸(q [:find ?x :in $ ?x ?y :where [?x :order/by]] ?c) ?r]]",
        says="3 arguments ($ ?x ?y), but 1 is given",
    )
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?r :where [?c :order/by] [(q [:find ?x :in $ ?x :where [?x :order/by]] ‸?c $) ?r]]",
        says="takes a source",
    )
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?r :where [(q [:find ?x :in $ ?x :where [?x :order/by]] $ ‸$) ?r]]",
        says="takes a variable or a value",
    )
    shop.refuses("QUERY_INVALID", "[:find ?r :where [(q [:find ?x :where [?x :order/by]] ‸$old) ?r]]", says="$old")
    shop.refuses("QUERY_INVALID", "[:find ?r :where [‸(q) ?r]]", says="takes a query")
    shop.refuses(
        "UNBOUND_VARIABLE",
        "[:find ?r :where [(q [:find ?x :in $ ?x :where [?x :order/by]] $ ‸?nobody) ?r]]",
        says="?nobody",
    )


def test_wrong_bindings(shop):
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?x :where [?x :order/by] ‸[(q [:find ?y . :where [?y :order/by]] $)]]",
        says="bind it",
    )
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?a ?b :where [(q [:find ?y :where [?y :order/by]] $) ‸[[?a ?b]]]]",
        says="2 places",
    )


def test_a_timeout_belongs_to_the_whole(shop):
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?r :where [(q ‸[:find ?y :where [?y :order/by] :timeout 5] $) ?r]]",
        says=":timeout",
    )


def test_what_goes_wrong_while_it_runs_is_shown_there(shop):
    shop.refuses(
        "QUERY_INVALID",
        "[:find ?r :where [(q [:find ?s . :where [?o :customer/name ?n] ‸[(+ ?n 1) ?s]] $) ?r]]",
    )


def test_explain_shows_its_plan(shop):
    from adalog.executor.question.request import QueryRequest

    query = "[:find ?n ?m :where [?c :customer/name ?n] [(q [:find (max ?t) . :in $ ?c :where [?o :order/by ?c] "
    query += "[?o :order/total ?t]] $ ?c) ?m]]"
    for analyze in (False, True):
        shown = shop.pool.explain(QueryRequest(query), analyze)
        assert "(q [:find (max ?t) …] $ ?c)" in shown.text
        assert ":order/total" in shown.text
        (inner,) = shown.plan["queries"]
        assert inner["plan"]["given"] == ["?c"]


def test_deadline_and_bounds_hold_within(db):
    numbers = f"[{' '.join(map(str, range(3000)))}]"
    product = "[:find (count ?s) . :in [?x ...] [?y ...] [?z ...] :where [(+ ?x ?y ?z) ?s] [(< ?s 0)]]"
    with pytest.raises(AdalogError) as caught:
        db.q(f"[:find ?n :in ?all :where [(q {product} ?all ?all ?all) ?n]]", numbers, timeout_ms=300)
    assert str(caught.value.code) == "TIMEOUT"
    pairs = "[:find ?x ?y :in [?x ...] [?y ...]]"
    error = db.refuses("LIMIT_EXCEEDED", f"[:find ?n :in ?all :where ‸[(q {pairs} ?all ?all) ?n]]", numbers)
    assert "2,000,000" in error.message
