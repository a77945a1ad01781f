"""Recursions along one step, whatever the step is made of: the compiled walk answers as rounds do."""

from __future__ import annotations

import pytest

from adalog.executor.facts import facts
from adalog.planner.model.plan import Options

SWITCHES = [Options(), Options(magic=False), Options(semi_naive=False)]
EDGES = "[[1 2 1] [2 3 1] [3 4 2] [4 1 1] [5 5 1] [3 3 3]]"


@pytest.fixture
def graph(db):
    """1 → 2 → 3 → 1 is a cycle that 7 leads into and 4 and 5 lead out of; :n is an entity's own number."""
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [2 5]} {:db/id 2 :to 3} {:db/id 3 :to [1 4]} {:db/id 4 :to 5} {:db/id 7 :to 2}]")
    db.tx(f"[{' '.join(f'[:db/add {e} :n {e}]' for e in range(1, 8))}]")
    return db


@pytest.mark.parametrize("options", SWITCHES)
@pytest.mark.parametrize(
    ("step", "rows"),
    [
        ("[$e ?c ?b 1]", "#{[1 2] [2 3] [4 1] [5 5] [1 3] [4 2] [4 3]}"),
        ("[$e ?c ?b ?b]", "#{[1 2] [2 3] [4 1] [5 5]}"),
        ("[$e ?c ?b ?c]", "#{[1 2] [2 3] [4 1] [5 5] [4 2]}"),
        ("[$e ?b ?c]", "#{[1 2] [1 1] [1 4] [1 3] [2 3] [2 2] [2 1] [2 4] [4 1] [4 4] [4 3] [4 2] [5 5]}"),
    ],
)
def test_a_step_in_a_list_of_tuples(graph, step, rows, options):
    rules = f"[[(p ?a ?b) [$e ?a ?b 1]] [(p ?a ?b) (p ?a ?c) {step}]]"
    assert graph.q(f"[:find ?a ?b :in $ $e :where (p ?a ?b) :rules {rules}]", EDGES, options=options) == rows


@pytest.mark.parametrize("options", SWITCHES)
def test_tuples_too_short_for_a_step(graph, options):
    rules = "[[(p ?a ?b) [?a :to ?b]] [(p ?a ?b) (p ?a ?c) [$e ?c ?b]]]"
    query = f"[:find ?a ?b :in $ $e :where (p ?a ?b) :rules {rules}]"
    assert graph.q(query, "[]", options=options) == "#{[1 2] [1 5] [2 3] [3 1] [3 4] [4 5] [7 2]}"
    graph.refuses("ARG_INVALID", query.replace("[$e", "‸[$e"), "[[1]]", says="2 places")


@pytest.mark.parametrize("options", SWITCHES)
def test_a_step_of_which_an_argument_is_written_out(graph, options):
    edge = "[(edge ?a ?b) [?a :to ?b]]"
    left = f"[[(p ?a ?b) [?a :to ?b]] [(p ?x ?y) (p ?x 2) (edge 2 ?y)] {edge}]"
    right = f"[[(p ?a ?b) [?a :to ?b]] [(p ?x ?y) (edge ?x 2) (p 2 ?y)] {edge}]"
    for rules in (left, right):

        def ask(where, rules=rules):
            return graph.q(f"[:find ?a ?b :where (p ?a ?b) {where} :rules {rules}]", options=options)

        assert ask("") == "#{[1 2] [1 5] [1 3] [2 3] [3 1] [3 4] [4 5] [7 2] [7 3]}"
        assert ask("[(ground 7) ?a]") == "#{[7 2] [7 3]}"
        assert graph.q(f"[:find ?b :where (p 7 ?b) :rules {rules}]", options=options) == "#{[2] [3]}"
        assert graph.q(f"[:find ?a :where (p ?a 3) :rules {rules}]", options=options) == "#{[1] [2] [7]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_a_step_that_is_a_query_or_a_rule_with_repeats(graph, options):
    query = "[:find ?b :where (p 2 ?b) :rules [[(p ?a ?b) [?a :to ?b]] [(p ?a ?b) (p ?a ?c) %s] %s]]"
    within = "[(q [:find ?x ?y :where [?x :to ?y]] $) [[?c ?b]]]"
    assert graph.q(query % (within, ""), options=options) == "#{[1] [2] [3] [4] [5]}"
    numbered = "[(q ?c ?b ?n) [?c :to ?b] [?b :n ?n]] [(q ?x ?b ?n) (q ?b ?x ?n)]"
    assert graph.q(query % ("(q ?c ?b ?b)", numbered), options=options) == "#{[1] [2] [3] [4] [5]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_exits_and_steps_that_are_no_single_pattern(graph, options):
    rules = """[[(p ?a ?b) (x ?a ?b)] [(p ?a ?b) (y ?a ?c) (p ?c ?b)]
                [(x ?a ?b) [?a :to ?b]] [(x ?a ?b) [?a :n ?b]] [(y ?a ?b) [?b :to ?a]] [(y ?a ?b) [?a :n ?b]]]"""
    assert graph.q(f"[:find ?b :where (p 7 ?b) :rules {rules}]", options=options) == "#{[2] [7]}"


def test_a_keyword_is_an_entity_by_its_place(db):
    db.tx("[{:db/ident :tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 8 :db/ident :red :n 80} {:db/id 9 :tag :red}]")
    rules = "[[(numbered ?e ?n) [?e :n ?n]] [(tagged ?e ?k) [?e :tag ?k]]]"
    assert db.q(f"[:find ?n ?e :where (numbered :red ?n) (tagged ?e :red) :rules {rules}]") == "#{[80 9]}"


@pytest.mark.parametrize("starts", [10, 100])
def test_a_closure_larger_than_a_relation_may_be(db, starts, monkeypatch):
    monkeypatch.setattr(facts, "MOST_ROWS", 2000)
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx(f"[{' '.join(f'[:db/add {a} :to {a % 300 + 1}]' for a in range(1, 301))}]")
    db.tx(f"[{' '.join(f'[:db/add {a} :start true]' for a in range(1, starts + 1))}]")
    rules = "[[(p ?a ?b) [?a :start] [?a :to ?b]] [(p ?a ?c) (p ?a ?b) [?b :to ?c]]]"
    query = f"[:find (count ?b) . :with ?a :where (p ?a ?b) :rules {rules}]"
    db.refuses("LIMIT_EXCEEDED", query, says="a rule derives more than 2,000 rows")
    monkeypatch.setattr(facts, "MOST_ROWS", 200_000)
    assert db.q(query) == str(300 * starts)
