"""One table of cases for every table of facts: those that grow within a query, and those of live answers.

Both stay, for speed: a query's rows need no marks, times or numbers. What holds for one holds for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.facts.facts import FactRows, Facts, RecursiveRule, RowFacts, rounds
from adalog.executor.facts.grouped import GroupFacts, value_ranks
from adalog.executor.facts.maintained import BestMaintained, MaintainedFacts
from adalog.planner.model.version import Version
from adalog.store.values.codes import Codes, Scratch

Row = tuple[int, int]
_VALUES = Scratch(Codes())

SETS: list[tuple[Callable[[], Facts], Version]] = [
    (lambda: RowFacts(2, Cancel()), Version.ALL),
    (lambda: MaintainedFacts(2), Version.NEW),
]
LEASTS: list[tuple[Callable[[], Facts], Version]] = [
    (lambda: GroupFacts([None, "min"], _VALUES, Cancel()), Version.ALL),
    (lambda: BestMaintained(2, 1, lambda codes: value_ranks(codes, _VALUES)), Version.NEW),
]
ROUNDS: list[list[list[Row]]] = [
    [],
    [[]],
    [[(1, 2)], [(1, 2)], []],
    [[(1, 5), (2, 5)], [(1, 3), (1, 4), (2, 6)], [(1, 3)]],
    [[(1, -1), (1, -1), (0, 0)], [(1, -2), (3, 9)], [], [(3, 1), (3, 2)]],
    [[(i % 7, 500 - i) for i in range(start, start + 90)] for start in range(0, 450, 90)],
]


def _columns(rows: Sequence[Row]) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(len(rows), 2).T.copy())


def _rows(parts: Sequence[FactRows]) -> set[Row]:
    return {row for part in parts for row in zip(*(column.tolist() for column in part.columns), strict=True)}


@pytest.mark.parametrize("made", range(2), ids=["query", "live"])
@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("case", ROUNDS)
def test_rounds_of_rows(case: list[list[Row]], least: bool, made: int) -> None:
    new, version = (LEASTS if least else SETS)[made]
    facts = new()
    known: set[Row] = set()
    for rows in case:
        expected = known | set(rows)
        if least:
            expected = {(group, min(value for other, value in expected if other == group)) for group, _ in expected}
        for half in (rows[::2], rows[1::2]):
            facts.add(_columns(half))
        assert facts.turn() == len(expected - known)
        assert _rows(facts.parts(Version.RECENT)) == expected - known
        assert _rows(facts.parts(version)) == expected
        assert len(facts) == sum(map(len, facts.parts(version))) == len(expected)
        known = expected
    assert facts.turn() == 0
    assert not _rows(facts.parts(Version.RECENT))


@pytest.mark.parametrize("made", range(2), ids=["query", "live"])
@pytest.mark.parametrize("least", [False, True])
def test_a_recursion_ends_when_a_round_adds_nothing(least: bool, made: int) -> None:
    new, version = (LEASTS if least else SETS)[made]
    facts = new()
    facts.add(_columns([(0, 0), (1, 1)]))

    def derive() -> None:
        """(x, y) gives (x, y - 1), down to -5."""
        for part in facts.parts(Version.RECENT):
            group, value = part.columns
            facts.add([group[value > -5], value[value > -5] - 1])

    added = list(rounds({"p": facts}, [RecursiveRule("p", derive)], Cancel().check))
    assert added == [2, 2, 2, 2, 2, 2, 1, 0]
    lowest = {(0, -5), (1, -5)}
    every = {(x, y) for x in (0, 1) for y in range(-5, x + 1)}
    assert _rows(facts.parts(version)) == (lowest if least else every)
