"""A clock for tests of what expires."""

from __future__ import annotations

import time


class Clock:
    """The clock that tokens expire by. `now`: seconds since 1970."""

    def __init__(self) -> None:
        self.now = float(int(time.time()))

    def __call__(self) -> float:
        return self.now
