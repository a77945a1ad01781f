"""Waiting for a change that another thread or process makes without a notification."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_LOOK_AGAIN_SECONDS: Final = 0.01


def until(found: Callable[[], T], seconds: float = 60.0) -> T:
    """Calls `found` until its value is true, and returns that value. Fails after `seconds`, which only a fault
    takes."""
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, f"{found} was still {value!r} after {seconds} s"
        time.sleep(_LOOK_AGAIN_SECONDS)
    return value
