"""Rules in one call of a kernel: what users write, what is left to the fixpoint in columns, and when."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random

import pytest

from adalog.datalog import edn
from adalog.datalog.values import Keyword
from adalog.executor.evaluation.small_rules import SmallRules
from adalog.executor.join.batch import Batch
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.kernels.small_rules import MOST_FACTS
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

SCHEMA = """[{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :kind :db/valueType :db.type/keyword}]"""
STEPS = {
    "right": "[?a :to ?b] (reached ?b ?c)",
    "left": "(reached ?a ?b) [?b :to ?c]",
    "square": "(reached ?a ?b) (reached ?b ?c)",
    "checked": "(reached ?a ?b) [?b :to ?c] [?c :kind :good]",
    "without": "(reached ?a ?b) [?b :to ?c] (not [?c :to ?a])",
    "allowed": "(reached ?a ?b) (good ?b) [?b :to ?c]",
    "mutual": "[?a :to ?b] (other ?b ?c)",
}
OTHER = "[(other ?x ?y) [?x :to ?y] [?y :kind :good]] [(other ?x ?z) (reached ?x ?y) [?y :to ?z]]"
# A ring of eight with a tail.
EDGES = [*((i, i % 8 + 1) for i in range(1, 9)), (3, 9), (9, 10), (10, 11)]


@pytest.fixture
def pool() -> Iterator[Pool]:
    SMALL_JOIN.load()
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        pool = Pool(database)
        yield pool
        pool.close()


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The number of rows of each call of the kernel; None where it handed back."""
    found: list[int | None] = []
    derived = SmallRules.derived

    def noted(self: SmallRules, batch: Batch) -> Batch | None:
        rows = derived(self, batch)
        found.append(None if rows is None else rows.size)
        return rows

    monkeypatch.setattr(SmallRules, "derived", noted)
    return found


def reached(step: str) -> str:
    other = {"mutual": OTHER, "allowed": "[(good ?x) [?x :kind :good]]"}.get(step, "")
    return f"""[:find ?name :in $ ?start :where [?a :name ?start] (reached ?a ?c) [?c :name ?name]
                :rules [[(reached ?a ?b) [?a :to ?b]] [(reached ?a ?c) {STEPS[step]}] {other}]]"""


def load(pool: Pool, edges: list[tuple[int, int]], gap: int = 1) -> None:
    numbers = sorted({number for edge in edges for number in edge})
    forms = [
        f'[:db/add {gap * n} :name "n{n}"] [:db/add {gap * n} :kind :{"bad" if n == 9 else "good"}]'
        for n in numbers
    ]
    forms += [f"[:db/add {gap * a} :to {gap * b}]" for a, b in edges]
    pool.database.transact(f"[{' '.join(forms)}]")


def rows(pool: Pool, query: str, *args: object) -> list[tuple[object, ...]]:
    return sorted(pool.run(QueryRequest(query, args, engine="LOCAL", cached=False)).rows())


def by_walking(edges: list[tuple[int, int]], start: int, step: str) -> list[tuple[object, ...]]:
    """The entities that a walk by one kind of step reaches."""
    first, there = {b for a, b in edges if a == start}, set(edges)
    found, left = set(first), sorted(first)
    while left:
        node = left.pop()
        for a, b in edges:
            fits = not (step == "checked" and b == 9) and not (step == "without" and (b, start) in there)
            if a == node and b not in found and fits and not (step == "allowed" and a == 9):
                found.add(b)
                left.append(b)
    return sorted((f"n{n}",) for n in found)


@pytest.mark.parametrize("step", STEPS)
def test_a_bound_recursion_is_one_call(pool: Pool, sizes: list[int | None], step: str) -> None:
    load(pool, EDGES)
    for start in (1, 3, 9, 11, 2, 4):
        found = rows(pool, reached(step), f"n{start}")
        if step != "mutual":
            assert found == by_walking(EDGES, start, step)
        if sizes:
            assert sizes[-1] == len(found)
    assert len(sizes) == 4
    # The next moment.
    pool.database.transact("[[:db/retract 3 :to 9] [:db/add 5 :to 10]]")
    now = [*(edge for edge in EDGES if edge != (3, 9)), (5, 10)]
    found = rows(pool, reached(step), "n1")
    assert sizes[-1] == len(found)
    if step != "mutual":
        assert found == by_walking(now, 1, step)


def test_rules_that_call_each_other(pool: Pool, sizes: list[int | None]) -> None:
    load(pool, EDGES)
    answers = [rows(pool, reached("mutual"), "n1") for _ in range(4)]
    assert sizes == [len(answers[0])] * 2
    assert all(answer == answers[0] for answer in answers)


