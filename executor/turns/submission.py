"""Work that runs when it is its turn, for a task that waits or a caller that does not, until all is stopped."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TypeVar

from adalog.datalog import tracing
from adalog.executor.bounds.cancel import Cancel, StartAgain, arrived, stopping, timed_out
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.bounds.failure import emptied
from adalog.executor.bounds.meter import Charge
from adalog.executor.bounds.running import RUNNING
from adalog.executor.kernels.compiling import LOADING
from adalog.executor.turns.brief_work import BRIEF_COST, BriefTurn, BriefWork
from adalog.executor.turns.running_queries import RunningQueries
from adalog.executor.turns.scheduler import Scheduler

T = TypeVar("T")


class Completed(Future[T]):
    """The future of an outcome that is there already: nobody waits for it, so that it has no lock."""

    def __init__(self, outcome: T) -> None:
        self._outcome = outcome

    def __repr__(self) -> str:
        return f"<Completed {type(self._outcome).__name__}>"

    def done(self) -> bool:
        return True

    def cancel(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def running(self) -> bool:
        return False

    def result(self, timeout: float | None = None) -> T:
        return self._outcome

    def exception(self, timeout: float | None = None) -> None:
        return None

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        fn(self)


class Turns:
    """What runs, by its flags. Thread-safe."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._running: weakref.WeakSet[Cancel] = weakref.WeakSet()
        self.queries = RunningQueries()
        self._brief = BriefWork()
        self._stopped = False

    def stop(self) -> None:
        """Takes no more work and has what runs end at its next look at the cancel flag. Does not wait."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for cancel in running:
            cancel.cancel(stopping())

    def register(self, cancel: Cancel) -> None:
        """Has `stop` end the work under this flag, too, wherever it runs. Raises BACKEND_UNAVAILABLE after it."""
        with self._lock:
            if self._stopped:
                raise stopping()
            self._running.add(cancel)

    def at_once(self, work: Callable[[], T | None], name: Hashable = None, *, untried: bool = False) -> T | None:
        """The outcome of work that takes less than handing it over, done on this thread. None where it comes to
        nothing, others wait for a slot, units are counted, or work of this name was not brief lately: then it is
        work for `threaded`, and nothing was counted. `untried`: whether it is done if none of this name was."""
        client = ASKING.get()
        if self._stopped or client.meter is not None or not self._scheduler.may_run_brief():
            return None
        if name is not None and not self._brief.knows(name, untried=untried):
            return None
        began = time.thread_time()
        before, LOADING.refusal = LOADING.refusal, StartAgain
        try:
            outcome = work()
        except StartAgain:
            return None
        finally:
            LOADING.refusal = before
        if outcome is not None:
            seconds = time.thread_time() - began
            self._scheduler.ran_brief(client, seconds)
            if name is not None:
                self._brief.took(name, seconds)
        return outcome

    def submit(
        self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0, name: str | None = None
    ) -> Future[T]:
        """`threaded` as a future."""
        if self._stopped:
            raise stopping()
        client = ASKING.get()
        if client.meter is None:
            return self._begun(cancel, work, client, cost, name)
        charge = cancel.charge = Charge(client.meter)
        charge.expect(cost)

        def counted(cancel: Cancel) -> T:
            began, waited = time.perf_counter(), cancel.waited
            try:
                return work(cancel)
            finally:
                charge.spend(time.perf_counter() - began - (cancel.waited - waited))

        try:
            future = self._begun(cancel, counted, client, cost, name)
        except BaseException:
            charge.settle()
            raise
        future.add_done_callback(lambda _: charge.settle())
        return future

    def _begun(
        self, cancel: Cancel, work: Callable[[Cancel], T], client: Client, cost: float, name: str | None
    ) -> Future[T]:
        if name is None:
            return self._submitted(cancel, work, client, cost)
        if cost < BRIEF_COST and self._brief.knows(name) and self._scheduler.may_run_brief():
            done = self._done_here(cancel, work, client, name)
            if done is not None:
                return done

        def timed(cancel: Cancel) -> T:
            began = time.thread_time()
            outcome = work(cancel)
            self._brief.took(name, time.thread_time() - began)
            return outcome

        return self._submitted(cancel, timed, client, cost)

    def _done_here(
        self, cancel: Cancel, work: Callable[[Cancel], T], client: Client, name: str
    ) -> Future[T] | None:
        """The outcome of brief work on this thread; None where it was not brief, and is to be begun again."""
        done: Future[T]
        turn = cancel.turn = BriefTurn()
        before, began = RUNNING.set(cancel), turn.began
        LOADING.refusal = StartAgain
        try:
            done = Completed(work(cancel))
        except StartAgain:
            self._brief.gave_up(name)
            return None
        except BaseException as failure:  # noqa: BLE001 - it is the future's
            emptied(failure)
            done = Future()
            done.set_exception(failure)
        finally:
            LOADING.refusal = None
            RUNNING.reset(before)
            cancel.turn = None
        seconds = time.thread_time() - began
        self._brief.took(name, seconds)
        self._scheduler.ran_brief(client, seconds)
        return done

    def _submitted(self, cancel: Cancel, work: Callable[[Cancel], T], client: Client, cost: float) -> Future[T]:
        self.register(cancel)
        context = tracing.current()

        def tidy(cancel: Cancel) -> T:
            # The thread has other work next.
            before = ASKING.set(client)
            RUNNING.set(cancel)
            try:
                with tracing.attached(context):
                    return work(cancel)
            except BaseException as failure:
                emptied(failure)
                raise
            finally:
                ASKING.reset(before)
                RUNNING.set(None)

        try:
            ticket = self._scheduler.submit(cancel, tidy, client, cost)
        except RuntimeError:
            # The interpreter ends, and starts no threads.
            raise stopping() from None
        if cancel.text:
            self.queries.add(ticket, client)
        return ticket.future

    async def threaded(
        self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0, name: str | None = None
    ) -> T:
        """The outcome of `work`, run when it is its turn; cancelling the task stops it. `cost`: what is known of
        it, in the planner's measure. `name`: of all work that is alike; if such work was brief lately, it is done
        on the calling thread, unless others wait. None: never.

        It may be begun more than once, and is to have no effect but its outcome. Raises RATE_LIMITED where too many
        wait, and TIMEOUT at the deadline of `cancel`, whatever the work does then.
        """
        future = self.submit(cancel, work, cost, name)
        try:
            there = await arrived(future, cancel.deadline)
        except asyncio.CancelledError:
            future.cancel()
            cancel.cancel()
            raise
        if not there or future.cancelled():
            cancel.check_flag(time.monotonic())
            future.cancel()
            cancel.cancel()
            raise timed_out()
        return future.result()
