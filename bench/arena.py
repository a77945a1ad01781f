"""Where contestants meet: each in a child process that can be killed, one at work at a time, round by round.

For the join benchmarks. A round is one run of every contestant, so that whatever else the machine does meets all of
them; the first round warms up and is not counted, but for a contestant so slow that it has no other.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Final

from bench.work import THREADS, Work, digest

LIMIT_SECONDS: Final = 20.0
_LOAD_LIMIT_SECONDS: Final = 180.0
_ROUNDS: Final = 7
# A piece of work that keeps the slowest contestant this long is repeated less.
_LONG_SECONDS: Final = 5.0
_LONG_ROUNDS: Final = 3
# A contestant whose first run takes this long runs no more: that run counts.
_VERY_LONG_SECONDS: Final = 10.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What came of one contestant's rounds: times in seconds and the answer's digest, or why there is none."""

    contestant: str
    seconds: tuple[float, ...] = ()
    answer: str = ""
    failure: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


class Seat:
    """One contestant's process, holding one set of data; started when first needed, started anew after a kill."""

    def __init__(self, contestant: str) -> None:
        self._contestant = contestant
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._data = ""

    def run(self, work: Work) -> tuple[float, str]:
        """Seconds and digest. Raises TimeoutError past the limit, RuntimeError with what the contestant said."""
        if self._connection is None or self._data != work.data:
            self.close()
            self._start(work.data)
        return self._ask(work, LIMIT_SECONDS)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._connection = None

    def _start(self, data: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._contestant, data, theirs), daemon=False)
        self._process.start()
        theirs.close()
        self._data = data
        self._ask(None, _LOAD_LIMIT_SECONDS)

    def _ask(self, work: Work | None, limit: float) -> tuple[float, str]:
        assert self._connection is not None
        try:
            self._connection.send(work)
            if not self._connection.poll(limit):
                self.close()
                raise TimeoutError(f"over {limit:.0f} s")
            seconds, answer, failure = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.close()
            raise RuntimeError("its process ended") from None
        if failure:
            raise RuntimeError(failure)
        return seconds, answer


def compete(works: Iterable[Work], say: Say) -> list[tuple[Work, list[Outcome]]]:
    """Every piece of work by all who have a text for it. Raises AssertionError where answers differ."""
    seats: dict[str, Seat] = {}
    results = []
    try:
        for work in works:
            say(f"{work.name}: {work.title} ({work.data})")
            outcomes = _rounds(work, seats, say)
            _agree(work, outcomes)
            results.append((work, outcomes))
    finally:
        for seat in seats.values():
            seat.close()
    return results


def _rounds(work: Work, seats: dict[str, Seat], say: Say) -> list[Outcome]:
    outcomes = {name: Outcome(name) for name in work.texts}
    rounds = _ROUNDS
    number = 0
    while number <= rounds:
        for name, outcome in outcomes.items():
            if outcome.failure or (outcome.seconds and outcome.seconds[0] > _VERY_LONG_SECONDS):
                continue
            engine = name.split(" by hand")[0]
            seat = seats.setdefault(engine, Seat(engine))
            try:
                seconds, answer = seat.run(replace(work, texts={engine: work.texts[name]}))
            except (TimeoutError, RuntimeError) as failure:
                outcomes[name] = Outcome(name, failure=str(failure))
                say(f"    {name:16} {failure}")
                continue
            if number == 0:
                say(f"    {name:16} {seconds:9.4f} s  {answer}")
                if seconds > _VERY_LONG_SECONDS:
                    outcomes[name] = replace(outcome, answer=answer, seconds=(seconds,))
                    continue
                outcomes[name] = replace(outcome, answer=answer)
                if seconds > _LONG_SECONDS:
                    rounds = _LONG_ROUNDS
            else:
                assert answer == outcome.answer, f"{name} on {work.name}: {answer}, before it was {outcome.answer}"
                outcomes[name] = replace(outcome, seconds=(*outcome.seconds, seconds))
        number += 1
    return list(outcomes.values())


def _agree(work: Work, outcomes: list[Outcome]) -> None:
    answers = {outcome.contestant: outcome.answer for outcome in outcomes if not outcome.failure}
    assert len(set(answers.values())) <= 1, f"the answers to {work.name} differ: {answers}"


def _serve(contestant: str, data: str, connection: Connection) -> None:
    """The child: first loads, answering a request of None, then answers pieces of work until the pipe closes."""
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[variable] = str(THREADS)
    from bench.peers import contestant as made

    try:
        connection.recv()
        champion = made(contestant)
        champion.load(data)
        connection.send((0.0, "", ""))
    except Exception as failure:  # noqa: BLE001 - whatever it was, the parent prints it
        connection.send((0.0, "", _first_line(failure)))
        return
    while True:
        try:
            work = connection.recv()
        except EOFError:
            return
        try:
            start = time.perf_counter()
            answer = champion.run(work)
            seconds = time.perf_counter() - start
            connection.send((seconds, digest(answer), ""))
            del answer
        except Exception as failure:  # noqa: BLE001 - whatever it was, the parent prints it
            connection.send((0.0, "", _first_line(failure)))


def _first_line(failure: Exception) -> str:
    lines = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {lines[0][:160] if lines else ''}"
