"""`:attr+` and `:attr*`: the transitive closures of an attribute of refs."""

from __future__ import annotations

import pytest


@pytest.fixture
def graph(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("""[{:db/id 1 :to #{2 3} :name "a"} {:db/id 2 :to 4} {:db/id 3 :to 4} {:db/id 4 :to 2} {:db/id 9 :to 1}
              {:db/id 1 :db/ident :start}]""")
    return db


def test_one_step_or_more(graph):
    assert graph.q("[:find ?b :where [1 :to+ ?b]]") == "#{[2] [3] [4]}"
    assert graph.q("[:find ?a :where [?a :to+ 3]]") == "#{[1] [9]}"
    assert graph.q("[:find ?a :where [?a :to+ ?a]]") == "#{[2] [4]}"
    assert graph.q("[:find (count ?b) . :where [:start :to+ ?b]]") == "3"
    assert graph.q("[:find ?n :where [9 :to+ ?b] [?b :name ?n]]") == '#{["a"]}'
    assert graph.q("[:find ?a :where [?a :to] (not [?a :to+ 3])]") == "#{[2] [3] [4]}"
    assert graph.q("[:find ?a :where [?a :to+]]") == "#{[1] [2] [3] [4] [9]}"
    assert (
        graph.q("[:find ?a ?b :where [?a :to+ ?b]]")
        == graph.q(
            "[:find ?a ?b :where (r ?a ?b) :rules [[(r ?a ?b) [?a :to ?b]] [(r ?a ?b) [?a :to ?c] (r ?c ?b)]]]"
        ).__repr__()
    )


def test_any_number_of_steps(graph):
    assert graph.q("[:find ?b :where [1 :to* ?b]]") == "#{[1] [2] [3] [4]}"
    assert graph.q("[:find ?a :where [?a :to* 3]]") == "#{[1] [3] [9]}"
    assert graph.q("[:find ?b :in $ ?a :where [?a :to* ?b]]", 3) == "#{[2] [3] [4]}"
    assert graph.q("[:find ?a :in $ ?b :where [?a :to* ?b]]", 3) == "#{[1] [3] [9]}"
    assert graph.q("[:find ?b :where [?a :name] [?a :to* ?b]]") == "#{[1] [2] [3] [4]}"
    assert graph.q("[:find ?a :where [?a :to] (not [?a :to* 3])]") == "#{[2] [4]}"
    graph.refuses("UNBOUND_VARIABLE", "[:find ?a ?b :where ‸[?a :to* ?b]]", says="one end")


def test_in_rules_and_sources(graph):
    rules = "[[(near ?a ?n) [?a :to+ ?b] [?b :name ?n]]]"
    assert graph.q("[:find ?a :in $ % :where (near ?a _)]", rules) == "#{[9]}"
    assert graph.q("[:find ?b :in $ $old :where [$old 1 :to+ ?b]]", graph.at(t=1)) == "#{}"
    assert (
        graph.q("[:find [?b ...] :where [(q [:find [?b ...] :where [1 :to+ ?b]] $) [?b ...]] [?b :to 4]]")
        == "[2 3]"
    )


def test_an_attribute_that_is_named_so_wins(graph):
    graph.tx('[{:db/id 1 :to+ "x"}]')
    assert graph.q("[:find ?b :where [1 :to+ ?b]]") == '#{["x"]}'
    assert graph.warnings("[:find ?b :where [1 ‸:to+ ?b]]") == ["AMBIGUOUS_ARGUMENT"]
    assert graph.warnings("[:find ?b :where [1 :to* ?b]]") == []


def test_what_is_no_path(graph):
    assert graph.warnings("[:find ?b :where [1 ‸:name+ ?b]]") == ["UNKNOWN_ATTRIBUTE"]
    graph.refuses("QUERY_INVALID", "[:find ?b :where ‸[1 :to+ ?b ?tx]]", says="no transaction")


def test_a_cached_answer_changes_with_the_steps(graph):
    ask = "[:find (count ?b) . :where [1 :to+ ?b]]"
    assert graph.q(ask, cached=True) == "3"
    graph.tx("[[:db/add 4 :to 9]]")
    assert graph.q(ask, cached=True) == "5"
