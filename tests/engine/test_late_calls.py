"""Sums and means of arithmetic over rows equal those of Python's numbers, whether codes are needed or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.ast import FindAggregate
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import identity
from adalog.executor.evaluation import late_calls
from adalog.executor.evaluation.late_calls import without_late_calls
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.store.database import Database
from tests.support import World

NUMBERS = st.one_of(
    st.decimals(-(10**6), 10**6, places=2).map(Decimal.normalize).map(lambda d: d + 0),
    st.decimals(-(10**21), 10**21, places=3),
    st.just(Decimal("1E+30")),
)
ROWS = st.lists(st.tuples(st.sampled_from("ab"), NUMBERS, NUMBERS), min_size=1, max_size=12)
QUERY = """[:find ?g (sum (* ?p (- 1 ?d))) (avg (+ ?p ?d)) (sum ?p) (sum (- ?d)) (count ?e) :with ?e
            :where [?e :g ?g] [?e :p ?p] [?e :d ?d]]"""


@contextmanager
def opened(rows: list[tuple[Any, ...]]) -> Iterator[World]:
    with Database.open(":memory:") as database:
        database.transact("[{:db/ident :p} {:db/ident :d}]")
        for type_name in {type(row[1]) for row in rows}:
            kind = {Decimal: "bigdec", float: "double", int: "long"}[type_name]
            database.transact(
                f"[{{:db/ident :p :db/valueType :db.type/{kind}}} {{:db/ident :d :db/valueType :db.type/{kind}}}]"
            )
        maps = (f'{{:g "{g}" :p {write(p)} {"" if d is None else f":d {write(d)}"}}}' for g, p, d in rows)
        database.transact(f"[{' '.join(maps)}]")
        pool = Pool(database)
        try:
            yield World(database, pool)
        finally:
            pool.close()


def answered(rows: list[tuple[Any, ...]], query: str, *args: Any) -> list[tuple[Any, ...]]:
    with opened(rows) as world:
        return sorted(world.run(query, *args).rows())


def found(world: World, query: str, *args: str) -> set[Any] | str:
    """The rows by typed identity, or the code of the refusal."""
    try:
        return {identity(row) for row in world.q(query, *args).rows}
    except AdalogError as error:
        return str(error.code)


@settings(max_examples=12, deadline=None)
@given(ROWS)
def test_bigdecs(rows: list[tuple[str, Decimal, Decimal]]) -> None:
    groups = defaultdict(list)
    for group, price, discount in rows:
        groups[group].append((price, discount))
    with localcontext(prec=300):
        wanted = [
            (g, sum(p * (1 - d) for p, d in each), sum(p + d for p, d in each) / len(each),
             sum(p for p, _ in each), sum(-d for _, d in each), len(each))
            for g, each in sorted(groups.items())
        ]  # fmt: skip
        for mine, theirs in zip(answered(rows, QUERY), wanted, strict=True):
            assert (mine[0], mine[1], *mine[3:]) == (theirs[0], theirs[1], *theirs[3:])
            with localcontext(prec=34):
                assert mine[2] in (theirs[2], +theirs[2])


def test_doubles_and_longs() -> None:
    rows = [("a", 1.5, 0.1), ("a", 2.5, 0.2), ("b", 1e300, -1e300)]
    assert answered(rows, QUERY) == [
        ("a", 1.5 * (1 - 0.1) + 2.5 * (1 - 0.2), (1.6 + 2.7) / 2, 4.0, -0.1 - 0.2, 2),
        ("b", float("inf"), 0.0, 1e300, 1e300, 1),
    ]
    big = 1 << 61
    rows = [("a", big, 3), ("a", 7, 5)]
    assert answered(rows, QUERY) == [("a", big * -2 + 7 * -4, (big + 3 + 12) / 2, big + 7, -8, 2)]


def test_nil_and_arguments() -> None:
    rows = [("a", Decimal("1.5"), Decimal(2)), ("a", Decimal("2.5"), None), ("b", Decimal(3), None)]
    where = ":where [?e :g ?g] [?e :p ?p] (optional [?e :d ?d])"
    query = f"[:find ?g (sum (* ?p ?d ?k)) (avg (* ?p ?d)) :in $ ?k :with ?e {where}]"
    assert answered(rows, query, "10M") == [("a", Decimal(30), Decimal(3)), ("b", None, None)]


# Where a binding has several places, nil leaves its row out.
CALLS = "(coalesce (sum (* ?p ?d)) :none) (avg (- 1 ?p)) (coalesce (sum (+ ?p ?d 2)) :none) (count ?p)"
WHERE = ":with ?e :where [?e :g ?g] [?e :p ?p] (optional [?e :d ?d])"
LONGS = st.integers(-(1 << 61), 1 << 61)


def rows_with_nil(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[str, Any, Any]]]:
    return st.lists(st.tuples(st.sampled_from("ab"), numbers, st.none() | numbers), min_size=1, max_size=12)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from((NUMBERS, LONGS, st.floats(allow_nan=False))).flatmap(rows_with_nil))
def test_within_a_query_they_are_those_of_the_query_alone(rows: list[tuple[str, Any, Any]]) -> None:
    """As a relation, for each group as an argument, and with an argument within the call."""
    with opened(rows) as world:
        wanted = found(world, f"[:find ?g {CALLS} {WHERE}]")
        names = "?g ?a ?b ?c ?n"
        assert found(world, f"[:find {names} :where [(q [:find ?g {CALLS} {WHERE}]) [[{names}]]]]") == wanted
        each = f"[(q [:find {CALLS} :in $ ?g {WHERE}] $ ?g) [[?a ?b ?c ?n]]]"
        assert found(world, f"[:find {names} :where [_ :g ?g] {each}]") == wanted
        times = "(coalesce (sum (* ?p ?d ?k)) :none) (sum (* ?k 3))"
        whole = f"[:find ?g ?k {times} :in $ [?k ...] {WHERE}]"
        each = f"[(q [:find {times} :in $ ?g ?k {WHERE}] $ ?g ?k) [[?a ?b]]]"
        wanted = found(world, whole, "[2 5]")
        assert found(world, f"[:find ?g ?k ?a ?b :in $ [?k ...] :where [_ :g ?g] {each}]", "[2 5]") == wanted


@pytest.mark.parametrize(
    ("query", "late"),
    [
        (QUERY, ["(* ?p (- 1 ?d))", "(+ ?p ?d)", "(- ?d)"]),
        ("[:find (sum (* ?p 2)) :with ?e :where [?e :p ?p] [(+ ?p 1) ?q] [?e :d ?q]]", ["(* ?p 2)"]),
        ("[:find (sum (* ?p 2)) (max (* ?p 2)) :where [?e :p ?p]]", []),
        ("[:find (* ?p 2) (sum (* ?p 2)) :where [?e :p ?p]]", []),
        ("[:find (sum (if (> ?p 2) ?p 0)) :where [?e :p ?p]]", []),
        ("[:find (sum ?q) :where [?e :p ?p] [(* ?p 2) ?q]]", []),
        ("[:find ?g (sum (* ?p 2)) :where [?e :p ?p] [?e :g ?g] :order-by ?e]", []),
    ],
)
def test_what_is_computed_after_the_join(query: str, late: list[str]) -> None:
    with Database.open(":memory:") as database:
        database.transact('[{:db/id 1 :p 1M :d 2M :g "a"} {:db/id 2 :p 2M :d 3M :g "a"}]')
        plan = plan_query(parse_query(query), Statistics({"$": database.snapshot()}, {}), frozenset(), Options())
        rest, calls = without_late_calls(plan)
        assert sorted(calls) == sorted(late)
        assert set(plan.order) - set(rest.order) == set(late)
        names = {each.var.name for each in plan.query.find.columns if isinstance(each, FindAggregate)}
        assert set(rest.answer) == set(plan.answer) - (names & set(late))


CLAUSES = (
    "[:find ?g (sum ?y) (avg ?y) (count ?e) :with ?e :where [?e :g ?g] [?e :p ?p] [?e :d ?d] [(* ?p (- 1 ?d)) ?y]]",
    "[:find ?g (sum ?y) (sum ?p) :with ?e :where [?e :g ?g] [?e :p ?p] [?e :d ?d] [(+ ?p ?d) ?y]]",
    "[:find (sum ?y) (count ?e) :with ?e :where [?e :p ?p] [(* ?p ?p) ?y]]",
    "[:find (sum ?y) (sum ?z) :with ?e :where [?e :p ?p] [?e :d ?d] [(* ?p ?d) ?y] [(- ?d ?p) ?z]]",
)
WITHIN = (
    f"[:find ?g ?s ?a ?n :where [(q {CLAUSES[0]} $) [[?g ?s ?a ?n]]]]",
    """[:find ?g ?s :where [_ :g ?g]
        [(q [:find (sum ?y) . :in $ ?g :with ?e
             :where [?e :g ?g] [?e :p ?p] [?e :d ?d] [(* ?p ?d) ?y]] $ ?g) ?s]]""",
)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from((NUMBERS, LONGS)).flatmap(rows_with_nil))
def test_of_clauses_they_are_those_of_the_join(rows: list[tuple[str, Any, Any]]) -> None:
    """Rows of one product are counted each, and those that the join leaves out are not."""
    with opened(rows) as world:
        snapshot = Statistics({"$": world.database.snapshot()}, {})
        for query in CLAUSES:
            wanted = found(world, query)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(late_calls, "_MANY", 0.0)
                plan = plan_query(parse_query(query), snapshot, frozenset(), Options())
                assert without_late_calls(plan)[1]
                assert found(world, query) == wanted
        for query in WITHIN:
            wanted = found(world, query)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(late_calls, "_MANY", 0.0)
                assert found(world, query) == wanted


@pytest.mark.parametrize(
    ("query", "late"),
    [
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] [?e :d ?d] [(* ?p ?d) ?y]]", {"?y"}),
        # Which rows there are depends on the sum's argument.
        ("[:find (sum ?y) :where [?e :p ?p] [?e :d ?d] [(* ?p ?d) ?y]]", set()),
        ("[:find (sum ?y) :with ?e ?y :where [?e :p ?p] [?e :d ?d] [(* ?p ?d) ?y]]", set()),
        ("[:find (sum ?y) (max ?y) :with ?e :where [?e :p ?p] [(* ?p 2) ?y]]", set()),
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] [(* ?p 2) ?y] [(> ?y 2)]]", set()),
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] [(* ?p 2) ?y] [?o :d ?y]]", set()),
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] (optional [?e :d ?d]) [(* ?p ?d) ?y]]", set()),
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] [(if (> ?p 1) ?p 0) ?y]]", set()),
        # The result is nil, which drops the row.
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] [(* ?p nil) ?y]]", set()),
        ("[:find (sum ?y) :with ?e :where [?e :p ?p] [(* ?p (+ 1 nil)) ?y]]", set()),
    ],
)
def test_which_clauses_are_computed_after_the_join(
    query: str, late: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_calls, "_MANY", 0.0)
    with Database.open(":memory:") as database:
        database.transact('[{:db/id 1 :p 1M :d 2M :g "a"} {:db/id 2 :p 2M :d 3M :g "a"}]')
        plan = plan_query(parse_query(query), Statistics({"$": database.snapshot()}, {}), frozenset(), Options())
        assert set(without_late_calls(plan)[1]) == late


def test_explain_shows_where_it_is_computed(db: World) -> None:
    db.tx("[{:p 1M :d 2M} {:p 3M :d 4M}]")
    query = "[:find (sum (* ?p (- 1 ?d))) :with ?e :where [?e :p ?p] [?e :d ?d]]"
    assert db.q(query) == "#{[-10M]}"
    for text in (
        query,
        f"[:find ?s :where [(q {query}) [[?s]]]]",
        f"[:find ?s :where [_ :p ?g] [(q {query} $) ?s]]",
    ):
        for analyze in (False, True):
            asked = QueryRequest(query=text, snapshot=db.database.snapshot())
            shown = db.pool.explain(asked, analyze=analyze).text
            assert shown.count("after the join: [(* ?p (- 1 ?d))") == 1
            assert "filter            [(* ?p" not in shown
            assert "propose/intersect [(* ?p" not in shown
