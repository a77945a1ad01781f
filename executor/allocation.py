"""A pause of Python's cycle collector, for work that makes a great many objects and no garbage.

The collector would look through all of them again and again while they are made; that is half the cost of a large
pull. What is reference-counted is freed as ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_resume = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses the collector until the last of those that asked for it is done; safe from several threads."""
    global _inside, _resume
    with _lock:
        if _inside == 0:
            _resume = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _resume:
                gc.enable()
