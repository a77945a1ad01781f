"""What the planner makes of a query: the order, what each level keeps, and what explain says of it."""

from __future__ import annotations

import itertools

import pytest

from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from tests.support import World

GRAPH = " ".join(f"[:db/add {a} :to {b}]" for a in range(1, 40) for b in range(a + 1, a + 4))
NAMES = " ".join(f'[:db/add {n} :name "n{n}"] [:db/add {n} :kind "k{n % 3}"]' for n in range(1, 43))


@pytest.fixture
def graph(db: World) -> World:
    db.tx(
        "[{:db/ident :to :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]",
        f"[{GRAPH} {NAMES}]",
    )
    return db


def plan(world: World, query: str, *args: object, analyze: bool = False) -> dict:  # type: ignore[type-arg]
    request = QueryRequest(query=query, args=tuple(args), snapshot=world.database.snapshot())
    return world.pool.explain(request, analyze).plan


def test_the_order_begins_where_a_constant_leaves_least(graph: World) -> None:
    shown = plan(graph, '[:find ?n :where [?a :to ?b] [?b :name ?n] [?b :kind ?k] [?a :name "n7"]]')
    assert shown["order"][0] == "?a"
    assert shown["levels"][0]["estimate"] <= 2


def test_an_input_is_where_the_order_begins(graph: World) -> None:
    shown = plan(graph, "[:find ?m :in $ ?n :where [?b :name ?m] [?a :to ?b] [?a :name ?n]]", "n7")
    assert shown["given"] == ["?n"]
    assert shown["order"] == ["?a", "?b", "?m"]


def test_a_variable_that_nothing_needs_is_dropped_at_once(graph: World) -> None:
    shown = plan(graph, '[:find ?c :where [?a :to ?b] [?b :to ?c] [?a :kind "k1"]]')
    keeps = {level["variable"]: level["keeps"] for level in shown["levels"]}
    assert shown["order"] == ["?a", "?b", "?c"]
    assert keeps["?b"] == ["?b"]
    assert keeps["?c"] == ["?c"]


def test_paths_are_counted_without_being_written_out(graph: World) -> None:
    query = "[:find (count ?d) . :with ?a ?b ?c :where [?a :to ?b] [?b :to ?c] [?c :to ?d]]"
    shown = plan(graph, query, analyze=True)
    assert shown["weighted"]
    assert shown["levels"][-1]["counted"]
    assert max(level["actual"]["rows"] for level in shown["levels"]) <= 39 * 3
    assert graph.q(query) == str(sum(3 if b < 40 and c < 40 else 0 for a in range(1, 40)
                                     for b in range(a + 1, a + 4) if b < 40
                                     for c in range(b + 1, b + 4)))  # fmt: skip


def test_paths_from_a_given_start_are_counted_without_being_written_out(graph: World) -> None:
    query = "[:find (count ?d) . :with ?b ?c :in $ %s :where [?a :to ?b] [?b :to ?c] [?c :to ?d]]"
    assert plan(graph, query % "?a", 1)["weighted"]
    assert graph.q(query % "?a", 1) == "27"
    # Several starts may reach one path (b, c, d), which is then counted once.
    assert not plan(graph, query % "[?a ...]", (1, 2))["weighted"]
    assert graph.q(query % "[?a ...]", (1, 2)) == "36"


def test_a_hidden_variable_forbids_weights(graph: World) -> None:
    shown = plan(graph, "[:find (count ?c) . :where [?a :to ?b] [?b :to ?c]]")
    assert not shown["weighted"]
    assert graph.q("[:find (count ?c) . :where [?a :to ?b] [?b :to ?c]]") == "40"


def test_analyze_counts_what_happened(graph: World) -> None:
    query = "[:find ?a ?b ?c :where [?a :to ?b] [?a :to ?c] [?b :to ?c]]"
    shown = plan(graph, query, analyze=True)
    rows = len(graph.q(query))
    assert shown["rows"] == rows
    assert shown["levels"][-1]["actual"]["rows"] == rows
    assert all(level["actual"]["candidates"] >= level["actual"]["rows"] for level in shown["levels"])


def test_the_same_snapshot_and_text_give_the_same_plan(graph: World) -> None:
    query = '[:find ?n (count ?b) :where [?a :to ?b] [?a :name ?n] (not [?b :kind "k2"])]'
    first = plan(graph, query)
    graph.pool.engine.compiler.plans.clear()
    assert plan(graph, query) == first


@pytest.mark.parametrize(
    "options",
    [
        Options(reorder=False),
        Options(project=False),
        Options(budget=1),
        Options(reorder=False, project=False, budget=3),
    ],
)
def test_switches_change_the_way_never_the_answer(graph: World, options: Options) -> None:
    for query in (
        '[:find ?c (count ?a) :with ?b :where [?a :to ?b] [?b :to ?c] (not [?c :kind "k0"])]',
        '[:find ?a ?n :where (or-join [?a ?n] [?a :name ?n] (and [?a :to ?b] [?b :kind ?n])) [?a :kind "k1"]]',
        '[:find ?x ?y :where [?x :to ?y] (or [?x :kind "k1"] (and [?x :kind "k2"] [(< ?x 20)]))]',
    ):
        expected = {tuple(map(str, row)) for row in graph.q(query).rows}
        assert {tuple(map(str, row)) for row in graph.q(query, options=options).rows} == expected


