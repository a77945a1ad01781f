"""What principals may use is one amount for all workers."""

from __future__ import annotations

import os

import pytest

from adalog.executor.bounds.meter import Buckets, OverdrawnError
from adalog.gateway.workers.board import Board
from adalog.gateway.workers.shared_buckets import SLOTS


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workers(clock: Clock) -> list[Buckets]:
    """Those of three workers."""
    board = Board(3)
    boards = [Board(3, os.dup(board.descriptor)) for _ in range(3)]
    return [Buckets(rate=10, burst=100, threads=2, clock=clock, fills=each.fills) for each in boards]


def test_what_one_worker_gives_the_others_have_not(workers: list[Buckets], clock: Clock) -> None:
    for buckets in workers:
        buckets.of("ada").admit(30)
    for buckets in workers:
        with pytest.raises(OverdrawnError, match=r"10 are left .* 10 a second, up to 100"):
            buckets.of("ada").admit(20)
        buckets.of("bob").admit(20)
    assert [len(buckets) for buckets in workers] == [2, 2, 2]
    clock.now += 1
    workers[1].of("ada").admit(20)
    with pytest.raises(OverdrawnError):
        workers[2].of("ada").admit(1)


def test_what_was_not_spent_is_there_for_all(workers: list[Buckets], clock: Clock) -> None:
    ada, elsewhere = workers[0].of("ada"), workers[1].of("ada")
    ada.admit(90)
    ada.pay(-90)
    elsewhere.admit(100)
    # A debt is one, too.
    elsewhere.pay(500)
    clock.now += 50
    with pytest.raises(OverdrawnError):
        ada.admit(10)
    clock.now += 1
    ada.admit(10)


def test_a_crowd_makes_nobody_forgotten_who_owes(workers: list[Buckets]) -> None:
    debtor = workers[0].of("debtor")
    debtor.pay(1e6)
    for number in range(2 * SLOTS):
        workers[number % 3].of(f"address {number}").admit(1)
    assert len(workers[1]) <= SLOTS
    with pytest.raises(OverdrawnError):
        workers[2].of("debtor").admit(1)


def test_a_name_may_be_anything(workers: list[Buckets]) -> None:
    for name in ("", "\udcff", "ä" * 1000):
        workers[0].of(name).admit(60)
        with pytest.raises(OverdrawnError):
            workers[1].of(name).admit(60)
