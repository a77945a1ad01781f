"""`not-join`: only the listed variables unify with outside; all others are local."""

from __future__ import annotations

import pytest


@pytest.fixture
def graph(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [2] :w 5} {:db/id 2 :to [3] :w 6} {:db/id 3 :to [1 4]} {:db/id 4 :w 5}]")
    return db


def test_listed_variables_unify(graph):
    assert graph.q("[:find ?x :where [?x :w] (not-join [?x] [?x :to ?y])]") == "#{[4]}"


def test_an_unlisted_variable_is_local_even_if_its_name_is_used_outside(graph):
    query = "[:find ?x ?y :where [?x :to ?y] [?y :w 5] (not-join [?x] [?x :to ?y] [?y :w])]"
    assert graph.q(query) == "#{}"
    query = "[:find ?x ?y :where [?x :to ?y] (not-join [?x] [?x :to ?y] [?y :to 2])]"
    assert graph.q(query) == "#{[1 2] [2 3]}"
    query = "[:find ?x ?y :where [?x :to ?y] (not [?x :to ?y] [?y :to 2])]"
    assert graph.q(query) == "#{[1 2] [2 3] [3 4]}"


def test_two_listed(graph):
    query = "[:find ?x ?y :where [?x :to ?y] (not-join [?x ?y] [?y :to ?z] [?z :to ?x])]"
    assert graph.q(query) == "#{[3 4]}"


def test_before_what_binds_it(graph):
    assert graph.q("[:find ?x :where (not-join [?x] [?x :to ?y]) [?x :w]]") == "#{[4]}"


def test_nested(graph):
    """Nodes all of whose neighbours have a weight."""
    query = "[:find ?x :where [?x :to] (not-join [?x] [?x :to ?y] (not-join [?y] [?y :w ?x]))]"
    assert graph.q(query) == "#{[1] [3]}"


def test_a_not_inside_sees_only_what_is_listed(graph):
    query = "[:find ?x ?n :where [?x :w ?n] (not-join [?x] [?x :to ?y] (not [?y :w ?n]))]"
    assert graph.q(query) == "#{[1 5] [4 5]}"


def test_or_inside(graph):
    query = "[:find ?x :where [?x] [?x :w] (not-join [?x] (or [?x :to ?y] [?y :to ?x]) [?y :w 6])]"
    assert graph.q(query) == "#{[2] [4]}"


def test_predicates_on_listed_variables(graph):
    query = "[:find ?x :where [?x :w ?n] (not-join [?x ?n] [?x :to ?y] [?y :w ?m] [(> ?m ?n)])]"
    assert graph.q(query) == "#{[2] [4]}"


def test_a_listed_variable_that_nothing_binds(graph):
    graph.refuses("UNBOUND_VARIABLE", "[:find ?x :where [?x :w] (not-join [?x ‸?y] [?x :to ?y])]", says="?y")


def test_a_listed_variable_that_is_not_used_inside(graph):
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w ?n] (not-join [?x ‸?n] [?x :to ?y])]", says="?n")


def test_malformed(graph):
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w] (not-join ‸[] [?x :to ?y])]")
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w] ‸(not-join [?x])]")
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w] (not-join ‸?x [?x :to ?y])]")


def test_unbound_inside(graph):
    graph.refuses(
        "UNBOUND_VARIABLE", "[:find ?x :where [?x :w ?n] (not-join [?x] [?x :to ?y] [(> ‸?n ?y)])]", says="?n"
    )
