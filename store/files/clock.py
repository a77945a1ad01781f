"""A clock that jumped back: the last transaction is of a moment that has not come yet.

No instant is before the last one, so that all transactions have that one until the clock has caught up.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from adalog.store.files.packing import instant

# As far apart as clocks are that are set by a network's.
_TOLERATED_SECONDS: Final = 5.0
_APART_SECONDS: Final = 60.0
_LOGGER: Final = logging.getLogger("adalog.store")


class Clock:
    """Compares the machine's clock with the last transaction's instant, in milliseconds since 1970."""

    def __init__(self) -> None:
        self._last = 0
        self._warned: float | None = None

    @property
    def behind(self) -> float:
        """By how many seconds the clock is behind the last transaction; 0 where it is not."""
        return max(0.0, self._last / 1000 - time.time())

    def look(self, last: int) -> None:
        """Warns where the clock is behind the last transaction, at most once a minute, and tells when it no longer
        is."""
        self._last = last
        behind, now = self.behind, time.monotonic()
        if behind > _TOLERATED_SECONDS:
            if self._warned is None or now >= self._warned + _APART_SECONDS:
                self._warned = now
                _LOGGER.warning(
                    "the clock is %.0f s behind the last transaction, which is of %s: it jumped back, or was ahead "
                    "then. Until it has caught up all transactions have that instant; asOf by an instant between "
                    "them cannot tell them apart, by t it can",
                    behind,
                    instant(last).isoformat(),
                )
        elif self._warned is not None:
            self._warned = None
            _LOGGER.warning("the clock has caught up with the last transaction")
