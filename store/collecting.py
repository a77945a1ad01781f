"""Python's search for cycles, put off while something large is made.

It would look at each new object again and again, and find none: forms, datoms and rows have no cycles.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Characters of text, or forms, from which on it is worth it.
_LARGE: Final = 10_000


class _Pauses:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._was_enabled = False

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._was_enabled:
                gc.enable()


_PAUSES: Final = _Pauses()


@contextmanager
def put_off(size: int) -> Iterator[None]:
    """While something of this size is read."""
    if size < _LARGE:
        yield
        return
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()
