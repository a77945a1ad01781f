"""What each principal's work costs, and how much of it they may have: a bucket of units for each, refilled.

A unit is the planner's: about 0.1 µs of one thread. Work is admitted for what it is expected to cost and settled
for what it did; where that was more, the bucket is in debt, and nothing is admitted until it is out of it.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Final, Protocol

from adalog.datalog.errors import AdalogError, Code

UNITS_PER_SECOND: Final = 1e7
"""Of one thread that computes all the time."""
_MOST_BUCKETS: Final = 65_536
_LOOKED_AT: Final = 16
# Of units, what may be lost on the way from units to seconds and back.
_ROUNDING: Final = 1e-6


class OverdrawnError(AdalogError):
    """RATE_LIMITED: a principal has used what it may, for so many seconds."""

    def __init__(self, message: str, seconds: float) -> None:
        # More than a day says nothing that a day does not.
        super().__init__(Code.RATE_LIMITED, message, retry_after=max(1, math.ceil(min(seconds, 86_400))))


class Meter(Protocol):
    """Where the costs of one client go."""

    def admit(self, units: float) -> None:
        """Takes what something is expected to cost. May raise OverdrawnError."""

    def pay(self, units: float) -> None:
        """Takes what it cost beyond that, or gives back what it did not."""

    def seconds(self, seconds: float) -> float:
        """The units of a place kept for so long."""


@dataclass(eq=False, slots=True)
class Charge:
    """The cost of one piece of work, which may be begun more than once. `settle` comes last, and once."""

    _meter: Meter
    _expected: float = 0.0
    _spent: float = 0.0

    def expect(self, units: float) -> None:
        """Raises OverdrawnError where the client may not have so much now."""
        if units > self._expected:
            self._meter.admit(units - self._expected)
            self._expected = units

    def spend(self, seconds: float) -> None:
        """Counts what was computed, refused or not."""
        self._spent += self._meter.seconds(seconds)

    def settle(self) -> None:
        """Replaces what was expected by what was spent."""
        self._meter.pay(self._spent - self._expected)


class Fills(Protocol):
    """When the buckets of principals will be full: all there is to know of them. In seconds of the clock."""

    def __len__(self) -> int: ...

    def get(self, principal: str) -> float:
        """The past for a bucket that is full."""

    def put(self, principal: str, full: float, now: float) -> None: ...


class OwnFills:
    """Those of one process. Not thread-safe."""

    def __init__(self) -> None:
        # The client that cost something last comes last.
        self._full: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full)

    def get(self, principal: str) -> float:
        return self._full.get(principal, -math.inf)

    def put(self, principal: str, full: float, now: float) -> None:
        if full <= now:
            self._full.pop(principal, None)
            return
        self._full[principal] = full
        self._full.move_to_end(principal)
        # Those that are full by now tell nothing.
        while self._full and next(iter(self._full.values())) <= now:
            self._full.popitem(last=False)
        if len(self._full) > _MOST_BUCKETS:
            oldest = [each for each, _ in zip(self._full, range(_LOOKED_AT), strict=False)]
            del self._full[min(oldest, key=self._full.__getitem__)]


@dataclass(eq=False)
class Buckets:
    """The buckets of all principals. Thread-safe. `rate`: units a second; `burst`: of a full bucket. What costs
    more than half of that wants a bucket half full. `fills`: None where no other process has them."""

    rate: float
    burst: float
    threads: int
    clock: Callable[[], float] = time.monotonic
    fills: InitVar[Fills | None] = None
    refused: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self, fills: Fills | None) -> None:
        self._fills = OwnFills() if fills is None else fills

    def __len__(self) -> int:
        return len(self._fills)

    def of(self, principal: str) -> Bucket:
        """Refuses what the principal has not the units for."""
        return Bucket(self, principal)

    def take(self, principal: str, units: float) -> None:
        """Takes units that there may not be."""
        with self._lock:
            now = self.clock()
            self._put(principal, self._level(principal, now) - units, now)

    def take_if_there(self, principal: str, units: float, taken: float = 0.0) -> None:
        """Takes units if there are as many, or half a bucket. Raises OverdrawnError otherwise. `taken`: by the same
        request before, which will take them again when it comes again."""
        with self._lock:
            now = self.clock()
            level = self._level(principal, now)
            needed = min(units, self.burst / 2)
            if level < needed - _ROUNDING:
                self.refused += 1
                raise OverdrawnError(
                    f"this costs about {units:,.0f} units, and {max(level, 0):,.0f} are left of those that "
                    f"{principal!r} may use: {self.rate:,.0f} a second, up to {self.burst:,.0f} at once; "
                    "ADALOG_RATE_UNITS moves this limit",
                    (min(needed + taken, self.burst) - level) / self.rate,
                )
            self._put(principal, level - units, now)

    def _level(self, principal: str, now: float) -> float:
        return self.burst - max(0.0, self._fills.get(principal) - now) * self.rate

    def _put(self, principal: str, level: float, now: float) -> None:
        self._fills.put(principal, now + (self.burst - level) / self.rate, now)


@dataclass(eq=False, slots=True)
class Bucket:
    """One principal's, for one request."""

    _buckets: Buckets
    _principal: str
    _admitted: float = 0.0

    def admit(self, units: float) -> None:
        self._buckets.take_if_there(self._principal, units, self._admitted)
        self._admitted += units

    def pay(self, units: float) -> None:
        self._buckets.take(self._principal, units)

    def seconds(self, seconds: float) -> float:
        return seconds * self._buckets.threads * UNITS_PER_SECOND


@dataclass(eq=False, slots=True)
class Tab:
    """A meter for what was admitted as a whole, as a subscription: it costs, and is not refused."""

    _meter: Meter

    def admit(self, units: float) -> None:
        self._meter.pay(units)

    def pay(self, units: float) -> None:
        self._meter.pay(units)

    def seconds(self, seconds: float) -> float:
        return self._meter.seconds(seconds)
