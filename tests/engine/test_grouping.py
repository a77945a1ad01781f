"""AnswerGroups of an aggregate that a view keeps for its feeds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from adalog.datalog.ast import FindAggregate, Var
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.follow.answer_groups import AnswerGroups
from adalog.executor.join.batch import Batch
from adalog.planner.feeds import FEED
from adalog.store.database import Database
from adalog.store.values.codes import Scratch


@pytest.fixture
def scratch() -> Iterator[Scratch]:
    with Database.open(":memory:") as database:
        yield Scratch(database.snapshot().codes)


class Counted(int):
    """A feed's number that counts what it is compared with."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int(self) == other

    def __hash__(self) -> int:
        return hash(int(self))


def batch(*rows: tuple[int, int]) -> Batch:
    feeds, values = zip(*rows, strict=True)
    return Batch(len(rows), {FEED: np.array(feeds, np.int64), "x": np.array(values, np.int64)})


def test_a_feed_that_leaves_costs_its_own_groups_only(scratch: Scratch) -> None:
    groups = AnswerGroups([FindAggregate("count", (), Var("x"))], (FEED,))
    feeds = 200
    entered = batch(*((feed, 7) for feed in range(1, feeds + 1)))
    nothing = entered.slice(0, 0)
    groups.moved(entered, nothing, lambda keys: nothing, scratch, Cancel())
    held = groups.nbytes()
    Counted.compared = 0
    groups.drop(Counted(5))
    assert Counted.compared < 10
    assert groups.nbytes() == held * (feeds - 1) // feeds
    groups.drop(Counted(5))
    groups.forget()
    groups.drop(Counted(6))
    assert groups.nbytes() == 0
