"""The bytes that queries may hold: shares, what is given back, and that a failure keeps nothing."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.budget import Budget, Held, Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied

MIB = 1 << 20


def refused(budget: Budget, nbytes: int) -> AdalogError:
    with pytest.raises(AdalogError) as caught:
        budget.take(nbytes)
    return caught.value


def test_a_query_holds_at_most_its_share():
    memory = Memory(8 * MIB)
    budget = memory.budget()
    budget.take(3 * MIB)
    error = refused(budget, 2 * MIB)
    assert (error.code, error.retryable) == (Code.LIMIT_EXCEEDED, False)
    assert budget.held == 3 * MIB
    budget.take(MIB)
    budget.give(4 * MIB)
    assert (budget.held, budget.most) == (0, 4 * MIB)
    budget.close()
    assert memory.held == 0


def test_what_others_hold_is_asked_for_again_later():
    memory = Memory(8 * MIB)
    others = [memory.budget(), memory.budget()]
    others[0].take(4 * MIB)
    others[1].take(3 * MIB)
    late = memory.budget()
    error = refused(late, 2 * MIB)
    assert (error.code, error.retryable) == (Code.RATE_LIMITED, True)
    others[0].close()
    late.take(4 * MIB)


def test_light_queries_have_room_beside_the_largest():
    memory = Memory(16 * MIB)
    largest = [memory.budget(), memory.budget()]
    largest[0].take(8 * MIB)
    for _ in range(6):
        largest[1].take(MIB)
    assert refused(largest[1], MIB).code is Code.RATE_LIMITED
    light = [memory.budget(), memory.budget()]
    for each in light:
        each.take(MIB)
    assert memory.held == 16 * MIB
    assert refused(light[0], 1).code is Code.RATE_LIMITED
    assert refused(memory.budget(), 1).code is Code.RATE_LIMITED


def test_a_light_query_is_at_the_common_lock_once():
    memory = Memory(8 * MIB)
    draws = []
    memory.draw = lambda nbytes, draw=memory.draw, **first: (draws.append(nbytes), draw(nbytes, **first))  # type: ignore[method-assign]
    budget = memory.budget()
    for _ in range(1000):
        budget.take(1000)
    assert draws == [MIB]


def test_a_budget_that_nobody_holds_is_given_back():
    memory = Memory(8 * MIB)
    budget = memory.budget()
    budget.take(MIB)
    del budget
    assert memory.held == 0


def test_what_comes_after_the_end_is_bounded_and_not_drawn():
    memory = Memory(8 * MIB)
    budget = memory.budget()
    budget.close()
    budget.take(3 * MIB)
    assert memory.held == 0
    assert refused(budget, 2 * MIB).code is Code.LIMIT_EXCEEDED


def test_a_growing_thing_is_held_for_a_block():
    budget = Memory(8 * MIB).budget()
    with Held(budget, 100) as held:
        held.grow(50)
        held.become(120)
        assert budget.held == 120
    assert budget.held == 0


def test_a_query_borrows_for_a_block_and_its_failure_holds_nothing():
    memory, cancel = Memory(8 * MIB), Cancel()
    own = cancel.budget
    alive: list[weakref.ref[object]] = []

    def work() -> None:
        rows = np.zeros(1000)
        alive.append(weakref.ref(rows))
        cancel.budget.take(MIB)
        raise AdalogError(Code.TIMEOUT, "late")

    with pytest.raises(AdalogError) as caught, memory.lent(cancel):
        work()
    assert caught.value.code is Code.TIMEOUT
    assert alive[0]() is None
    assert memory.held == 0
    assert cancel.budget is own


def test_what_a_failure_came_of_is_emptied_too():
    alive: list[weakref.ref[object]] = []

    def inner() -> None:
        rows = np.zeros(10)
        alive.append(weakref.ref(rows))
        raise ValueError

    def outer() -> None:
        try:
            inner()
        except ValueError as error:
            raise KeyError from error

    gc.disable()
    try:
        with pytest.raises(KeyError) as caught:
            outer()
        emptied(caught.value)
        assert alive[0]() is None
        assert caught.value.__traceback__ is not None, "the lines stay, for a log"
    finally:
        gc.enable()
