"""How many datoms one step of a retention takes, by how long the last steps took: transactions wait for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

# What a step should take.
_AIM_SECONDS: Final = 0.5
_FIRST: Final = 50_000
_LEAST: Final = 12_500
_MOST: Final = 200_000
# How much longer than the part that is always the same the rest is at least.
_REST: Final = 2.0
# How much longer may be what a step does beside transactions than what these wait for.
_BESIDE: Final = 2.0
# Steps after which the other size is tried again.
_TRUSTED: Final = 8
# Steps are halved if less than this share of one is wanted.
_SMALLER: Final = 0.7


@dataclass(eq=False)
class StepSize:
    """`datoms`: about how many the next step takes. A step has a fixed cost, such as reading the log. Steps aim at
    half a second, but are longer if the fixed cost would exceed half of the rest, or if the work beside
    transactions would take more than twice as long as transactions wait."""

    datoms: int = _FIRST
    # Of the last two sizes: what the last step of each took.
    _seconds: dict[int, float] = field(default_factory=dict)
    _steps: int = 0

    def took(self, seconds: float, beside: float = 0.0) -> None:
        """Takes in what a step of so many datoms took; beside: seconds for which transactions did not wait."""
        self._seconds.pop(self.datoms, None)
        self._seconds[self.datoms] = seconds
        self._steps += 1
        # What a step took once may be the machine's fault, and data becomes less.
        if len(self._seconds) > 2 or (self._steps % _TRUSTED == 0 and len(self._seconds) == 2):
            del self._seconds[next(iter(self._seconds))]
        wanted = self._wanted(beside)
        if wanted >= 2 * self.datoms:
            self.datoms = min(2 * self.datoms, _MOST)
        elif wanted < _SMALLER * self.datoms:
            self.datoms = max(self.datoms // 2, _LEAST)

    def _wanted(self, beside: float) -> float:
        least, most = min(self._seconds), max(self._seconds)
        if least == most:
            # Another size tells the parts apart.
            return 0.0 if self._seconds[least] > _AIM_SECONDS else 2.0 * most
        each = (self._seconds[most] - self._seconds[least]) / (most - least)
        if each <= 0:
            return _MOST
        same = max(self._seconds[least] - each * least, 0.0)
        return max(_AIM_SECONDS - same, _REST * same, beside / _BESIDE) / each
