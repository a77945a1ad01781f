"""Waiting for what another thread or process does, and tells nobody of."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_LOOK_AGAIN_SECONDS: Final = 0.01


def until(found: Callable[[], T], seconds: float = 60.0) -> T:
    """What is found as soon as it is true. It fails after so many seconds, so many that only a fault takes them."""
    end = time.monotonic() + seconds
    while not (held := found()):
        assert time.monotonic() < end, f"it did not come to be so within {seconds} s"
        time.sleep(_LOOK_AGAIN_SECONDS)
    return held
