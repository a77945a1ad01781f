"""Who runs now: lanes, fairness between clients, places that are handed over, and refusals that come at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import Client
from adalog.executor.turns.lanes import Lane, LaneSlots
from adalog.executor.turns.scheduler import Scheduler
from adalog.executor.turns.ticket import Ticket
from tests.waiting import until

ANN, BOB = Client("ann", 1), Client("bob", 2)
HEAVY, LIGHT = 1e9, 0.0
# Nobody is counted as heavy for the time it takes.
PATIENT = 1000.0


class Job:
    """Work that goes on, looking at its turn, until it is let go; it counts how often it began."""

    def __init__(self, name: str, log: list[str], cost: float = HEAVY) -> None:
        self.name = name
        self.log = log
        self.cost = cost
        self.cancel = Cancel()
        self.ticket: Ticket[str] | None = None
        self.began = 0
        self.running = threading.Event()
        self.looked = threading.Event()
        self.go = threading.Event()

    def __call__(self, cancel: Cancel) -> str:
        self.began += 1
        cancel.expect(self.cost)
        self.log.append(self.name)
        self.running.set()
        while not self.go.wait(0.001):
            cancel.check()
            self.looked.set()
        return self.name

    def looks(self) -> None:
        """Until it has looked at its turn once more."""
        self.looked.clear()
        assert self.looked.wait(20)


class Stage:
    """A scheduler and the jobs given to it."""

    def __init__(self, places: LaneSlots) -> None:
        self.scheduler = Scheduler(places)
        self.log: list[str] = []
        self.jobs: list[Job] = []

    def job(self, name: str, client: Client = ANN, cost: float = HEAVY, timeout_ms: int | None = None) -> Job:
        """A job that was submitted."""
        job = Job(name, self.log, cost)
        job.cancel = Cancel.after(timeout_ms)
        self.jobs.append(job)
        job.ticket = self.scheduler.submit(job.cancel, job, client)
        return job

    def heavy_waiting(self, count: int) -> None:
        """Until so many wait in the heavy lane."""
        until(lambda: self.scheduler.figures().waiting[Lane.HEAVY] == count)

    def moved(self, why: str) -> int:
        return self.scheduler.figures().moves[why]


def ticket_of(job: Job) -> Ticket[str]:
    assert job.ticket is not None
    return job.ticket


def outcome(job: Job) -> Any:
    """What a job came to, or the code of its error."""
    try:
        return ticket_of(job).future.result(20)
    except AdalogError as error:
        return error.code


@contextmanager
def stage(**places: Any) -> Iterator[Stage]:
    opened = Stage(
        LaneSlots(**{"light": 1, "heavy": 1, "slice_seconds": PATIENT, "quantum_seconds": PATIENT, **places})
    )
    try:
        yield opened
    finally:
        for job in opened.jobs:
            job.go.set()
        opened.scheduler.close()


def test_light_work_runs_beside_heavy_work_that_waits() -> None:
    with stage() as on:
        first = on.job("first")
        assert first.running.wait(20)
        for number in range(3):
            on.job(f"heavy {number}", Client("ann", number))
        on.heavy_waiting(3)
        light = on.job("light", cost=LIGHT)
        light.go.set()
        assert outcome(light) == "light"
        assert on.log == ["first", "light"]
        assert (ticket_of(first).lane, ticket_of(light).lane) == (Lane.HEAVY, Lane.LIGHT)


def test_what_is_known_to_be_heavy_begins_in_a_heavy_place() -> None:
    with stage() as on:
        first = on.job("first")
        assert first.running.wait(20)
        known = Job("known", on.log)
        on.jobs.append(known)
        known.ticket = on.scheduler.submit(known.cancel, known, ANN, HEAVY)
        on.heavy_waiting(1)
        light = on.job("light", cost=LIGHT)
        light.go.set()
        assert outcome(light) == "light"
        assert known.began == 0, "it has taken nobody's light place"
        first.go.set()
        known.go.set()
        assert outcome(known) == "known"
        assert known.began == 1


def test_who_submits_waits_for_no_thread_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    may_start = threading.Event()
    start = threading.Thread.start

    def held_up(thread: threading.Thread) -> None:
        if thread.name == "query":
            assert may_start.wait(20)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", held_up)
    with stage(light=2) as on:
        jobs = [on.job(f"job {number}", cost=LIGHT) for number in range(3)]
        assert on.log == []
        may_start.set()
        for job in jobs:
            job.go.set()
        assert {outcome(job) for job in jobs} == {"job 0", "job 1", "job 2"}


def test_what_computes_too_long_is_heavy_whatever_was_expected() -> None:
    with stage(slice_seconds=0.0) as on:
        slow = on.job("slow", cost=LIGHT)
        until(lambda: ticket_of(slow).lane is Lane.HEAVY)
        other = on.job("other", cost=LIGHT)
        # There is no place for it any more; it waits with what it has.
        on.heavy_waiting(1)
        assert on.moved("demoted") == 2
        slow.go.set()
        other.go.set()
        assert (outcome(slow), outcome(other)) == ("slow", "other")
        assert (slow.began, other.began) == (1, 1)
        assert ticket_of(other).waited > 0


def test_where_too_many_have_begun_work_begins_again() -> None:
    with stage(slice_seconds=0.0, begun=0) as on:
        slow = on.job("slow", cost=LIGHT)
        until(lambda: ticket_of(slow).lane is Lane.HEAVY)
        other = on.job("other", cost=LIGHT)
        on.heavy_waiting(1)
        assert on.moved("restarted") == 1
        slow.go.set()
        other.go.set()
        assert outcome(other) == "other"
        assert other.began == 2


def test_work_that_never_looks_keeps_no_light_place() -> None:
    with stage(slice_seconds=0.001) as on:
        deaf = threading.Event()
        ticket = on.scheduler.submit(Cancel(), lambda _: deaf.wait(20), ANN)
        light = on.job("light", cost=LIGHT)
        light.go.set()
        assert outcome(light) == "light"
        assert not ticket.future.done()
        assert on.moved("overdue") == 1
        deaf.set()
        assert ticket.future.result(20) is True


def test_one_clients_twenty_do_not_push_anothers_one_aside() -> None:
    with stage() as on:
        on.job("ann 0").running.wait(20)
        for number in range(1, 20):
            on.job(f"ann {number}", Client("ann", number))
        on.heavy_waiting(19)
        on.job("bob", BOB)
        on.heavy_waiting(20)
        for job in on.jobs:
            job.go.set()
        for job in on.jobs:
            outcome(job)
        assert on.log[:2] == ["ann 0", "bob"]
        assert sorted(on.log) == sorted(job.name for job in on.jobs)


def test_one_requests_thirty_wait_for_themselves() -> None:
    with stage() as on:
        on.job("many 0").running.wait(20)
        for number in range(1, 30):
            on.job(f"many {number}")
        on.heavy_waiting(29)
        on.job("one", Client("ann", 7))
        on.heavy_waiting(30)
        for job in on.jobs:
            job.go.set()
        for job in on.jobs:
            outcome(job)
        assert on.log[:2] == ["many 0", "one"]


def test_a_heavy_query_hands_its_place_over_and_goes_on_later() -> None:
    with stage(heavy=2, quantum_seconds=0.0) as on:
        first, second = on.job("first"), on.job("second", Client("ann", 3))
        assert first.running.wait(20)
        assert second.running.wait(20)
        other = on.job("other", BOB)
        assert other.running.wait(20)
        on.heavy_waiting(1)
        assert on.moved("preempted") == 1
        # The two that have places now are of two clients: nobody has to make way.
        other.looks()
        assert on.moved("preempted") == 1
        other.go.set()
        assert outcome(other) == "other"
        first.go.set()
        second.go.set()
        assert (outcome(first), outcome(second)) == ("first", "second")
        assert (first.began, second.began) == (1, 1)


def test_an_only_place_is_handed_over_too() -> None:
    with stage(quantum_seconds=0.0) as on:
        first = on.job("first")
        assert first.running.wait(20)
        other = on.job("other", BOB)
        assert other.running.wait(20)
        other.go.set()
        first.go.set()
        assert (outcome(other), outcome(first)) == ("other", "first")


def test_what_computes_elsewhere_needs_no_place() -> None:
    with stage() as on:
        back = threading.Event()
        gone = threading.Event()

        def spark(cancel: Cancel) -> str:
            cancel.expect(HEAVY)
            with cancel.away():
                gone.set()
                while not back.wait(0.001):
                    cancel.check()
            on.log.append("spark")
            return "spark"

        ticket = on.scheduler.submit(Cancel(), spark, ANN)
        assert gone.wait(20)
        local = on.job("local")
        assert local.running.wait(20)
        back.set()
        on.heavy_waiting(1)
        local.go.set()
        assert ticket.future.result(20) == "spark"
        assert on.log == ["local", "spark"]


def test_the_queue_is_full() -> None:
    with stage(waiting=2) as on:
        on.job("first").running.wait(20)
        on.job("second")
        on.job("third")
        on.heavy_waiting(2)
        light = on.job("light", cost=LIGHT)
        assert light.running.wait(20)
        with pytest.raises(AdalogError) as caught:
            on.job("one more", cost=LIGHT)
        assert (caught.value.code, caught.value.retryable) == (Code.RATE_LIMITED, True)
        assert caught.value.retry_after is not None


def test_in_a_full_queue_the_greediest_loses_a_place_to_others() -> None:
    with stage(waiting=2) as on:
        on.job("first").running.wait(20)
        second = on.job("second")
        on.heavy_waiting(1)
        third = on.job("third")
        on.heavy_waiting(2)
        bob = on.job("bob", BOB)
        assert outcome(third) is Code.RATE_LIMITED
        for job in (on.jobs[0], second, bob):
            job.go.set()
        assert (outcome(bob), outcome(second)) == ("bob", "second")
        assert on.scheduler.figures().lanes[Lane.HEAVY].refused == 1


def test_what_would_come_too_late_is_refused_at_once() -> None:
    with stage() as on:
        on.scheduler._lanes[Lane.HEAVY].service = 30.0
        on.job("first").running.wait(20)
        on.job("second")
        on.heavy_waiting(1)
        hasty = on.job("hasty", timeout_ms=20_000)
        with pytest.raises(AdalogError) as caught:
            ticket_of(hasty).future.result(20)
        assert caught.value.code is Code.RATE_LIMITED
        assert caught.value.retry_after == 30
        patient = on.job("patient", timeout_ms=200_000)
        on.heavy_waiting(2)
        # Another client has nothing before it in the queue.
        bob = on.job("bob", BOB, timeout_ms=20_000)
        on.heavy_waiting(3)
        for job in on.jobs:
            job.go.set()
        assert (outcome(patient), outcome(bob)) == ("patient", "bob")


def test_a_deadline_counts_while_it_waits() -> None:
    with stage(slice_seconds=0.0) as on:
        first = on.job("first", cost=LIGHT)
        until(lambda: ticket_of(first).lane is Lane.HEAVY)
        parked = on.job("parked", cost=LIGHT, timeout_ms=50)
        assert outcome(parked) is Code.TIMEOUT
        assert on.scheduler.figures().waiting[Lane.HEAVY] == 0


def test_who_is_cancelled_leaves_the_queue() -> None:
    with stage() as on:
        on.job("first").running.wait(20)
        second = on.job("second")
        on.heavy_waiting(1)
        second.cancel.cancel()
        on.heavy_waiting(0)
        assert outcome(second) is Code.CANCELLED
        on.jobs[0].go.set()
        assert outcome(on.jobs[0]) == "first"


def test_who_is_cancelled_while_parked_ends() -> None:
    with stage(slice_seconds=0.0) as on:
        first = on.job("first", cost=LIGHT)
        until(lambda: ticket_of(first).lane is Lane.HEAVY)
        parked = on.job("parked", cost=LIGHT)
        on.heavy_waiting(1)
        parked.cancel.cancel()
        assert outcome(parked) is Code.CANCELLED
        on.heavy_waiting(0)


def test_who_is_cancelled_on_the_way_to_being_parked_ends() -> None:
    def work(cancel: Cancel) -> None:
        turn = cancel.turn
        assert turn is not None
        # Another thread does so after the last look at the flag.
        cancel.cancel()
        turn.look(time.monotonic())
        pytest.fail("it waited, and went on")

    with stage(slice_seconds=0.0) as on:
        first = on.job("first", cost=LIGHT)
        until(lambda: ticket_of(first).lane is Lane.HEAVY)
        ticket = on.scheduler.submit(Cancel(), work, ANN)
        with pytest.raises(AdalogError, match="cancelled"):
            ticket.future.result(20)
        on.heavy_waiting(0)


def test_it_is_next_for_whoever_of_its_clients_is_first() -> None:
    with stage() as on:
        on.job("ann 0").running.wait(20)
        for number in range(1, 5):
            on.job(f"ann {number}", Client("ann", number))
            on.heavy_waiting(number)
        ticket_of(on.jobs[4]).share(BOB)
        for job in on.jobs:
            job.go.set()
        for job in on.jobs:
            outcome(job)
        assert on.log[:2] == ["ann 0", "ann 4"]


def test_an_error_is_the_works_own_and_holds_no_flag() -> None:
    with stage() as on:
        cancel = Cancel()

        def fails(_: Cancel) -> None:
            raise ValueError("it broke")

        with pytest.raises(ValueError, match="it broke"):
            on.scheduler.submit(cancel, fails, ANN).future.result(20)
        assert cancel.turn is None


def test_after_the_end_there_is_no_place() -> None:
    with stage() as on:
        running = on.job("running")
        assert running.running.wait(20)
        waiting = on.job("waiting")
        on.heavy_waiting(1)
        closing = threading.Thread(target=on.scheduler.close)
        closing.start()
        assert outcome(waiting) is Code.BACKEND_UNAVAILABLE
        running.go.set()
        assert outcome(running) == "running"
        closing.join(20)
        with pytest.raises(AdalogError) as caught:
            on.job("late")
        assert caught.value.code is Code.BACKEND_UNAVAILABLE


def test_what_is_heavy_against_expectation_does_not_wait_for_all_that_is_expected_to_be() -> None:
    with stage(heavy=1, light=2, slice_seconds=0.0, quantum_seconds=0.01) as on:
        heavy = on.job("heavy", Client("ann", 1))
        assert heavy.running.wait(20)
        for number in range(2, 5):
            on.job(f"queued {number}", Client("ann", number))
        on.heavy_waiting(3)
        surprise = on.job("surprise", Client("ann", 9), cost=LIGHT)
        until(lambda: on.moved("preempted") == 1)
        surprise.go.set()
        assert outcome(surprise) == "surprise"
        assert not ticket_of(heavy).future.done()
        assert on.log[:2] == ["heavy", "surprise"]


def test_work_that_holds_up_nobody_has_more_time_before_it_is_heavy() -> None:
    with stage(heavy=1, light=1, slice_seconds=10.0) as on:
        job = on.job("alone", cost=LIGHT)
        assert job.running.wait(20)
        ticket = ticket_of(job)
        on.scheduler.looked(ticket, 20.0, 0.0)
        assert ticket.lane is Lane.LIGHT, "nobody waits for its place"
        on.scheduler.looked(ticket, 51.0, 0.0)
        assert ticket.lane is Lane.HEAVY
