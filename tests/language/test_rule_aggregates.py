"""Aggregates in rule heads; in recursion those whose value only moves one way: shortest paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from adalog.planner.model.plan import Options

DOCS = Path(__file__).parents[2] / "docs" / "reference"
SWITCHES = [
    Options(),
    Options(magic=False),
    Options(semi_naive=False),
    Options(reorder=False),
    Options(project=False),
    Options(budget=1),
]


@pytest.fixture
def shop(db):
    db.tx(
        """[{:db/ident :buys :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
            {:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]"""
    )
    db.tx(
        """[{:db/id 1 :buys [11 12 13]} {:db/id 2 :buys [12]} {:db/id 3 :name "Nobody"}
            {:db/id 11 :price 5 :tags [:a :b]} {:db/id 12 :price 7 :tags [:b]} {:db/id 13 :price 5}]"""
    )
    return db


@pytest.fixture
def roads(db):
    """1 → 2 → 3 → 1 is a ring; 1 → 3 is long; 3 → 4; 5 is far from everything. Edges are entities."""
    db.tx(
        """[{:db/ident :from :db/valueType :db.type/ref} {:db/ident :to :db/valueType :db.type/ref}
            {:db/ident :length :db/valueType :db.type/long} {:db/ident :hours :db/valueType :db.type/double}]"""
    )
    edges = [(1, 2, 1, 0.5), (2, 3, 2, 0.25), (3, 1, 1, 1.0), (1, 3, 9, 0.5), (3, 4, 4, 2.0), (5, 5, 1, 0.1)]
    forms = (f"{{:from {a} :to {b} :length {n} :hours {h}}}" for a, b, n, h in edges)
    db.tx(f"[{' '.join(forms)}]")
    return db


# Without recursion


def test_count_in_a_head(shop):
    rules = "[[(buys-count ?who (count ?what)) [?who :buys ?what]]]"
    assert shop.q(f"[:find ?who ?n :where (buys-count ?who ?n) :rules {rules}]") == "#{[1 3] [2 1]}"
    assert shop.q(f"[:find ?n . :where (buys-count 1 ?n) :rules {rules}]") == "3"
    assert shop.q(f"[:find ?who :where (buys-count ?who 1) :rules {rules}]") == "#{[2]}"
    assert shop.q(f"[:find ?who :where (buys-count ?who ?n) [(> ?n 1)] :rules {rules}]") == "#{[1]}"


def test_the_recipe_for_having(db):
    text = DOCS.joinpath("queries.md").read_text(encoding="utf-8").partition("(HAVING)")[2]
    query = text.partition("```clojure")[2].partition("```")[0]
    db.tx(
        """[{:db/ident :package/name :db/valueType :db.type/string}
            {:db/ident :package/depends :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
    )
    db.tx(
        """[{:db/id "libc" :package/name "libc"} {:db/id "git" :package/name "git" :package/depends ["libc" "curl"]}
            {:db/id "curl" :package/name "curl" :package/depends ["libc"]}]"""
    )
    assert db.q(query) == '#{["libc" 2]}'


def test_nobody_to_count_is_no_row(shop):
    rules = "[[(buys-count ?who (count ?what)) [?who :buys ?what]]]"
    assert shop.q(f"[:find ?n :where (buys-count 3 ?n) :rules {rules}]") == "#{}"
    assert shop.q(f"[:find ?x :where [?x :name] (not (buys-count ?x _)) :rules {rules}]") == "#{[3]}"


def test_equal_values_count_once_unless_the_head_tells_them_apart(shop):
    """The tuples of the head's variables are a set before they are aggregated."""
    rules = "[[(spent ?who (sum ?price)) [?who :buys ?what] [?what :price ?price]]]"
    assert shop.q(f"[:find ?s . :where (spent 1 ?s) :rules {rules}]") == "12"
    rules = "[[(spent ?who (count ?what) (sum ?price)) [?who :buys ?what] [?what :price ?price]]]"
    assert shop.q(f"[:find ?s . :where (spent 1 _ ?s) :rules {rules}]") == "17"


def test_several_aggregates(shop):
    rules = "[[(stats ?who (min ?p) (max ?p) (count ?p) (avg ?p)) [?who :buys ?what] [?what :price ?p]]]"
    query = f"[:find ?who ?low ?high ?n ?mean :where (stats ?who ?low ?high ?n ?mean) :rules {rules}]"
    assert shop.q(query) == "#{[1 5 7 2 6.0] [2 7 7 1 7.0]}"


def test_an_aggregate_alone(shop):
    rules = "[[(total (count ?what)) [_ :buys ?what]]]"
    assert shop.q(f"[:find ?n :where (total ?n) :rules {rules}]") == "#{[3]}"
    assert shop.q(f"[:find ?n :where (total ?n) [(= ?n 3)] :rules {rules}]") == "#{[3]}"
    assert shop.q(f"[:find ?w :where [?w :buys 11] (total 3) :rules {rules}]") == "#{[1]}"
    assert shop.q(f"[:find ?w :where [?w :buys 11] (total 4) :rules {rules}]") == "#{}"


def test_an_aggregate_in_the_first_place(shop):
    rules = "[[(cheapest (min ?p) ?who) [?who :buys ?what] [?what :price ?p]]]"
    assert shop.q(f"[:find ?p ?w :where (cheapest ?p ?w) :rules {rules}]") == "#{[5 1] [7 2]}"
    assert shop.q(f"[:find ?p :where (cheapest ?p 2) :rules {rules}]") == "#{[7]}"


def test_a_bound_aggregate_filters_after_aggregating(shop):
    rules = "[[(cheapest ?who (min ?p)) [?who :buys ?what] [?what :price ?p]]]"
    assert shop.q(f"[:find ?who :where (cheapest ?who 7) :rules {rules}]") == "#{[2]}"
    assert shop.q(f"[:find ?who ?p :in $ ?p :where (cheapest ?who ?p) :rules {rules}]", "7") == "#{[2 7]}"
    assert shop.q(f"[:find ?w ?p :in $ [?p ...] :where (cheapest ?w ?p) :rules {rules}]", "[5 7]") == (
        "#{[1 5] [2 7]}"
    )


def test_several_heads_are_united_before_aggregating(shop):
    rules = """[[(seen ?who (count ?x)) [?who :buys ?x] [?x :price 5]]
                [(seen ?who (count ?y)) [?who :buys ?y] [?y :tags :b]]]"""
    assert shop.q(f"[:find ?w ?n :where (seen ?w ?n) :rules {rules}]") == "#{[1 3] [2 1]}"


def test_a_group_that_is_also_aggregated(shop):
    rules = "[[(one ?what (count ?what)) [_ :buys ?what]]]"
    assert shop.q(f"[:find ?w ?n :where (one ?w ?n) :rules {rules}]") == "#{[11 1] [12 1] [13 1]}"


def test_aggregates_of_aggregates(shop):
    rules = """[[(bought ?what (count ?who)) [?who :buys ?what]]
                [(most (max ?n)) (bought _ ?n)]
                [(favourite ?what) (most ?n) (bought ?what ?n)]]"""
    assert shop.q(f"[:find ?w :where (favourite ?w) :rules {rules}]") == "#{[12]}"
    assert shop.q(f"[:find (sum ?n) . :with ?w :where (bought ?w ?n) :rules {rules}]") == "4"


def test_an_aggregate_over_a_recursive_rule(shop):
    shop.tx(
        "[{:db/ident :next :db/valueType :db.type/ref}] ",
        "[{:db/id 1 :next 2} {:db/id 2 :next 3} {:db/id 3 :next 1}]",
    )
    rules = """[[(after ?a ?b) [?a :next ?b]] [(after ?a ?c) (after ?a ?b) [?b :next ?c]]
                [(size ?a (count ?b)) (after ?a ?b)]]"""
    assert shop.q(f"[:find ?a ?n :where (size ?a ?n) :rules {rules}]") == "#{[1 3] [2 3] [3 3]}"
    assert shop.q(f"[:find ?n :where (size 2 ?n) :rules {rules}]") == "#{[3]}"
    assert shop.q(f"[:find ?a (count ?b) :where (after ?a ?b) :rules {rules}]") == "#{[1 3] [2 3] [3 3]}"


def test_an_aggregate_reads_all_of_what_it_groups(shop):
    """A call that knows the group reads that group only, and all of it."""
    rules = """[[(likely ?who ?what) [?who :buys ?what]]
                [(likely ?who ?what) [?who :buys ?x] [?y :buys ?x] [?y :buys ?what]]
                [(range ?who (count ?what)) (likely ?who ?what)]]"""
    assert shop.q(f"[:find ?n . :where (range 2 ?n) :rules {rules}]") == "3"
    assert shop.q(f"[:find ?n . :where [?x :buys 11] (range ?x ?n) :rules {rules}]") == "3"


def test_a_required_place_beside_an_aggregate(shop):
    rules = "[[(cheaper [?than] (count ?x)) [?x :price ?p] [(< ?p ?than)]]]"
    assert shop.q(f"[:find ?n :where (cheaper 6 ?n) :rules {rules}]") == "#{[2]}"
    assert shop.q(f"[:find ?than ?n :in $ [?than ...] :where (cheaper ?than ?n) :rules {rules}]", "[1 6 8]") == (
        "#{[6 2] [8 3]}"
    )


def test_distinct_and_median(shop):
    rules = "[[(all ?who (distinct ?p)) [?who :buys ?x] [?x :price ?p]] [(mid (median ?p)) [?x :price ?p]]]"
    assert shop.q(f"[:find ?w ?p :where (all ?w ?p) :rules {rules}]") == "#{[1 #{5 7}] [2 #{7}]}"
    assert shop.q(f"[:find ?m . :where (mid ?m) :rules {rules}]") == "6.0"


def test_and_or_choice_union(shop):
    rules = """[[(cheap ?who (and ?c)) [?who :buys ?x] [?x :price ?p] [(< ?p 7) ?c]]
                [(bargain ?who (or ?c)) [?who :buys ?x] [?x :price ?p] [(< ?p 7) ?c]]
                [(some ?who (choice ?x)) [?who :buys ?x]]
                [(tags ?who (union ?s)) [?who :buys ?x] (own ?x ?s)]
                [(own ?x (distinct ?t)) [?x :tags ?t]]]"""
    assert shop.q(f"[:find ?w ?c :where (cheap ?w ?c) :rules {rules}]") == "#{[1 false] [2 false]}"
    assert shop.q(f"[:find ?w ?c :where (bargain ?w ?c) :rules {rules}]") == "#{[1 true] [2 false]}"
    assert shop.q(f"[:find ?w ?x :where (some ?w ?x) :rules {rules}]") == "#{[1 11] [2 12]}"
    assert shop.q(f"[:find ?w ?s :where (tags ?w ?s) :rules {rules}]") == "#{[1 #{:a :b}] [2 #{:b}]}"


# In recursion

SHORTEST = """[[(road ?a ?b ?n) [?e :from ?a] [?e :to ?b] [?e :length ?n]]
               [(dist ?a ?b (min ?n)) (road ?a ?b ?n)]
               [(dist ?a ?c (min ?m)) (dist ?a ?b ?n) (road ?b ?c ?l) [(+ ?n ?l) ?m]]]"""
FROM_THE_END = SHORTEST.replace("(dist ?a ?b ?n) (road ?b ?c ?l)", "(road ?a ?b ?l) (dist ?b ?c ?n)")
DOUBLING = SHORTEST.replace("(road ?b ?c ?l)", "(dist ?b ?c ?l)")
ALL = "#{[1 1 4] [1 2 1] [1 3 3] [1 4 7] [2 1 3] [2 2 4] [2 3 2] [2 4 6] [3 1 1] [3 2 2] [3 3 4] [3 4 4] [5 5 1]}"


@pytest.mark.parametrize("rules", [SHORTEST, FROM_THE_END, DOUBLING])
@pytest.mark.parametrize("options", SWITCHES)
def test_shortest_paths_end_on_a_cycle(roads, rules, options):
    def ask(query, *args):
        return roads.q(f"{query} :rules {rules}]", *args, options=options)

    assert ask("[:find ?a ?b ?n :where (dist ?a ?b ?n)") == ALL
    assert ask("[:find ?b ?n :where (dist 1 ?b ?n)") == "#{[1 4] [2 1] [3 3] [4 7]}"
    assert ask("[:find ?a ?n :where (dist ?a 4 ?n)") == "#{[1 7] [2 6] [3 4]}"
    assert ask("[:find ?n . :where (dist 2 1 ?n)") == "3"
    assert ask("[:find ?n :where (dist 4 1 ?n)") == "#{}"
    assert ask("[:find ?b :where (dist 1 ?b 3)") == "#{[3]}"
    assert ask("[:find ?b :where (dist 1 ?b 9)") == "#{}"
    assert ask("[:find ?a ?n :in $ [?a ...] :where (dist ?a 4 ?n)", "[2 3 4]") == "#{[2 6] [3 4]}"
    assert ask("[:find ?n :where (dist ?a ?a ?n)") == "#{[4] [1]}"
    assert ask("[:find (max ?n) . :where (dist 1 _ ?n)") == "7"


@pytest.mark.parametrize("options", SWITCHES)
def test_shortest_paths_in_doubles(roads, options):
    rules = SHORTEST.replace(":length", ":hours")
    query = f"[:find ?b ?n :where (dist 1 ?b ?n) :rules {rules}]"
    assert roads.q(query, options=options) == "#{[1 1.5] [2 0.5] [3 0.5] [4 2.5]}"


def test_an_edge_twice(roads):
    roads.tx("[{:from 1 :to 2 :length 3 :hours 9.0} {:from 3 :to 4 :length 1 :hours 9.0}]")
    assert roads.q(f"[:find ?b ?n :where (dist 1 ?b ?n) :rules {SHORTEST}]") == "#{[1 4] [2 1] [3 3] [4 4]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_the_widest_path(roads, options):
    rules = """[[(wide ?a ?b (max ?n)) [?e :from ?a] [?e :to ?b] [?e :length ?n]]
                [(wide ?a ?c (max ?m)) (wide ?a ?b ?n) [?e :from ?b] [?e :to ?c] [?e :length ?l]
                 [(min ?n ?l) ?m]]]"""
    query = f"[:find ?b ?n :where (wide 1 ?b ?n) :rules {rules}]"
    assert roads.q(query, options=options) == "#{[1 1] [2 1] [3 9] [4 4]}"


def test_reachability_by_or(roads):
    rules = """[[(far ?a (or ?yes)) [?e :from ?a] [?e :length ?n] [(> ?n 3) ?yes]]
                [(far ?a (or ?yes)) [?e :from ?a] [?e :to ?b] (far ?b ?yes)]]"""
    assert roads.q(f"[:find ?a ?yes :where (far ?a ?yes) :rules {rules}]") == (
        "#{[1 true] [2 true] [3 true] [5 false]}"
    )


def test_the_least_reachable_name(roads):
    rules = """[[(least ?a (min ?b)) [?e :from ?a] [?e :to ?b]]
                [(least ?a (min ?c)) [?e :from ?a] [?e :to ?b] (least ?b ?c)]]"""
    assert roads.q(f"[:find ?a ?b :where (least ?a ?b) :rules {rules}]") == "#{[1 1] [2 1] [3 1] [5 5]}"
    assert roads.q(f"[:find ?b :where (least 5 ?b) :rules {rules}]") == "#{[5]}"


def test_a_recursive_minimum_below_a_count(roads):
    rules = SHORTEST[:-1] + "[(near ?a (count ?b)) (dist ?a ?b ?n) [(<= ?n 3)]]]"
    assert roads.q(f"[:find ?a ?n :where (near ?a ?n) :rules {rules}]") == "#{[1 2] [2 2] [3 2] [5 1]}"
    assert roads.q(f"[:find ?n :where (near 1 ?n) :rules {rules}]") == "#{[2]}"


def test_a_recursive_minimum_in_a_not(roads):
    query = f"[:find ?b :where [_ :to ?b] (not (dist 1 ?b _)) :rules {SHORTEST}]"
    assert roads.q(query) == "#{[5]}"
    query = f"[:find ?b :where (dist 1 ?b ?n) (not (dist 2 ?b ?n)) :rules {SHORTEST}]"
    assert roads.q(query) == "#{[1] [2] [3] [4]}"


# Refusals


def test_an_aggregate_that_is_none(shop):
    query = "[:find ?n :where (r ?n) :rules [[(r (‸summ ?n)) [_ :price ?n]]]]"
    shop.refuses("QUERY_INVALID", query, says="sum")
    query = "[:find ?n :where (r ?n) :rules [[(r ‸(sample 3 ?n)) [_ :price ?n]]]]"
    shop.refuses("QUERY_INVALID", query)
    query = "[:find ?n :where (r ?n) :rules [[(r ‸(rand ?n)) [_ :price ?n]]]]"
    shop.refuses("QUERY_INVALID", query)


def test_heads_with_different_aggregates(shop):
    query = """[:find ?n :where (r ?n)
                :rules [[(r (min ?n)) [_ :price ?n]] [‸(r (max ?n)) [_ :price ?n]]]]"""
    shop.refuses("QUERY_INVALID", query)
    query = """[:find ?n :where (r ?n)
                :rules [[(r (min ?n)) [_ :price ?n]] [‸(r ?n) [_ :price ?n]]]]"""
    shop.refuses("QUERY_INVALID", query)


def test_a_sum_of_what_is_no_number(shop):
    rules = "[[(r (sum ?n)) [_ :name ?n]]]"
    shop.refuses("QUERY_INVALID", f"[:find ?n :where (r ?n) :rules {rules}]", says="sum")


@pytest.mark.parametrize("options", SWITCHES)
def test_a_plain_rule_within_the_recursion_keeps_nothing_displaced(roads, options):
    """1 → 3 is 9 at first and 3 in the end: `step` must not remember the steps that begin with 9."""
    rules = """[[(road ?a ?b ?n) [?e :from ?a] [?e :to ?b] [?e :length ?n]]
                [(dist ?a ?b (min ?n)) (road ?a ?b ?n)] [(dist ?a ?b (min ?n)) (step ?a ?b ?n)]
                [(step ?a ?c ?m) (dist ?a ?b ?n) (road ?b ?c ?l) [(+ ?n ?l) ?m]]]"""
    query = f"[:find ?b ?n :where (step 1 ?b ?n) :rules {rules}]"
    assert roads.q(query, options=options) == "#{[1 4] [2 5] [3 3] [3 13] [4 7]}"
    assert roads.q(f"[:find ?b ?n :where (dist 1 ?b ?n) :rules {rules}]", options=options) == (
        "#{[1 4] [2 1] [3 3] [4 7]}"
    )
