"""The writer's queue: every job once and in order, and one wake-up for those that come together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from adalog.store.writer.job_queue import JobQueue

LONG = 60.0


class _Counting:
    """A signal that counts how often it is waited for."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self.release = lock.release
        self.waits = 0
        self.is_waited_for = threading.Event()

    def acquire(self, timeout: float = -1) -> bool:
        self.waits += 1
        self.is_waited_for.set()
        return self._lock.acquire(timeout=timeout)


@contextmanager
def taking(jobs: JobQueue[int], expected: int) -> Iterator[list[list[int]]]:
    """A thread that waits for jobs and takes them once; the list gets what it took."""
    taken: list[list[int]] = []
    signal = _Counting(jobs._signal)
    jobs._signal = signal  # type: ignore[assignment]
    thread = threading.Thread(target=lambda: taken.append(jobs.take(256, expected, LONG, None)))
    thread.start()
    assert signal.is_waited_for.wait(LONG), "the thread waits"
    yield taken
    thread.join(LONG)
    assert not thread.is_alive(), "the jobs were taken"
    assert signal.waits == 1, "one wake-up"


def test_as_many_as_are_expected_wake_the_thread_once() -> None:
    jobs: JobQueue[int] = JobQueue()
    with taking(jobs, 5) as taken:
        for number in range(5):
            jobs.put(number)
    assert taken == [[0, 1, 2, 3, 4]]


def test_the_first_job_wakes_a_thread_that_expects_no_others() -> None:
    jobs: JobQueue[int] = JobQueue()
    with taking(jobs, 1) as taken:
        jobs.put(7)
    assert taken == [[7]]


def test_fewer_than_are_expected_are_taken_after_a_moment() -> None:
    jobs: JobQueue[int] = JobQueue()
    jobs.put(1)
    jobs.put(2)
    assert jobs.take(256, 64, 0.0, None) == [1, 2]
    # Nothing is left of the waits that ended: the next one is as the first.
    jobs.put(3)
    assert jobs.take(256, 2, 0.0, None) == [3]


def test_no_job_in_time() -> None:
    jobs: JobQueue[int] = JobQueue()
    assert jobs.take(256, 1, 0.0, 0.0) == []
    assert jobs.take(256, 8, 0.0, 0.0) == []
    jobs.put(1)
    assert jobs.take(256, 8, 0.0, 0.0) == [1]


def test_no_more_than_the_most() -> None:
    jobs: JobQueue[int] = JobQueue()
    for number in range(10):
        jobs.put(number)
    assert [jobs.take(4, 1, 0.0, 0.0) for _ in range(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], []]


def test_jobs_of_many_threads_are_taken_once_each_in_the_order_of_their_thread() -> None:
    jobs: JobQueue[tuple[int, int]] = JobQueue()
    threads, each = 8, 2_000

    def put(thread: int) -> None:
        for number in range(each):
            jobs.put((thread, number))

    putting = [threading.Thread(target=put, args=(thread,)) for thread in range(threads)]
    for thread in putting:
        thread.start()
    found: list[tuple[int, int]] = []
    while len(found) < threads * each:
        # Waits that end early are among them, and some that nothing ends.
        expected = 1 + len(found) % 7
        taken = jobs.take(64, expected, 0.00001, 0.0 if len(found) % 3 else None)
        assert len(taken) <= 64
        found += taken
    for thread in putting:
        thread.join()
    for number in range(threads):
        assert [job for job in found if job[0] == number] == [(number, place) for place in range(each)]
    assert jobs.take(64, 1, 0.0, 0.0) == []
