"""One computation for all concurrent requests for the same value, until the last of them has left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from adalog.executor.bounds.cancel import Cancel

T = TypeVar("T")


@dataclass(eq=False)
class Flight(Generic[T]):
    """A computation that is not done. It runs under `cancel`, which has the latest deadline of all waiters. `text`:
    the query text that started it; its refusals point into that text. `abandon`: called when no waiter is left."""

    key: bytes
    text: str
    cancel: Cancel
    landed: Future[T] = field(default_factory=Future)
    abandon: Callable[[], None] | None = None
    waiting: int = 1

    def __post_init__(self) -> None:
        # A waiter that gives up must not be able to cancel it for the others.
        self.landed.set_running_or_notify_cancel()


class Flights(Generic[T]):
    """The computations that are not done, by their keys. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[bytes, Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._flying)

    def join(self, key: bytes, text: str, deadline: float | None) -> tuple[Flight[T], bool]:
        """(the computation of a key, whether the caller is the first to ask and has to start it)."""
        with self._lock:
            flight = self._flying.get(key)
            if flight is None:
                flight = self._flying[key] = Flight(key, text, Cancel(deadline, text=text))
                return flight, True
            flight.waiting += 1
            latest = flight.cancel.deadline
            if latest is not None:
                flight.cancel.deadline = None if deadline is None else max(latest, deadline)
            return flight, False

    def leave(self, flight: Flight[T]) -> None:
        """Takes one waiter away. If none is left, the computation is cancelled."""
        with self._lock:
            flight.waiting -= 1
            if flight.waiting or flight.landed.done():
                return
            self._forget(flight)
        flight.cancel.cancel()
        if flight.abandon is not None:
            flight.abandon()

    def land(self, flight: Flight[T], outcome: T | BaseException) -> None:
        """Gives every waiter the outcome, a value or an error."""
        with self._lock:
            self._forget(flight)
            if flight.landed.done():
                return
            if isinstance(outcome, BaseException):
                flight.landed.set_exception(outcome)
            else:
                flight.landed.set_result(outcome)

    def _forget(self, flight: Flight[T]) -> None:
        # Another may have begun since everybody left this one.
        if self._flying.get(flight.key) is flight:
            del self._flying[flight.key]
