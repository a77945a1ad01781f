"""What a transaction costs the answers that are kept up to date, in process, against asking them afresh.

Each query is followed by a view; transactions put edges in and take them out again, a step is measured from the two
snapshots to the rows that came and went. What had come and gone at the end is compared with a fresh answer.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.examples.debian.load import load as load_debian
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_of
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench.adalog import EDGE, MEMORY, SCHEMA
from bench.facts import tables
from bench.graphs import Graph, rmat
from bench.line import Line
from bench.peers.d2ts import D2ts
from bench.work import THREADS

_TRIANGLES: Final = "[:find (count ?c) . :with ?a ?b :where [?a :g/to ?b] [?a :g/to ?c] [?b :g/to ?c]]"
_TRIANGLES_OF: Final = "[:find ?b ?c :in $ ?a :where [?a :g/to ?b] [?a :g/to ?c] [?b :g/to ?c]]"
_CLIQUES: Final = (
    "[:find (count ?d) . :with ?a ?b ?c :where [?a :g/to ?b] [?a :g/to ?c] [?a :g/to ?d]"
    " [?b :g/to ?c] [?b :g/to ?d] [?c :g/to ?d]]"
)
_CHAIN: Final = (
    "[:find ?section (count ?c) :with ?a ?b :where [?a :package/section ?s] [?s :section/name ?section]"
    " [?a :package/depends ?b] [?b :package/depends ?c] [?c :package/priority :optional]"
    " (not [?a :package/depends ?c])]"
)
_NEEDERS: Final = (
    "[:find ?name :in $ ?package :where [?given :package/name ?package] (needs ?p ?given) [?p :package/name ?name]"
    " :rules [[(needs ?a ?b) [?a :package/depends ?b]] [(needs ?a ?c) (needs ?a ?b) [?b :package/depends ?c]]]]"
)
_DISTANCES: Final = (
    "[:find ?b ?d :in $ ?a :where (distance ?a ?b ?d)"
    " :rules [[(distance ?a ?b (min ?d)) [?e :weighted/a ?a] [?e :weighted/b ?b] [?e :weighted/w ?d]]"
    " [(distance ?a ?b (min ?d)) (distance ?a ?c ?far) [?e :weighted/a ?c] [?e :weighted/b ?b]"
    " [?e :weighted/w ?w] [(+ ?far ?w) ?d]]]]"
)

# Paths of two edges that no third one closes, by where they begin.
_OPEN: Final = "[:find ?a (count ?c) :with ?b :where [?a :g/to ?b] [?b :g/to ?c] (not [?a :g/to ?c])]"

# Two edges from a vertex, and what is reached along edges.
_TWO_STEPS: Final = "[:find %s :in $ ?a :where [?a :g/to ?b] [?b :g/to ?c]]"
_REACH: Final = (
    "[:find %s %s :where (reach ?a ?b)"
    " :rules [[(reach ?a ?b) [?a :g/to ?b]] [(reach ?a ?c) (reach ?a ?b) [?b :g/to ?c]]]]"
)
_FEW_EDGES: Final = 80
# Milliseconds of a step over little data.
_SHORT: Final = 0.06

_ROUNDS: Final = 200
_WARM: Final = 6
_FRESH: Final = 5


@dataclass(frozen=True)
class _Case:
    """A query kept up to date while the changes are transacted. Bars: of p50 and p99 in milliseconds, and of p50
    against asking afresh."""

    title: str
    query: str
    args: tuple[Any, ...]
    share: float | None
    p50: float | None = None
    p99: float | None = None


@dataclass(frozen=True)
class _Figures:
    """Milliseconds."""

    steps: list[float]
    fresh: float

    @property
    def p50(self) -> float:
        return statistics.median(self.steps)

    @property
    def p99(self) -> float:
        return float(np.percentile(self.steps, 99))


def ticks(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Triangles, cliques, a chain with `not` and groups, recursion; queries over little data."""
    rounds = 30 if quick else _ROUNDS
    # As a server does when it starts.
    SMALL_JOIN.load()
    graph, small = rmat(12 if quick else 16), rmat(12 if quick else 14)
    lines: list[Line] = []
    with Database.open(":memory:") as database:
        database.bulk_load(SCHEMA, {EDGE: (graph.source, graph.target)})
        one_by_one = (
            _Case("triangles, counted", _TRIANGLES, (), 1 / 300, 1.0, 5.0),
            _Case("triangles of a vertex", _TRIANGLES_OF, (graph.hub(),), 1 / 300, 1.0, 5.0),
        )
        for case in one_by_one:
            title = f"{case.title}, {len(graph):,} edges: one edge"
            lines += _measured(case, title, database, _single(graph, rounds), say)
        batch = _Case("triangles, counted", _TRIANGLES, (), None, 50.0)
        lines += _measured(
            batch, f"{batch.title}: 1,000 edges", database, _batches(graph, max(rounds // 5, 20)), say
        )
    with Database.open(":memory:") as database:
        database.bulk_load(SCHEMA, {EDGE: (small.source, small.target)})
        cliques = _Case("4-cliques, counted", _CLIQUES, (), 1 / 100)
        lines += _measured(
            cliques, f"{cliques.title}, {len(small):,} edges: one edge", database, _single(small, rounds), say
        )
    with Database.open(":memory:") as database:
        load_debian(database)
        chain = _Case("a chain of five clauses with not, in groups", _CHAIN, (), 1 / 100)
        lines += _measured(chain, f"{chain.title}: one edge", database, _depends(database, rounds, "both"), say)
        for way, share in (("in", 1 / 50), ("out", 1 / 20)):
            many = _Case("who needs libc6", _NEEDERS, ("libc6",), share)
            # Asked afresh in a tenth of a millisecond.
            few = _Case("who needs git", _NEEDERS, ("git",), None, _SHORT)
            for case in (many, few):
                changes = _depends(database, rounds, way)
                lines += _measured(case, f"{case.title}, transitively: an edge {way}", database, changes, say)
    with Database.open(":memory:") as database:
        _load_weighted(database, "weighted-10" if quick else "weighted-14")
        start = rmat(10 if quick else 14).hub()
        case = _Case("shortest distances from a hub", _DISTANCES, (start,), 1 / 20)
        lines += _measured(case, f"{case.title}: an edge in or out", database, _weighted(database, rounds), say)
    lines += _over_little(rounds, say)
    return [*lines, *_beside_d2ts(rmat(10), 20 if quick else 60, say)]


def _over_little(rounds: int, say: Callable[[str], None]) -> list[Line]:
    """Queries over 80 edges without a cycle, where a step's fixed cost is all that there is."""
    dice = np.random.default_rng(3)
    edges: set[tuple[int, int]] = set()
    while len(edges) < _FEW_EDGES:
        a, b = sorted(dice.integers(1, _FEW_EDGES, 2).tolist())
        edges |= {(a, b)} if a < b else set()
    graph = sorted(edges)
    start = graph[0][0]
    queries = (
        ("a bound join", _TWO_STEPS % "?b ?c", True),
        ("a bound join with a check", _TWO_STEPS % "?c", True),
        ("triangles of a vertex", _TRIANGLES_OF, True),
        ("a closure, all pairs", _REACH % ("?a ?b", ""), False),
        ("what one vertex reaches", _REACH % ("?b", ":in $ ?a"), True),
    )
    lines: list[Line] = []
    with Database.open(":memory:") as database:
        sources, targets = np.array(graph, np.int64).T.copy()
        database.bulk_load(SCHEMA, {EDGE: (sources, targets)})
        for title, query, is_bound in queries:
            case = _Case(title, query, (start,) if is_bound else (), None, _SHORT)
            chosen = [edge for edge in graph if edge[0] == start] if is_bound else graph
            for way in ("out", "in"):
                steps = (
                    _Step(f"[[:db/{what} {a} :g/to {b}]]", measured)
                    for a, b in (chosen * rounds)[:rounds]
                    for what, measured in (("retract", way == "out"), ("add", way == "in"))
                )
                lines += _measured(case, f"{title}, {_FEW_EDGES} edges: an edge {way}", database, steps, say)
    return lines


def _beside_d2ts(graph: Graph, rounds: int, say: Callable[[str], None]) -> list[Line]:
    """The same edges out and in again, followed by both. D2TS builds every pair of edges that meet, so the graph is
    small."""
    lines = []
    edges = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    chosen = np.random.default_rng(9).choice(len(edges), rounds // 2, replace=False).tolist()
    for name, query in (("triangles", _TRIANGLES), ("open", _OPEN)):
        with D2ts() as peer, Database.open(":memory:") as database:
            database.bulk_load(SCHEMA, {EDGE: (graph.source, graph.target)})
            theirs = []
            before = peer.follow(name, edges)
            for place in chosen:
                theirs += [peer.step([(edges[place], sign)]) for sign in (-1, 1)]
            assert sorted(map(str, before)) == sorted(map(str, peer.rows())), "D2TS lost its way"
            steps = (
                _Step(f"[[:db/{what} {edges[place][0]} :g/to {edges[place][1]}]]")
                for place in chosen
                for what in ("retract", "add")
            )
            ours = _run(_Case(name, query, (), None), database, steps)
        title = f"{'triangles' if name == 'triangles' else 'open wedges in groups'}, {len(graph):,} edges: one edge"
        median = statistics.median(theirs)
        say(f"    {title}: {ours.p50:.3f} ms, D2TS {median:.1f} ms")
        lines.append(Line("ticks", title, "ms", ours.p50, "D2TS", median, bar=1.0))
    return lines


@dataclass(frozen=True)
class _Step:
    """A transaction, and whether its step is measured."""

    tx: str
    measured: bool = True


def _measured(
    case: _Case, title: str, database: Database, steps: Iterator[_Step], say: Callable[[str], None]
) -> list[Line]:
    figures = _run(case, database, steps)
    said = f"p50 {figures.p50:.3f} ms, p99 {figures.p99:.3f} ms, worst {max(figures.steps):.3f} ms"
    say(f"    {title}: {said}; afresh {figures.fresh:.1f} ms, {figures.p50 / figures.fresh:.5f} x")
    lines = []
    if case.share is not None:
        lines.append(Line("ticks", title, "ms", figures.p50, "afresh", figures.fresh, bar=case.share, note=said))
    if case.p50 is not None:
        lines.append(Line("ticks", f"{title}, p50", "ms", figures.p50, "", None, bar=case.p50))
    if case.p99 is not None:
        lines.append(Line("ticks", f"{title}, p99", "ms", figures.p99, "", None, bar=case.p99))
    return lines


def _run(case: _Case, database: Database, steps: Iterator[_Step]) -> _Figures:
    pool = Pool(database, PoolSettings(threads=THREADS, memory_bytes=MEMORY))
    try:
        question = pool.question(QueryRequest(case.query, case.args, engine="LOCAL", cached=False))
        view = view_of(question, pool.engine)
        view.add(0, UndatedQuestion.of(question), database.snapshot(), Cancel())
        rows = Counter(pool.engine.run(question, Cancel()).rows())
        took = []
        for number, step in enumerate(steps):
            old = database.snapshot()
            database.transact(step.tx)
            tick = Moments(old, database.snapshot())
            began = time.perf_counter()
            changes = view.step(tick, Cancel())
            seconds = time.perf_counter() - began
            if step.measured and number >= _WARM:
                took.append(seconds * 1000)
            _apply(rows, changes.get(0))
        fresh: list[float] = []
        answer = pool.engine.run(question, Cancel())
        for _ in range(_FRESH):
            question = pool.question(QueryRequest(case.query, case.args, engine="LOCAL", cached=False))
            began = time.perf_counter()
            answer = pool.engine.run(question, Cancel())
            fresh.append((time.perf_counter() - began) * 1000)
        assert +rows == Counter(answer.rows()), (
            f"{case.title}: what came and went does not lead to the fresh answer"
        )
    finally:
        pool.close()
    return _Figures(took, statistics.median(fresh))


def _apply(rows: Counter[Any], change: Change | AdalogError | None) -> None:
    if isinstance(change, AdalogError):
        raise RuntimeError(change.message)
    if change is not None:
        rows.subtract(change.removed.rows())
        rows.update(change.added.rows())
        assert all(count in (0, 1) for count in rows.values()), "a row came twice or went that was not there"


def _single(graph: Graph, rounds: int) -> Iterator[_Step]:
    """Edges between ends of other edges, drawn as the graph's are, each in and then out again; and edges of the
    graph, out and in again."""
    dice = np.random.default_rng(5)
    known = set(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    for _ in range(rounds // 4):
        a, b = int(dice.choice(graph.source)), int(dice.choice(graph.target))
        if a != b and (a, b) not in known:
            yield _Step(f"[[:db/add {a} :g/to {b}]]")
            yield _Step(f"[[:db/retract {a} :g/to {b}]]")
        place = int(dice.integers(len(graph)))
        c, d = int(graph.source[place]), int(graph.target[place])
        yield _Step(f"[[:db/retract {c} :g/to {d}]]")
        yield _Step(f"[[:db/add {c} :g/to {d}]]")


def _batches(graph: Graph, rounds: int) -> Iterator[_Step]:
    """A thousand edges of the graph out, and in again."""
    dice = np.random.default_rng(6)
    for _ in range(rounds // 2):
        places = dice.choice(len(graph), 1_000, replace=False)
        edges = list(zip(graph.source[places].tolist(), graph.target[places].tolist(), strict=True))
        for what in ("retract", "add"):
            yield _Step("[" + " ".join(f"[:db/{what} {a} :g/to {b}]" for a, b in edges) + "]")


def _depends(database: Database, rounds: int, way: str) -> Iterator[_Step]:
    """Dependencies of the sample data out, and in again; measured is the one or the other, or both."""
    snapshot = database.snapshot()
    attribute = snapshot.attribute(Keyword("package/depends"))
    assert attribute is not None
    held = snapshot.columns(attribute)
    dice = np.random.default_rng(7)
    for place in dice.choice(len(held), rounds // (2 if way == "both" else 1), replace=False).tolist():
        edge = f"{int(held.e[place])} :package/depends {int(held.v[place])}"
        yield _Step(f"[[:db/retract {edge}]]", way != "in")
        yield _Step(f"[[:db/add {edge}]]", way != "out")


def _load_weighted(database: Database, name: str) -> None:
    for table, columns in tables(name).items():
        rows = np.arange(1, len(columns["a"]) + 1) + (1 << 24)
        schema = " ".join(
            f"{{:db/ident :{table}/{column} :db/valueType :db.type/long :db/cardinality :db.cardinality/one}}"
            for column in columns
        )
        database.bulk_load(
            f"[{schema}]", {Keyword(f"{table}/{column}"): (rows, values) for column, values in columns.items()}
        )


def _weighted(database: Database, rounds: int) -> Iterator[_Step]:
    """Weighted edges out, and in again."""
    snapshot = database.snapshot()
    parts = []
    for name in "abw":
        attribute = snapshot.attribute(Keyword(f"weighted/{name}"))
        assert attribute is not None
        parts.append(snapshot.columns(attribute))
    dice = np.random.default_rng(8)
    for place in dice.choice(len(parts[0]), rounds // 2, replace=False).tolist():
        e = int(parts[0].e[place])
        forms = " ".join(
            f"{e} :weighted/{name} {int(part.v[place])}]" for name, part in zip("abw", parts, strict=True)
        ).split("] ")
        for what in ("retract", "add"):
            yield _Step("[" + " ".join(f"[:db/{what} {form.rstrip(']')}]" for form in forms) + "]")
