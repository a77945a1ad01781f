"""Which conditions around a query within a query are repeated within it, and with which arguments."""

from __future__ import annotations

import pytest

from adalog.datalog.parsing.parser import parse_query
from adalog.planner.explain.rules import plain_names
from adalog.planner.model.logical import DatomAtom, describe, everything
from adalog.planner.model.plan import Options, inner_plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.store.database import Database

SUMS = "[(q [:find ?by (sum ?n) :where [?e :by ?by] [?e :size ?n]]) [[?k ?s]]]"
ROWS = SUMS.replace("(sum ?n)", "?n")


def within(query: str, options: Options) -> list[str]:
    """The clauses of the query within that are no patterns, and its arguments."""
    with Database.open(":memory:") as database:
        statistics = Statistics({"$": database.snapshot()}, {})
        plan = plan_query(parse_query(query), statistics, frozenset(), options)
    # An optional has its clauses twice.
    inner, *same = filter(None, (getattr(leaf, "subquery", None) for leaf in everything(plan.body)))
    assert all(each == inner for each in same)
    clauses = [describe(leaf) for leaf in inner_plan(inner).body.items if not isinstance(leaf, DatomAtom)]
    return [plain_names(each) for each in (*clauses, *inner.inputs)]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        (f"{SUMS} [(= ?k 5)]", ["[(= ?by 5)]"]),
        (f"[(< 2 ?k)] {SUMS} [(not= ?k 5)]", ["[(< 2 ?by)]", "[(not= ?by 5)]"]),
        (f"{SUMS} [(ground 5) ?k]", ["[(= ?by 5)]"]),
        (f"{SUMS} [(between ?k 2 5)]", ["(and [(<= 2 ?by)] [(<= ?by 5)])"]),
        (f"{SUMS} (not [(= ?k 5)])", ["(not [(= ?by 5)])"]),
        (f"{SUMS} (or [(= ?k 5)] [(> ?k 7)])", ["(or (and [(= ?by 5)]) (and [(> ?by 7)]))"]),
        (f"{SUMS} [(if (nil? ?k) true (< ?k 5))]", ["[(if (nil? ?by) true (< ?by 5))]"]),
        (f"(or-join [?k] [?k :by 1] (and {SUMS} [?k])) [(= ?k 5)]", ["[(= ?by 5)]"]),
        (f"[?k :by] (not-join [?k] {SUMS} [?s :by]) [(= ?k 5)]", ["[(= ?by 5)]"]),
        (f"{ROWS} [(< ?s ?k)]", ["[(< ?n ?by)]"]),
        # A condition on an aggregate, on other variables, or that may refuse its arguments.
        (f"{SUMS} [(= ?s 5)]", []),
        (f"{SUMS} [(< ?s ?k)]", []),
        (f"{SUMS} [?k :by ?o] [(< ?k ?o)]", []),
        (f"{SUMS} [(even? ?k)]", []),
        (f"{SUMS} (or [(= ?k 5)] [(even? ?k)])", []),
        # Of some of the rows, others would be shown.
        (f"{SUMS.replace(':where', ':limit 3 :where')} [(= ?k 5)]", []),
        (f"{SUMS.replace(':where', ':keys k s :where')} [(= ?k 5)]".replace("[[?k ?s]]", "?k"), []),
        # What is asked of an optional value holds of nil, too.
        (f"[?o :size] (optional {SUMS}) [(nil? ?k)]", []),
        (f"[?o :size] (optional {SUMS} [(= ?k 5)])", ["[(= ?by 5)]"]),
    ],
)
def test_conditions(clauses: str, expected: list[str]) -> None:
    query = f"[:find ?k :where {clauses}]"
    assert within(query, Options()) == expected
    assert within(query, Options(magic=False)) == []


def test_a_list_is_met_by_what_the_query_binds() -> None:
    assert within(f"[:find ?k :where {SUMS} [(in ?k [:a :b])]]", Options()) == [
        "[(ground [:a :b]) ground·1]",
        "[(unnest ground) ?by]",
    ]


@pytest.mark.parametrize(
    ("find", "clauses", "expected"),
    [
        (":in ?k", SUMS, ["[(= ?by ?k outside)]", "?k outside"]),
        (":in ?x", f"{SUMS} [(= ?x ?k)] [(< ?k 7)]", ["[(= ?x outside ?by)]", "[(< ?by 7)]", "?x outside"]),
        # Many rows as one value cost more than they save.
        (":in ?k", ROWS, []),
        (":in ?x", f"{SUMS} [(< ?k ?x)]", []),
        (":in [?k ...]", SUMS, []),
        # Within the negation nothing binds it.
        (":in ?x", f"[?k :by ?s] (not {SUMS}) [(= ?k ?x)]", []),
    ],
)
def test_arguments(find: str, clauses: str, expected: list[str]) -> None:
    assert within(f"[:find ?s {find} :where {clauses}]", Options()) == expected


def test_constants_of_rule_calls() -> None:
    query = f"[:find ?s :rules [[(sums ?k ?s) {SUMS}]] :where (sums 5 ?s)]"
    assert within(query, Options()) == ["[(= ?by 5)]"]
