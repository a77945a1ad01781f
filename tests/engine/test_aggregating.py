"""Least and greatest values in a recursion against a plain dictionary: of longs, of doubles, of anything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adalog.datalog.values import BigInt, identity, sort_key
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.facts.grouped import BestFacts, GroupFacts
from adalog.planner.model.version import Version
from adalog.store.database import Database
from adalog.store.values.codes import Scratch

Row = tuple[Any, ...]


@pytest.fixture
def values() -> Iterator[Scratch]:
    with Database.open(":memory:") as database:
        yield Scratch(database.snapshot().codes)


def _columns(rows: list[Row], place: int, values: Scratch) -> list[Any]:
    coded = [[values.intern(x) if i == place else x for i, x in enumerate(row)] for row in rows]
    return list(np.array(coded, np.int64).reshape(len(rows), 3).T.copy())


def _read(columns: Any, place: int, values: Scratch) -> dict[tuple[int, ...], Any]:
    rows = list(zip(*(column.tolist() for column in columns.columns), strict=True))
    found = {row[:place] + row[place + 1 :]: identity(values.decode(row[place])) for row in rows}
    assert len(found) == len(rows), "one row for each group"
    return found


LONGS = list(range(-50, 50))
DOUBLES = [-1e300, -2.5, -0.0, 0.0, 1e-9, 2.5]
ODD = [1, 1.0, "a", "b", True, -2.5, 1 << 62, BigInt(10**30)]


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([LONGS] * 6, id="longs"),
        pytest.param([DOUBLES] * 6, id="doubles"),
        pytest.param([LONGS, LONGS, DOUBLES, LONGS], id="longs, then doubles"),
        pytest.param([LONGS, ODD, LONGS, DOUBLES], id="anything"),
    ],
)
def test_the_best_of_each_group_round_by_round(
    values: Scratch, kinds: list[list[Any]], place: int, name: str
) -> None:
    rng = random.Random(place)
    facts = GroupFacts([name if i == place else None for i in range(3)], values, Cancel())
    best: dict[tuple[int, ...], Any] = {}
    better = min if name == "min" else max
    for kind in kinds:
        before = dict(best)
        for _ in range(3):
            rows: list[Row] = [
                tuple(rng.choice(kind) if i == place else rng.randint(0, 9) for i in range(3)) for _ in range(60)
            ]
            for row in rows:
                group = row[:place] + row[place + 1 :]
                best[group] = better([best.get(group, row[place]), row[place]], key=sort_key)
            facts.add(_columns(rows, place, values))
        changed = facts.turn()
        expected = {group: identity(value) for group, value in best.items()}
        assert _read(facts.whole(), place, values) == expected
        recent = _read(facts.parts(Version.RECENT)[0], place, values)
        assert changed == len(recent)
        assert recent.items() <= expected.items()
        assert recent.keys() >= {g for g, value in best.items() if g not in before or value != before[g]}
        assert len(facts) == len(expected)
    facts.add(_columns([], place, values))
    assert facts.turn() == 0


def test_what_was_bettered_makes_room(values: Scratch) -> None:
    facts = BestFacts(2, 1, 1, values, Cancel())
    groups = np.arange(1_000)
    for value in range(200, 0, -1):
        facts.add([groups, np.full(1_000, value)])
        assert facts.turn() == 1_000
    facts.add([groups, np.full(1_000, 1)])
    assert facts.turn() == 0
    assert facts.whole().columns[1].tolist() == [1] * 1_000
    assert facts._store.rows.shape[1] <= 8_192


def test_a_single_group(values: Scratch) -> None:
    facts = GroupFacts(["max"], values, Cancel())
    for value in (3, 1, 7, 7):
        facts.add([np.array([value])])
        facts.turn()
    assert [column.tolist() for column in facts.whole().columns] == [[7]]
    assert len(facts.parts(Version.RECENT)[0]) == 0


def test_idempotent_aggregates_beside_each_other(values: Scratch) -> None:
    facts = GroupFacts([None, "min", "or"], values, Cancel())
    for rows in ([(1, 5, False), (2, 9, False)], [(1, 3, False), (2, 11, True)], [(1, 4, False)]):
        facts.add([np.array([values.intern(x) for x in column]) for column in zip(*rows, strict=True)])
        facts.turn()
    decoded = [[values.decode(code) for code in column.tolist()] for column in facts.whole().columns]
    assert sorted(zip(*decoded, strict=True)) == [(1, 3, False), (2, 9, True)]
    assert len(facts.parts(Version.RECENT)[0]) == 0


def test_a_version_stays_as_it_was(values: Scratch) -> None:
    facts = BestFacts(2, 1, -1, values, Cancel())
    facts.add([np.arange(50), np.arange(50)])
    facts.turn()
    version, recent = facts.whole(), facts.parts(Version.RECENT)[0]
    facts.add([np.arange(40_000), np.full(40_000, 90)])
    facts.turn()
    assert version.columns[1].tolist() == recent.columns[1].tolist() == list(range(50))