def test_the_engine_says_why(graph: World) -> None:
    assert plan(graph, "[:find ?a :where [?a :name]]")["engine"] == "LOCAL"
    assert plan(graph, "[:find ?a :where [?a :name]]")["reason"] == "under 0.01 s here, too little for Spark"


def test_a_count_beyond_64_bits_is_refused_not_wrapped(graph: World) -> None:
    names = [f"?v{i}" for i in range(41)]
    chain = " ".join(f"[{a} :both {b}]" for a, b in itertools.pairwise(names))
    pairs = " ".join(f"[:db/add {a} :both {b}]" for a in range(1, 5) for b in range(1, 5))
    graph.tx("[{:db/ident :both :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]", f"[{pairs}]")
    graph.refuses(
        "LIMIT_EXCEEDED", f"[:find (count ?v0) . :with {' '.join(names[1:])} :where {chain}]", says="64 bits"
    )
    short = names[:29]
    chain = " ".join(f"[{a} :both {b}]" for a, b in itertools.pairwise(short))
    query = f"[:find (count ?v0) . :with {' '.join(short[1:])} :where {chain}]"
    assert graph.q(query) == str(4**29)


TIES = {
    "equal": "[:find ?e ?f :where [?e :n ?n] [?f :m ?m] [(= ?n ?m)]]",
    "equal numbers": "[:find ?e ?f :where [?e :n ?n] [?f :d ?d] [(== ?d ?n)]]",
    "equal decimals": "[:find ?e ?f :where [?e :b ?b] [?f :d ?d] [(== ?d ?b)]]",
    "computed": "[:find ?e ?f :where [?e :n ?n] [(inc ?n) ?k] [(= ?k ?m)] [?f :m ?m]]",
    "between": "[:find ?e ?f :where [?e :n ?n] [?f :d ?d] [(+ ?n 2) ?k] [(< ?n ?d ?k)]]",
    "in a branch": "[:find ?e ?f :where [?e :n ?n] [?f :m ?m] (or [(= ?n ?m)] (and [(= ?n 1)] [(= ?m 7)]))]",
    "in a rule": "[:find ?e ?f :where (same ?e ?f) :rules [[(same ?e ?f) [?e :n ?n] [?f :m ?m] [(= ?n ?m)]]]]",
    "any above": "[:find ?e :where [?e :n ?n] [?f :d ?d] [(> ?d ?n)]]",
    "a constant": "[:find ?e :where [?e :n ?n] [(== ?n 7.0)]]",
}


@pytest.fixture
def numbers(db: World) -> World:
    db.tx(
        """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :m :db/valueType :db.type/long}
            {:db/ident :d :db/valueType :db.type/double} {:db/ident :b :db/valueType :db.type/bigdec}]""",
        "[" + " ".join(f"{{:n {i} :m {300 - i} :d {i}.0 :b {i}M}}" for i in range(300)) + "]",
    )
    return db


@pytest.mark.parametrize("query", TIES.values(), ids=TIES.keys())
def test_what_a_comparison_ties_together_is_not_tried_pair_by_pair(numbers: World, query: str) -> None:
    shown = plan(numbers, query, analyze=True)
    candidates = [level["actual"]["candidates"] for level in shown["levels"]]
    assert sum(candidates) <= 300 * 8, candidates


@pytest.mark.parametrize(
    "inside",
    ["[_ :m ?k] [(= ?k ?n)]", "[_ :d ?k] [(== ?k ?n)]", "[_ :d ?k] [(> ?k ?n)]", "[?f :d ?k] [?f :m] [(> ?k ?n)]"],
)
def test_a_not_that_a_comparison_ties_to_the_rest_is_planned_so(numbers: World, inside: str) -> None:
    """So many pairs that trying them would take minutes."""
    values = [f"[:db/add {10_000 + i} :d {i}.5]" for i in range(15_000)]
    numbers.tx(
        f"[{' '.join(values)}]", f"[{' '.join(f'[:db/add {30_000 + i} :n {i + 1}]' for i in range(15_000))}]"
    )
    query = f"[:find (count ?e) . :where [?e :n ?n] (not {inside})]"
    assert numbers.run(query, timeout_ms=30_000).rows()


def test_an_equality_is_shown_where_it_proposes(numbers: World) -> None:
    shown = plan(numbers, TIES["equal"])
    proposing = {level["variable"]: level["propose"] for level in shown["levels"]}
    assert "[(= ?n ?m)]" in [*proposing["?n"], *proposing["?m"]]
