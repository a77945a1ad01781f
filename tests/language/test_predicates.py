"""Predicates keep the rows for which they are true, wherever in the query they are written."""

from __future__ import annotations

import pytest


@pytest.fixture
def people(db):
    db.tx("""[{:db/id 1 :name "Ada" :age 36} {:db/id 2 :name "Byron" :age 40} {:db/id 3 :name "Zoe" :age 9}]""")
    return db


@pytest.mark.parametrize(
    "where",
    [
        "[?e :age ?a] [(< ?a 40)]",
        "[(< ?a 40)] [?e :age ?a]",
        "[?e :age ?a] [(< ?a ?m)] [(ground 40) ?m]",
        "[(< ?a ?m)] [(+ 30 10) ?m] [?e :age ?a]",
        "(not [(>= ?a 40)]) [?e :age ?a]",
        "(or [(< ?a 10)] [(= ?a 36)]) [?e :age ?a]",
    ],
)
def test_the_order_of_clauses_does_not_matter(people, where):
    assert people.q(f"[:find ?e :where {where}]") == "#{[1] [3]}"


def test_a_predicate_of_constants_is_a_gate(people):
    assert people.q("[:find ?e :where [?e :age 9] [(< 1 2)]]") == "#{[3]}"
    assert people.q("[:find ?e :where [?e :age 9] [(< 2 1)]]") == "#{}"


def test_truth_is_not_nil_and_not_false(people):
    """As in Clojure: a function's result keeps the row unless it is nil or false."""
    assert people.q('[:find ?e :where [?e :name ?n] [(re-find "o" ?n)]]') == "#{[2] [3]}"
    assert people.q("[:find ?x :in [?x ...] :where [(identity ?x)]]", "[true false 0 nil]") == "#{[true] [0]}"


def test_missing(people):
    people.tx('[[:db/add 1 :email "ada@x"]]')
    assert people.q("[:find ?e :where [?e :name] [(missing? $ ?e :email)]]") == "#{[2] [3]}"


def test_unbound_argument(people):
    people.refuses("UNBOUND_VARIABLE", "[:find ?e :where [?e :age ?a] [(< ?a ‸?limit)]]", says="?limit")


def test_an_argument_bound_only_inside_not(people):
    people.refuses("UNBOUND_VARIABLE", "[:find ?e :where [?e :age] (not [?e :name ?n]) [(= ‸?n 1)]]", says="?n")


def test_unknown_predicate(people):
    people.refuses("QUERY_INVALID", '[:find ?e :where [?e :name ?n] [(‸start-with? ?n "A")]]', says="starts-with?")
    people.refuses("QUERY_INVALID", "[:find ?e :where [?e :name ?n] [(‸clojure.core/eval ?n)]]")
    people.refuses("QUERY_INVALID", '[:find ?e :where [?e :name ?n] [(‸slurp "/etc/passwd")]]')


def test_nothing_reaches_the_host(people):
    for call in ("(.getClass ?n)", "(System/exit 1)", "(java.lang.Math/abs 1)", "(__import__ ?n)", "(user/f ?n)"):
        people.refuses("QUERY_INVALID", f"[:find ?e :where [?e :name ?n] [{call}]]")


def test_wrong_number_of_arguments(people):
    people.refuses("QUERY_INVALID", "[:find ?e :where [?e :name ?n] [(starts-with? ?n)]]")
    people.refuses("QUERY_INVALID", "[:find ?e :where [?e :name ?n] [(<)]]")


def test_a_predicate_on_the_entity(people):
    assert people.q("[:find ?e :where [?e :age] [(odd? ?e)]]") == "#{[1] [3]}"


def test_a_blank_is_no_argument(people):
    people.refuses("QUERY_INVALID", "[:find ?e :where [?e :age ?a] [(< ‸_ 10)]]")
