"""A pause of Python's cycle collector, for work that makes a great many objects and no garbage.

The collector would look through all of them again and again while they are made; that is half the cost of a large
pull. Forms, datoms and rows have no cycles, and what is reference-counted is freed as ever.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Characters of text, or forms, from which on a pause is worth it.
_LARGE: Final = 10_000

# Where such work never ceases, young objects are looked through once in so long: failures do leave garbage.
_LONGEST_SECONDS: Final = 1.0

_lock = threading.Lock()
_inside = 0
_resume = False
_since = 0.0


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses the collector until the last of those that asked for it is done; safe from several threads."""
    global _inside, _resume, _since
    with _lock:
        if _inside == 0:
            _resume = gc.isenabled()
            _since = time.monotonic()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _resume:
                gc.enable()
            now = time.monotonic()
            overdue = _inside > 0 and _resume and now - _since > _LONGEST_SECONDS
            if overdue:
                _since = now
        if overdue:
            gc.collect(1)


@contextmanager
def put_off(size: int) -> Iterator[None]:
    """Pauses the collector while something of this size is read, if it is large enough for that to pay."""
    if size < _LARGE:
        yield
        return
    with uncollected():
        yield
