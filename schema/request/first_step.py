"""Coroutines that mostly do not wait: their first step is taken at once, without a task.

A task costs an event loop's round, and most requests are answered without waiting for anything. A coroutine that
does wait goes on in a task, from where it is.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class FirstStep(Generic[T]):
    """A coroutine, run until it first waits, in a context of its own. Nothing in it may ask for the task that it
    runs in before it waits. Raises what the coroutine raises."""

    __slots__ = ("_context", "_rest", "_result", "is_over")

    _result: T
    _rest: Rest[T]

    def __init__(self, coroutine: Coroutine[Any, Any, T], context: Context | None = None) -> None:
        self._context = copy_context() if context is None else context
        try:
            waiting = self._context.run(coroutine.send, None)
        except StopIteration as over:
            self._result = over.value
            self.is_over = True
        else:
            self._rest = Rest(coroutine, waiting)
            self.is_over = False

    @property
    def result(self) -> T:
        """What the coroutine returned, if it is over."""
        return self._result

    @property
    def rest(self) -> Rest[T]:
        """What goes on, if it is not."""
        return self._rest

    @property
    def context(self) -> Context:
        """That of the first step: the rest has to run in it, too."""
        return self._context


class Rest(Coroutine[Any, Any, T]):
    """A coroutine that waits: who runs it is first given what it waits for."""

    __slots__ = ("_coroutine", "_waits", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for
        self._waits = True

    def send(self, value: Any, /) -> Any:
        if self._waits:
            waits_for, self._waits, self._waits_for = self._waits_for, False, None
            return waits_for
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        self._waits, self._waits_for = False, None
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        # A generator, as awaiting one passes on what is sent and thrown.
        return (yield from _steps(self))


def _steps(rest: Rest[T]) -> Generator[Any, Any, T]:
    given, failure = None, None
    while True:
        try:
            waits_for = rest.send(given) if failure is None else rest.throw(failure)
        except StopIteration as over:
            result: T = over.value
            return result
        given, failure = None, None
        try:
            given = yield waits_for
        except GeneratorExit:
            rest.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it is the coroutine's
            failure = error
