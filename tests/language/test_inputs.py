"""`:in`: scalars, collections, tuples and relations, in order after the default source."""

from __future__ import annotations

from contextlib import closing

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.live.hub.hub import Hub
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest


@pytest.fixture
def people(db):
    db.tx("""[{:db/id 1 :name "Ada" :age 36} {:db/id 2 :name "Byron" :age 36} {:db/id 3 :name "Zoe" :age 9}]""")
    return db


def test_scalar(people):
    assert people.q("[:find ?n :in $ ?a :where [?e :age ?a] [?e :name ?n]]", "9") == '#{["Zoe"]}'


def test_scalars_in_order(people):
    query = "[:find ?e :in $ ?n ?a :where [?e :age ?a] [?e :name ?n]]"
    assert people.q(query, '"Ada"', "36") == "#{[1]}"
    assert people.q(query, '"Ada"', "9") == "#{}"


def test_the_default_source_may_be_left_out(people):
    assert people.q("[:find ?n :in ?a :where [?e :age ?a] [?e :name ?n]]", "9") == '#{["Zoe"]}'


def test_collection(people):
    query = "[:find ?e :in $ [?n ...] :where [?e :name ?n]]"
    assert people.q(query, '["Ada" "Zoe" "Nobody"]') == "#{[1] [3]}"
    assert people.q(query, "[]") == "#{}"
    assert people.q(query, '#{"Ada"}') == "#{[1]}"
    assert people.q(query, '("Ada")') == "#{[1]}"


def test_tuple(people):
    assert people.q("[:find ?e :in $ [?n ?a] :where [?e :name ?n] [?e :age ?a]]", '["Ada" 36]') == "#{[1]}"


def test_relation(people):
    query = "[:find ?e :in $ [[?n ?a]] :where [?e :name ?n] [?e :age ?a]]"
    assert people.q(query, '[["Ada" 36] ["Zoe" 10] ["Byron" 36]]') == "#{[1] [2]}"
    assert people.q(query, "[]") == "#{}"
    assert people.q(query, '#{["Ada" 36]}') == "#{[1]}"


def test_a_relation_keeps_its_rows_together(people):
    query = "[:find ?n ?a :in $ [[?n ?a]] :where [?e :name ?n]]"
    assert people.q(query, '[["Ada" 1] ["Zoe" 2]]') == '#{["Ada" 1] ["Zoe" 2]}'


def test_blanks_in_inputs(people):
    assert people.q("[:find ?e :in $ [_ ?a] :where [?e :age ?a]]", '["whatever" 9]') == "#{[3]}"
    assert people.q("[:find ?e :in $ [[?n _]] :where [?e :name ?n]]", '[["Ada" 1] ["Ada" 2]]') == "#{[1]}"


def test_a_repeated_tuple_counts_once(people):
    assert people.q("[:find (count ?x) . :in [?x ...]]", "[7 7 8]") == "2"
    assert people.q("[:find (sum ?y) . :in [[?x ?y]]]", "[[1 5] [1 5] [2 5]]") == "5"
    assert people.q("[:find (sum ?y) . :with ?x :in [[?x ?y]]]", "[[1 5] [1 5] [2 5]]") == "10"
    query = "[:find ?n :in $ [?a ...] :where [?e :age ?a] [?e :name ?n]]"
    assert people.q(query, "[36 36 36]") == '#{["Ada"] ["Byron"]}'


def test_typed_inputs(people):
    query = "[:find ?x :in [?x ...]]"
    assert people.q(query, '[1 1.0 1M 1N true :a "a" ":a" a nil]') != "#{}"
    assert len(people.q(query, '[1 1.0 1M true :a "a" ":a" a]')) == 8


def test_an_input_of_the_wrong_type_matches_nothing(people):
    query = "[:find ?e :in $ ?a :where [?e :age ?a]]"
    assert people.q(query, "36") == "#{[1] [2]}"
    assert people.q(query, "36.0") == "#{[1] [2]}"
    assert people.q(query, "36.5") == "#{}"
    assert people.q(query, '"36"') == "#{}"


def test_inputs_that_nothing_uses_still_multiply(people):
    assert people.q("[:find ?x ?y :in [?x ...] [?y ...]]", "[1 2]", "[3 4]") == "#{[1 3] [1 4] [2 3] [2 4]}"
    assert people.q("[:find ?n :in $ [?x ...] :where [?e :name ?n]]", "[]") == "#{}"