def test_a_long_way_takes_many_rounds(pool: Pool, sizes: list[int | None]) -> None:
    load(pool, [(i, i + 1) for i in range(1, 1_000)])
    for start in (990, 1, 1, 1, 500):
        assert len(rows(pool, reached("right"), f"n{start}")) == 1_000 - start
    assert sizes == [999, 999, 500]


def test_many_rows_stay_in_one_call(pool: Pool, sizes: list[int | None]) -> None:
    load(pool, [(i, i + 1) for i in range(1, 1_900)])
    for _ in range(9):
        assert len(rows(pool, reached("right"), "n1")) == 1_899
    assert sizes == [1_899] * 7


@pytest.mark.parametrize("step", ["right", "left", "checked"])
def test_a_round_may_derive_more_than_a_frame_holds(pool: Pool, sizes: list[int | None], step: str) -> None:
    """A hundred nodes, all of which have edges to all: a round makes thousands of rows, nearly all known."""
    edges = [(a, b) for a in range(1, 101) for b in range(1, 101)]
    load(pool, edges)
    # A fold in the background may have joins bound anew.
    for start in (1, 50, 100) * 2:
        assert rows(pool, reached(step), f"n{start}") == by_walking(edges, start, step)
    assert sizes
    if step in ("right", "left"):
        assert None not in sizes


@pytest.mark.parametrize("step", ["right", "left", "square", "checked", "without", "allowed"])
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs(pool: Pool, sizes: list[int | None], step: str, seed: int) -> None:
    rng = Random(seed)
    nodes = rng.choice((12, 40, 300))
    edges = sorted({(rng.randint(1, nodes), rng.randint(1, nodes)) for _ in range(rng.choice((1, 2, 5)) * nodes)})
    load(pool, edges)
    for start in rng.sample(sorted({a for a, _ in edges}), 5):
        assert rows(pool, reached(step), f"n{start}") == by_walking(edges, start, step)
    assert sizes


@pytest.mark.parametrize("step", ["right", "left", "square"])
@pytest.mark.parametrize("gap", [1, 3, 1_024, 4_096])
def test_random_graphs_of_many_edges(pool: Pool, sizes: list[int | None], step: str, gap: int) -> None:
    """So many that tries have a base. Numbers of entities that are so far apart share their last bits. Parts of the
    graph do not reach others, so that each start has rows of its own."""
    rng = Random(f"{step} {gap}")
    edges = set[tuple[int, int]]()
    for first, nodes in ((1, 500), (501, 60), (561, 300)):
        edges |= {(first + rng.randrange(nodes), first + rng.randrange(nodes)) for _ in range(12 * nodes)}
    edges |= {(900, 501), (900, 561), *((n, n + 1) for n in range(901, 940))}
    load(pool, sorted(edges), gap)
    for number in range(3):
        ends: dict[int, list[int]] = {}
        for a, b in edges:
            ends.setdefault(a, []).append(b)
        for start in (1, 900, 561, 501, 901, 2, 561, 939, 900):
            expected, left = set[int](), [start]
            while left:
                new = set(ends.get(left.pop(), ())) - expected
                expected |= new
                left += new
            assert rows(pool, reached(step), f"n{start}") == sorted((f"n{n}",) for n in expected)
        # The next moment, with signed pairs: an edge less, some others, and all of a node.
        gone = {(901 + number, 902 + number), *rng.sample(sorted(edges), 9)} & edges
        gone |= {edge for edge in edges if edge[0] == 3 + number}
        new = {(rng.randint(501, 560), rng.randint(501, 560)) for _ in range(9)} - edges
        edges = edges - gone | new
        forms = [f"[:db/retract {gap * a} :to {gap * b}]" for a, b in gone]
        forms += [f"[:db/add {gap * a} :to {gap * b}]" for a, b in new]
        pool.database.transact(f"[{' '.join(forms)}]")
    assert sizes
    assert None not in sizes


SEVERAL = """[:find ?n ?m :in $ ?kind :where [?a :kind ?kind] [?a :name ?n] (reached ?a ?c) [?c :name ?m]
    :rules [[(reached ?a ?b) [?a :to ?b]] [(reached ?a ?c) (reached ?a ?b) [?b :to ?c]]]]"""
EITHER = """[:find ?x ?y :in $ ?start :where [?s :name ?start] (linked ?x ?y) [?s :to _]
    :rules [[(linked ?x ?y) [?x :name "n9"] [?x :to ?y]] [(linked ?x ?z) (linked ?x ?y) [?y :to ?z]]
            [(linked ?z ?y) (linked ?x ?y) [?x :to ?z]]]]"""


