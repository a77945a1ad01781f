"""Facts that are kept against plain sets and dictionaries: what holds, what came, what went, what is read."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.facts.closure_facts import ClosureFacts, Edges
from adalog.executor.facts.maintained import BestMaintained, MaintainedExtender, MaintainedFacts
from adalog.executor.join.batch import ORIGIN, Batch
from adalog.planner.model.version import Version
from adalog.store.tries.trie import Csr, Trie

Row = tuple[int, ...]


def columns_of(rows: Sequence[Row], width: int) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(len(rows), width).T.copy())


def rows_of(columns: Sequence[np.ndarray]) -> set[Row]:
    return set(zip(*(column.tolist() for column in columns), strict=True))


def read(facts: MaintainedFacts, width: int, version: Version) -> set[Row]:
    """The rows, found variable by variable."""
    names = [f"?{i}" for i in range(width)]
    extender = MaintainedExtender(facts, names[::-1], version, {name: i for i, name in enumerate(names)})
    batch = Batch(1, {})
    for name in names:
        batch = extender.propose(batch, name)
    return rows_of([batch.columns[name] for name in names[::-1]]) if batch.size else set()


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("most", [8, 3_000])
def test_rows_that_come_and_go(width: int, most: int) -> None:
    rng = random.Random(width)
    facts = MaintainedFacts(width)
    now: set[Row] = set()
    asked = MaintainedExtender(
        facts, [f"?{i}" for i in range(width)], Version.NEW, {f"?{i}": -1 for i in range(width)}
    )
    for _ in range(12):
        before = set(now)
        facts.settle()
        for _ in range(3):
            rows = [tuple(rng.randrange(most) for _ in range(width)) for _ in range(rng.choice((0, 5, 900)))]
            facts.add(columns_of(rows, width))
            now |= set(rows)
            gone = rng.sample(sorted(now), len(now) * rng.choice((0, 1, 3)) // 3)
            facts.remove(facts.find(columns_of(gone, width)))
            now -= set(gone)
        assert rows_of(facts.parts(Version.NEW)[0].columns) == now == read(facts, width, Version.NEW)
        assert rows_of(facts.parts(Version.OLD)[0].columns) == before == read(facts, width, Version.OLD)
        assert rows_of(facts.columns_of(facts.came())) == now - before
        assert rows_of(facts.columns_of(facts.went())) == before - now
        assert len(facts) == len(now)
        some = [tuple(rng.randrange(most) for _ in range(width)) for _ in range(50)] + sorted(now)[:50]
        batch = Batch(len(some), {f"?{i}": column for i, column in enumerate(columns_of(some, width))})
        assert rows_of(list(asked.known(batch).columns.values())) == now & set(some)
    assert facts.nbytes() > 0


def test_earlier_rows_alone() -> None:
    facts = MaintainedFacts(1)
    for time in range(5):
        facts.add([np.array([time])])
        assert facts.times_of(facts.find([np.array([time])])).tolist() == [time + 1]
    facts.since(np.array([4, 1]))
    extender = MaintainedExtender(facts, ["?x"], Version.EARLIER, {"?x": -1})
    batch = Batch(4, {"?x": np.array([2, 3, 0, 9]), ORIGIN: np.array([0, 0, 1, 0])})
    assert extender.known(batch).columns["?x"].tolist() == [2]


def test_rows_that_leave_are_read_until_they_are_forgotten() -> None:
    facts = MaintainedFacts(1)
    facts.add([np.arange(3)])
    gone = facts.find([np.array([1])])
    facts.remove(gone)
    facts.leave(gone)
    assert read(facts, 1, Version.NEW) == {(0,), (1,), (2,)}
    facts.forget(gone)
    assert read(facts, 1, Version.NEW) == {(0,), (2,)}


@pytest.mark.parametrize("best", [False, True])
def test_values_with_other_codes(best: bool) -> None:
    facts = BestMaintained(2, 1, lambda codes: codes) if best else MaintainedFacts(2)
    facts.add([np.arange(10), np.arange(100, 110)])
    extender = MaintainedExtender(facts, ["?x", "?y"], Version.NEW, {"?x": -1, "?y": 0})
    first = Batch(1, {"?x": np.array([3])})
    assert extender.propose(first, "?y").columns["?y"].tolist() == [103]
    facts.settle()
    facts.recode(lambda codes: codes == 103, lambda codes: codes - 100)
    assert extender.propose(first, "?y").columns["?y"].tolist() == [3]
    assert rows_of(facts.parts(Version.NEW)[0].columns) == {(i, 3 if i == 3 else 100 + i) for i in range(10)}
    assert facts.find([np.array([3, 3]), np.array([103, 3])]).tolist() == [-1, 3]
    facts.add([np.array([3]), np.array([2])])
    assert ((3, 3) in rows_of(facts.parts(Version.NEW)[0].columns)) is not best


def test_the_best_of_each_group() -> None:
    rng = random.Random(1)
    facts = BestMaintained(3, 1, lambda codes: -codes)
    now: dict[tuple[int, int], int] = {}
    for _ in range(30):
        facts.settle()
        rows = [(rng.randrange(6), rng.randrange(1_000), rng.randrange(6)) for _ in range(rng.choice((0, 1, 80)))]
        held = {(a, value, b) for (a, b), value in now.items()}
        for a, value, b in rows:
            now[a, b] = max(value, now.get((a, b), -1))
        facts.add(columns_of(rows, 3))
        assert facts.turn() == len(facts.recent)
        displaced = facts.displaced()
        expected = {(a, value, b) for (a, b), value in now.items()}
        assert rows_of(facts.parts(Version.NEW)[0].columns) == expected
        assert rows_of(facts.columns_of(facts.recent)) == expected - held
        assert rows_of(facts.columns_of(displaced)) == held - expected
        gone = rng.sample(sorted(expected), len(expected) // 4)
        facts.remove(facts.find(columns_of(gone, 3)))
        for a, _, b in gone:
            del now[a, b]


def test_the_best_of_all() -> None:
    facts = BestMaintained(1, 0, lambda codes: codes)
    facts.add([np.array([7, 5, 9])])
    facts.add([np.array([6])])
    assert rows_of(facts.parts(Version.NEW)[0].columns) == {(5,)}


def test_edges_that_differ_from_a_trie() -> None:
    rng = random.Random(2)
    pairs = {(rng.randrange(40), rng.randrange(40)) for _ in range(200)}
    starts, ends = columns_of(sorted(pairs), 2)
    trie, back = Trie(Csr.from_pairs(starts, ends)), Trie(Csr.from_pairs(ends, starts))
    for a, b in ((1, 2), (3, 4), min(pairs)):
        added = np.array([(a, b) not in pairs])
        trie = trie.advanced(np.array([a]), np.array([b]), added)
        back = back.advanced(np.array([b]), np.array([a]), added)
        pairs ^= {(a, b)}
    edges = Edges(trie, back)
    facts = ClosureFacts(0)
    exits: set[Row] = set()
    for _ in range(60):
        facts.settle()
        closed = np.empty(0, np.int64)
        if rng.random() < 0.5:
            fresh = [(rng.randrange(3), rng.randrange(40))]
            exits |= set(fresh)
            facts.exits(columns_of(fresh, 2))
        if exits and rng.random() < 0.3:
            gone = rng.choice(sorted(exits))
            exits -= {gone}
            closed = facts.leave_by(columns_of([gone], 2))
            facts.close(closed)
        came = [(rng.randrange(40), rng.randrange(40)) for _ in range(rng.choice((0, 1, 4)))]
        came = sorted(set(came) - pairs)
        went = rng.sample(sorted(pairs), min(len(pairs), rng.choice((0, 1, 6))))
        pairs = (pairs | set(came)) - set(went)
        assert facts.change(edges, pairs_of(went), pairs_of(came), closed, 10_000)
        facts.add(facts.met(*pairs_of(came)))
        facts.turn()
        facts.gain(edges, Cancel())
        assert rows_of(facts.parts(Version.NEW)[0].columns) == reached(exits, pairs)
    assert edges.nbytes() > 0


def pairs_of(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    first, second = columns_of(rows, 2)
    return first, second


def reached(exits: set[Row], pairs: set[Row]) -> set[Row]:
    found = set(exits)
    waiting = list(exits)
    while waiting:
        fixed, node = waiting.pop()
        for start, end in pairs:
            if start == node and (fixed, end) not in found:
                found.add((fixed, end))
                waiting.append((fixed, end))
    return found