def test_two_inputs_of_one_variable_are_refused(people):
    people.refuses("QUERY_INVALID", "[:find ?x :in ?x ‸?x]", "1", "1")
    people.refuses("QUERY_INVALID", "[:find ?x :in [[?x ‸?x]]]", "[[1 1]]")


def test_too_few_and_too_many_arguments(people):
    people.refuses("ARG_INVALID", "[:find ?x :in $ ?x ?y]", "1")
    people.refuses("ARG_INVALID", "[:find ?x :in $ ?x]", "1", "2")
    people.refuses("ARG_INVALID", "[:find ?e :where [?e :name]]", "1")


@pytest.mark.parametrize(
    ("binding", "argument"),
    [
        ("[?x ...]", "1"),
        ("[?x ...]", '"abc"'),
        ("[?x ?y]", "1"),
        ("[?x ?y]", "[1]"),
        ("[[?x ?y]]", "1"),
        ("[[?x ?y]]", "[1 2]"),
        ("[[?x ?y]]", "[[1 2] [3]]"),
    ],
)
def test_arguments_of_the_wrong_shape(db, binding, argument):
    db.refuses("ARG_INVALID", f"[:find ?x :in {binding}]", argument)


def test_an_unused_source_is_fine(people):
    assert people.q("[:find ?x :in $ ?x]", "1") == "#{[1]}"


def test_what_is_no_input(people):
    people.refuses("QUERY_INVALID", "[:find ?x :in $ ?x ‸42]", "1", "2")
    people.refuses("QUERY_INVALID", "[:find ?x :in $ ‸:key ?x]", "1")


def test_nil_input(people):
    """nil is no value a datom can hold."""
    assert people.q("[:find ?e :in $ ?a :where [?e :age ?a]]", "nil") == "#{}"


def test_an_input_used_in_predicates_only(people):
    query = "[:find ?n :in $ ?most :where [?e :name ?n] [?e :age ?a] [(< ?a ?most)]]"
    assert people.q(query, "20") == '#{["Zoe"]}'


def test_a_large_collection(people):
    numbers = " ".join(str(number) for number in range(5000))
    assert people.q("[:find ?e ?a :in $ [?a ...] :where [?e :age ?a]]", f"[{numbers}]") == "#{[1 36] [2 36] [3 9]}"


@pytest.mark.parametrize("given", [1 + 2j, object()], ids=type)
@pytest.mark.parametrize(
    "query",
    [
        "[:find ?e :in $ ?a :where [?e :age ?a]]",
        "[:find ?e ?x :in $ ?x :where [?e :age]]",
        "[:find ?e ?x :in $ [?x ?y] :where [?e :age]]",
        "[:find ?e :in $ [?a ...] :where [?e :age ?a]]",
        "[:find ?e ?x :in $ [[?x _]] :where [?e :age]]",
    ],
)
def test_what_is_no_value_is_refused(people, given, query):
    """In Python anything may be given."""
    shaped = {"[?x ?y]": [given, 1], "...": [1, given], "[[?x": [(given, 1)]}
    argument = next((each for mark, each in shaped.items() if mark in query), given)
    with closing(Pool(people.database)) as pool:
        with pytest.raises(AdalogError, match=r"takes a value: .* is not an EDN value") as refused:
            pool.run(QueryRequest(query, (argument,)))
        assert refused.value.code is Code.ARG_INVALID
        with Hub(pool), pytest.raises(AdalogError, match="takes a value"):
            people.database.live(query, argument)


@pytest.mark.parametrize("given", [{1, 2}, frozenset((1,)), {1: 2}], ids=type)
def test_a_collection_of_python_is_no_attributes_value(people, given):
    with closing(Pool(people.database)) as pool, Hub(pool):
        query = "[:find ?e :in $ ?a :where [?e :age ?a]]"
        for ask in (lambda: pool.run(QueryRequest(query, (given,))), lambda: people.database.live(query, given)):
            with pytest.raises(AdalogError, match="takes a value") as refused:
                ask()
            assert refused.value.code is Code.ARG_INVALID


def test_a_list_of_python_is_a_tuple(people):
    with closing(Pool(people.database)) as pool:
        assert pool.run(QueryRequest("[:find ?e :in $ ?a :where [?e :age ?a]]", ([36, 9],))).rows() == []