@pytest.mark.parametrize("gap", [1, 65_536, 262_144])
def test_rows_of_several_starts(pool: Pool, sizes: list[int | None], gap: int) -> None:
    """Rows that differ in more than one column, some of them too far from the first for its bitmap."""
    rng = Random(gap)
    edges = sorted({(rng.randint(1, 25), rng.randint(1, 25)) for _ in range(40)})
    load(pool, edges, gap)
    nodes = sorted({number for edge in edges for number in edge})
    for kind in ("good", "bad") * 3:
        starts = [node for node in nodes if (node == 9) == (kind == "bad")]
        expected = sorted((f"n{a}", name) for a in starts for (name,) in by_walking(edges, a, "left"))
        assert rows(pool, SEVERAL, Keyword(kind)) == expected
    assert sizes
    assert None not in sizes


@pytest.mark.parametrize("gap", [1, 65_536])
def test_rules_that_derive_different_columns(pool: Pool, sizes: list[int | None], gap: int) -> None:
    rng = Random(gap)
    edges = sorted({(9, 1), (9, 2), *((rng.randint(1, 20), rng.randint(1, 20)) for _ in range(30))})
    load(pool, edges, gap)
    linked = {edge for edge in edges if edge[0] == 9}
    while True:
        more = {(x, z) for x, y in linked for a, z in edges if a == y}
        more |= {(z, y) for x, y in linked for a, z in edges if a == x}
        if more <= linked:
            break
        linked |= more
    for _ in range(4):
        assert rows(pool, EITHER, "n9") == sorted((gap * a, gap * b) for a, b in linked)
    assert sizes
    assert None not in sizes


VALUES: dict[str, list[object]] = {
    "long": [
        *(*range(-9, 9), 2**19 - 1, 2**19, -(2**19), -(2**19) - 1, 2**20, -(2**40), 2**40, 2**52, 2**59 - 1),
        *(-(2**58), -(2**59), 2**62, -(2**63), 2**63 - 1),
    ],
    "double": [*(x / 4 for x in range(-40, 40)), -1e300, 1e-300, float("inf"), float("-inf")],
    "string": ["", "é", "a" * 300, *(f"text {i}" for i in range(40))],
    "bigdec": [Decimal("1.51"), Decimal("-1e30"), Decimal("0.001"), *(Decimal(i) / 8 for i in range(-20, 20))],
    "keyword": [Keyword(f"k/v{i}") for i in range(30)],
    "boolean": [True, False],
}
STEP = "[?x :from ?a] [?x :next ?b]"
OF_VALUES = f"""[:find ?c :in $ ?n :where [?s :name ?n] [?s :from ?a] (reached ?a ?c)
    :rules [[(reached ?a ?b) {STEP}] [(reached ?a ?c) {STEP} (reached ?b ?c)]]]"""


@pytest.mark.parametrize("kind", VALUES)
def test_nodes_of_any_type(pool: Pool, sizes: list[int | None], kind: str) -> None:
    rng, values = Random(kind), VALUES[kind]
    one = f":db/valueType :db.type/{kind} :db/cardinality :db.cardinality/one"
    pool.database.transact(f"[{{:db/ident :from {one}}} {{:db/ident :next {one}}}]")
    numbers = range(len(values))
    edges = [(rng.choice(numbers), rng.choice(numbers)) for _ in range(3 * len(values))]
    texts = list(map(edn.write, values))
    forms = [f'{{:name "n{i}" :from {texts[a]} :next {texts[b]}}}' for i, (a, b) in enumerate(edges)]
    pool.database.transact(f"[{' '.join(forms)}]")
    for _ in range(3):
        for i in range(0, len(edges), 7):
            found = pool.run(QueryRequest(OF_VALUES, (f"n{i}",), engine="LOCAL", cached=False)).rows()
            expected, left = set[int](), [edges[i][0]]
            while left:
                node = left.pop()
                new = {b for a, b in edges if a == node} - expected
                expected |= new
                left += new
            assert len(found) == len(expected)
            assert set(found) == {(values[n],) for n in expected}
    assert sizes
    assert kind == "bigdec" or None not in sizes


def test_what_is_not_small_goes_in_columns(pool: Pool, sizes: list[int | None]) -> None:
    load(pool, [(i, i + 1) for i in range(1, MOST_FACTS + 100)])
    query = reached("left")
    for _ in range(3):
        assert len(rows(pool, query, f"n{MOST_FACTS}")) == 100
    assert sizes == [100]
    assert len(rows(pool, query, "n1")) == MOST_FACTS + 99
    assert sizes == [100, None]
    # It is tried again, some times.
    assert len(rows(pool, query, f"n{MOST_FACTS}")) == 100
    assert sizes == [100, None, 100]
    for _ in range(8):
        assert len(rows(pool, query, "n1")) == MOST_FACTS + 99
    assert sizes.count(None) == 4


def test_what_rules_say_of_nothing(pool: Pool, sizes: list[int | None]) -> None:
    load(pool, EDGES)
    for _ in range(4):
        assert rows(pool, reached("right"), "nobody") == []
    assert sizes == [0, 0]
