"""`or-join`: only the listed variables are seen outside; bracketed ones must be bound before."""

from __future__ import annotations

import pytest


@pytest.fixture
def graph(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [2] :w 5} {:db/id 2 :to [3] :w 6} {:db/id 3 :to [1 4]} {:db/id 4 :w 5}]")
    return db


def test_unlisted_variables_are_local(graph):
    query = "[:find ?x :where (or-join [?x] [?x :w 6] (and [?x :to ?y] [?y :w 6]))]"
    assert graph.q(query) == "#{[1] [2]}"


def test_a_local_variable_does_not_unify_with_one_outside(graph):
    query = "[:find ?x ?y :where [?y :w 6] (or-join [?x] (and [?x :to ?y] [?y :w 5]))]"
    assert graph.q(query) == "#{[3 2]}"


def test_one_or_two_steps(graph):
    query = "[:find ?a ?b :where (or-join [?a ?b] [?a :to ?b] (and [?a :to ?m] [?m :to ?b])) [(= ?a 1)]]"
    assert graph.q(query) == "#{[1 2] [1 3]}"


def test_a_row_counts_once_however_many_ways(graph):
    graph.tx("[[:db/add 1 :to 3]]")
    query = "[:find (count ?b) . :where (or-join [?b] (and [1 :to ?m] [?m :to ?b]) [1 :to ?b])]"
    assert graph.q(query) == "4"


def test_branches_may_use_different_variables(graph):
    query = "[:find ?x :where (or-join [?x] (and [?x :to ?y] [?y :to ?z] [?z :w]) (and [?x :w ?n] [(< ?n 6)]))]"
    assert graph.q(query) == "#{[1] [2] [3] [4]}"


def test_required_bindings(graph):
    query = "[:find ?x ?y :where [?x :w ?n] (or-join [[?n] ?y] [(inc ?n) ?y] [(dec ?n) ?y]) [(= ?x 2)]]"
    assert graph.q(query) == "#{[2 7] [2 5]}"


def test_required_bindings_in_any_clause_order(graph):
    query = "[:find ?x ?y :where (or-join [[?n] ?y] [(inc ?n) ?y] [(dec ?n) ?y]) [?x :w ?n] [(= ?x 2)]]"
    assert graph.q(query) == "#{[2 7] [2 5]}"


def test_a_required_binding_that_nothing_binds(graph):
    graph.refuses("UNBOUND_VARIABLE", "[:find ?x :where (or-join [[‸?n] ?x] [?x :w ?n])]", says="?n")


def test_a_listed_variable_that_a_branch_does_not_bind_must_be_bound_outside(graph):
    assert (
        graph.q("[:find ?x ?y :where [?x :to ?y] (or-join [?x ?y] [?x :w 5] [?y :w 5])]") == "#{[1 2] [3 1] [3 4]}"
    )
    graph.refuses("UNBOUND_VARIABLE", "[:find ?x ?y :where (or-join [?x ?y] [?x :w 5] [?y :w 5])]")


def test_a_predicate_branch_on_an_outer_variable(graph):
    query = "[:find ?x :where [?x :w ?n] (or-join [?x ?n] [?x :to 2] [(= ?n 6)])]"
    assert graph.q(query) == "#{[1] [2]}"


def test_not_inside(graph):
    query = "[:find ?x :where [?x :w] (or-join [?x] [?x :w 6] (not [?x :to _]))]"
    assert graph.q(query) == "#{[2] [4]}"


def test_nested_or_joins_have_their_own_scopes(graph):
    query = """[:find ?x :where
                (or-join [?x] (and [?x :to ?y] (or-join [?y] (and [?y :to ?x] [?x :w 5]) [?y :w 100])))]"""
    assert graph.q(query) == "#{[2]}"


def test_a_listed_variable_that_no_branch_uses(graph):
    graph.refuses("QUERY_INVALID", "[:find ?x :where (or-join [?x ‸?z] [?x :w 5])]", says="?z")


def test_without_variables_or_branches(graph):
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w 5] (or-join ‸[] [1 :w 5])]")
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w 5] ‸(or-join [?x])]")
    graph.refuses("QUERY_INVALID", "[:find ?x :where [?x :w 5] (or-join ‸?x [?x :w 5])]")


def test_a_variable_listed_twice(graph):
    graph.refuses("QUERY_INVALID", "[:find ?x :where (or-join [?x ‸?x] [?x :w 5])]")


def test_plain_symbols(graph):
    query = "{:find [x] :where [(or-join [x] [x :w 6] (and [x :to y] [y :w 6]))]}"
    assert graph.q(query) == "#{[1] [2]}"
