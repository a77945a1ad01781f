"""Cancellation within long loops: a loop over many items calls a check now and then, which may raise."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar

T = TypeVar("T")

# Items between two looks.
_PIECE: Final = 4096
# Items that are sorted in one call, which holds the interpreter.
_RUN: Final = 1 << 15


class WatchedList(list[T]):
    """Items, and `check`, which is called while they are gone through, and may raise."""

    def __init__(self, items: Iterable[T], check: Callable[[], None]) -> None:
        super().__init__(items)
        self.check = check

    def __iter__(self) -> Iterator[T]:
        items = super().__iter__()
        return items if len(self) <= _PIECE else self._looking(items)

    def _looking(self, items: Iterator[T]) -> Iterator[T]:
        while piece := list(islice(items, _PIECE)):
            self.check()
            yield from piece


def in_order(
    items: Sequence[T], key: Callable[[T], Any] | None = None, check: Callable[[], None] | None = None
) -> list[T]:
    """`sorted`, in runs that are merged, with a look between them."""
    if check is None or len(items) <= _RUN:
        return sorted(items, key=key)  # type: ignore[type-var, arg-type]
    runs: list[list[T]] = []
    for start in range(0, len(items), _RUN):
        check()
        runs.append(sorted(items[start : start + _RUN], key=key))  # type: ignore[type-var, arg-type]
    merged = heapq.merge(*runs, key=key)  # type: ignore[arg-type]
    ordered: list[T] = []
    while len(ordered) < len(items):
        check()
        ordered += islice(merged, _PIECE)
    return ordered


_thread = threading.local()


@contextmanager
def watching(check: Callable[[], None]) -> Iterator[None]:
    """Has `look` call this on this thread within the block."""
    before = getattr(_thread, "check", None)
    _thread.check = check
    try:
        yield
    finally:
        _thread.check = before


def look() -> None:
    """Calls the check of the query that runs the calling built-in function; it raises if the query must stop."""
    check = getattr(_thread, "check", None)
    if check is not None:
        check()
