"""The rows that rules derive: each kept once, in whichever of its two ways a relation remembers them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.facts.facts import FactRows, RowFacts
from adalog.planner.model.version import Version
from adalog.store.tries.trie import Csr, Trie

_CLOSE, _WIDER, _FAR = (0, 90), (-40, 300), (-(1 << 62), 1 << 62)


def _drawn(seed: int, size: int, within: tuple[int, int]) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(*within, (2, size))


class Looks(Cancel):
    """Counts how often somebody looked."""

    looks = 0

    def check(self) -> None:
        self.looks += 1
        super().check()


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(9_000, _CLOSE)] * 3, id="close"),
        pytest.param([(9_000, _CLOSE), (9_000, _WIDER), (9_000, _CLOSE)], id="close, then wider"),
        pytest.param([(9_000, _CLOSE), (9_000, _FAR), (9_000, _CLOSE)], id="close, then far"),
        pytest.param([(9_000, _FAR), (9_000, _CLOSE)], id="far, then close"),
        pytest.param([(10, _CLOSE)] * 900, id="few at a time"),
        pytest.param([(0, _CLOSE), (1, _FAR), (0, _CLOSE)], id="hardly any"),
    ],
)
def test_each_row_is_kept_once_in_the_order_in_which_rows_came(steps: list[tuple[int, tuple[int, int]]]) -> None:
    facts = RowFacts(2, Cancel())
    seen: dict[tuple[int, ...], None] = {}
    for seed, (size, within) in enumerate(steps):
        rows = _drawn(seed, size, within)
        before = len(seen)
        seen |= dict.fromkeys(zip(*rows.tolist(), strict=True))
        facts.add(list(rows))
        assert facts.turn() == len(seen) - before
        assert len(facts) == len(seen)
    kept = [column.tolist() for column in facts.whole().columns]
    assert list(zip(*kept, strict=True)) == list(seen)


def test_rows_past_a_stride_are_kept_once() -> None:
    facts = RowFacts(2, Cancel())
    rows = np.stack((np.arange(3 << 19), np.zeros(3 << 19, np.int64)))
    facts.add([*rows])
    facts.add([*rows])
    assert facts.turn() == 3 << 19


def _rows(columns: FactRows) -> set[tuple[int, ...]]:
    return set(zip(*(column.tolist() for column in columns.columns), strict=True))


@pytest.mark.parametrize("arity", [1, 2, 4])
def test_versions_are_what_was_known_and_what_a_round_added(arity: int) -> None:
    rng = np.random.default_rng(arity)
    facts = RowFacts(arity, Cancel())
    known: set[tuple[int, ...]] = set()
    for size in [1, 300, 0, 40, 5, 5, 9_000, 3, 0]:
        before = set(known)
        for _ in range(2):
            rows = rng.integers(-9, 9, (arity, size))
            facts.add(list(rows))
            known |= set(zip(*rows.tolist(), strict=True))
            # A round does not see what it adds itself.
            assert set().union(*map(_rows, facts.parts(Version.ALL))) == before
        assert facts.turn() == len(known) - len(before)
        assert set().union(*map(_rows, facts.parts(Version.OLDER))) == before
        assert _rows(facts.parts(Version.RECENT)[0]) == known - before
        assert set().union(*map(_rows, facts.parts(Version.ALL))) == _rows(facts.whole()) == known
        assert sum(map(len, facts.parts(Version.ALL))) == len(facts) == len(known)


def test_what_is_older_lies_in_few_parts() -> None:
    facts = RowFacts(1, Cancel())
    for number in range(1_000):
        facts.add([np.array([number])])
        facts.turn()
    assert len(facts.parts(Version.ALL)) <= 12


def test_a_version_stays_as_it_was_while_rows_come() -> None:
    facts = RowFacts(2, Cancel())
    facts.add(list(_drawn(1, 50, _CLOSE)))
    facts.turn()
    version = facts.parts(Version.RECENT)[0]
    before = _rows(version)
    levels = version.levels((1, 0))
    facts.add(list(_drawn(2, 20_000, _FAR)))
    facts.turn()
    assert _rows(version) == before
    assert levels is version.levels((1, 0))
    assert levels.csr().values.tolist() == [first for _, first in sorted((b, a) for a, b in before)]


def _closed(pairs: set[tuple[int, int]], step: set[tuple[int, int]], moving: int) -> set[tuple[int, int]]:
    after: dict[int, list[int]] = {}
    for start, end in step:
        after.setdefault(start, []).append(end)
    known, waiting = set(pairs), list(pairs)
    while waiting:
        pair = waiting.pop()
        for end in after.get(pair[moving], ()):
            new = (pair[0], end) if moving else (end, pair[1])
            if new not in known:
                known.add(new)
                waiting.append(new)
    return known


@pytest.mark.parametrize("moving", [0, 1])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
@pytest.mark.parametrize("nodes", [3, 40, 300])
def test_following_a_step_is_its_closure(nodes: int, at_once: int, moving: int) -> None:
    rng = np.random.default_rng(nodes)
    base = rng.integers(0, nodes, (2, 2 * nodes))
    events = rng.integers(0, nodes, (2, nodes))
    pairs = set(zip(*base.tolist(), strict=True))
    added = []
    for pair in zip(*events.tolist(), strict=True):
        added.append(pair not in pairs)
        pairs ^= {pair}
    step = Trie(Csr.from_pairs(*base)).advanced(events[0], events[1], np.array(added))
    seeds = rng.integers(0, nodes, (2, 5 if nodes < 300 else 5_000))
    cancel = Looks()
    facts = RowFacts(2, cancel)
    facts.add(list(seeds))
    facts.turn()
    facts.follow(step, moving, at_once)
    assert _rows(facts.whole()) == _closed(set(zip(*seeds.tolist(), strict=True)), pairs, moving)
    assert len(facts) == len(facts.whole())
    assert cancel.looks > 3 or at_once > 7 or nodes == 3


def test_what_replaces_rows_is_all_there_is() -> None:
    facts = RowFacts(2, Cancel())
    facts.add(list(_drawn(1, 500, _CLOSE)))
    facts.turn()
    facts.replace([np.arange(3), np.arange(3)])
    assert _rows(facts.whole()) == {(0, 0), (1, 1), (2, 2)}
    assert (len(facts), len(facts.parts(Version.RECENT)[0]), len(facts.parts(Version.ALL))) == (3, 0, 1)


@pytest.mark.parametrize("within", [_CLOSE, _FAR])
def test_more_rows_than_a_relation_may_have(within: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adalog.executor.facts.facts.MOST_ROWS", 5_000)
    facts = RowFacts(2, Cancel())
    facts.add(list(_drawn(1, 4_500, within)))
    more = list(_drawn(2, 4_500, within))
    with pytest.raises(AdalogError, match="more than 5,000 rows"):
        facts.add(more)
