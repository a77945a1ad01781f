"""A call that refuses its arguments is an error only if a row of the answer needs it, in whatever order the join
binds variables."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import AdalogError
from tests.language.test_live_traps import Live

QUOTIENTS = "[:find ?e ?z :where [?e :a ?x] [?e :b ?y] [(quot ?x ?y) ?z]]"


@pytest.fixture
def numbers(db):
    """Many entities with few values, so that pairs of values are bound before entities. None has 7 and 0."""
    rows = " ".join(f'{{:db/id {n} :a {n % 3} :b {1 + n % 2} :s "{n}"}}' for n in range(1, 200))
    db.tx(f"[{rows} {{:db/id 300 :a 7}} {{:db/id 301 :b 0}}]")
    return db


def test_pairs_that_no_entity_has(numbers):
    assert len(numbers.q(QUOTIENTS)) == 199


def test_a_pair_that_one_entity_has(numbers):
    numbers.tx("[{:db/id 302 :a 7 :b 0}]")
    numbers.refuses("QUERY_INVALID", QUOTIENTS.replace("[(quot", "‸[(quot"))


@pytest.mark.parametrize(
    "query",
    [
        "[:find (sum ?z) . :where [?e :a ?x] [?e :b ?y] [(quot ?x ?y) ?z]]",
        "[:find (sum (quot ?x ?y)) . :with ?e :where [?e :a ?x] [?e :b ?y]]",
        "[:find (count ?e) . :where [?e :a ?x] [?e :b ?y] [(< 0 (quot ?x ?y))]]",
        "[:find (count ?e) . :where [?e :a ?x] [?e :b ?y] (not [(quot ?x ?y) ?z] [(= ?z 5)])]",
        "[:find (count ?e) . :where [?e :a ?x] [?e :b ?y] (or-join [?x ?y ?z] [(quot ?x ?y) ?z] [(+ ?x ?y) ?z])]",
        "[:find (count ?e) . :where (r ?e ?z) :rules [[(r ?e ?z) [?e :a ?x] [?e :b ?y] [(quot ?x ?y) ?z]]]]",
        "[:find (count ?e) . :where [?e :a ?x] [?e :b ?y] (optional [(quot ?x ?y) ?z])]",
        "[:find ?n . :where [(q [:find (count ?e) . :where [?e :a ?x] [?e :b ?y] [(quot ?x ?y)]]) ?n]]",
        "[:find (count ?e) . :where [?e :a ?x] [?e :b ?y] [(vector ?x (quot ?x ?y)) [_ ?z]]]",
        "[:find (count ?e) . :where [?e :a ?x] [?e :b ?y] [(quot ?x ?y) ?z] [(= ?z ?z2)] [_ :a ?z2]]",
    ],
)
def test_places(numbers, query):
    assert numbers.q(query).value
    numbers.tx("[{:db/id 302 :a 7 :b 0}]")
    numbers.refuses("QUERY_INVALID", query)


def test_guards(db):
    """What cannot fail goes first; of calls that can, those written first."""
    db.tx('[{:db/id 1 :v 4 :w 2} {:db/id 2 :v 4 :w 0} {:db/id 3 :t "ab"} {:db/id 4 :t ""}]')
    assert db.q("[:find ?e ?z :where [(quot ?v ?w) ?z] [?e :v ?v] [?e :w ?w] [(not= ?w 0)]]") == "#{[1 2]}"
    assert db.q('[:find ?e ?z :where [?e :t ?t] [(starts-with? ?t "a")] [(subs ?t 1) ?z]]') == '#{[3 "b"]}'


def test_nothing_needs_a_call_without_rows(db):
    db.tx("[{:db/id 1 :a 1}]")
    assert db.q("[:find ?e ?z :where [?e :a ?x] [(quot 1 0) ?z] [(< ?x 0)]]") == "#{}"
    db.refuses("QUERY_INVALID", "[:find ?e ?z :where [?e :a ?x] ‸[(quot 1 0) ?z] [(< 0 ?x)]]")


def test_a_second_run_that_takes_too_much(numbers):
    """The first refusal stands."""
    with pytest.raises(AdalogError, match="divides by zero"):
        numbers.q(QUOTIENTS, max_rows=1)


def test_queries_in_patterns(numbers):
    numbers.tx("[{:db/id 1000 :children [1 2 3]}]")
    inner = '(q "z" [:find ?z :in $ ?p :where [?p :children ?e] [?e :a ?x] [?e :b ?y] [(quot ?x ?y) ?z]])'
    assert len(numbers.q(f"[:find (pull ?p [{inner}]) :where [?p :children]]")) == 1


def test_live(numbers):
    live = Live(numbers, QUOTIENTS)
    assert live.tx("[{:db/id 400 :a 8 :b 4}]") == "+[400 2]"
    # Neither moment has the old divisor with the new dividend.
    numbers.tx("[{:db/id 500 :b 0}]")
    live.tx("[]")
    assert live.tx("[{:db/id 500 :a 9 :b 3}]") == "+[500 3]"


def test_live_groups(numbers):
    live = Live(numbers, "[:find ?x (sum ?z) :with ?e :where [?e :a ?x] [?e :b ?y] [(quot ?x ?y) ?z]]")
    assert live.tx("[{:db/id 400 :a 8 :b 4}]") == "+[8 2]"
    numbers.tx("[{:db/id 500 :b 0}]")
    live.tx("[]")
    assert live.tx("[{:db/id 500 :a 9 :b 3}]") == "+[9 3]"


def test_the_least_arguments_that_are_refused_are_named(db):
    """And not those that the database came to know first."""
    db.tx('[{:db/id 1 :word "c"} {:db/id 2 :word "b"} {:db/id 3 :word "a"}]')
    db.refuses("QUERY_INVALID", "[:find ?x :where [?e :word ?w] ‸[(entid ?w) ?x]]", says='(entid "a")')
    db.refuses("QUERY_INVALID", "[:find ?e :where [?e :word ?w] [(> ‸(+ 1 ?w) 2)]]", says='(+ 1 "a")')
    db.refuses("QUERY_INVALID", "[:find (entid ?w) :where [_ :word ?w]]", says='(entid "a")')
