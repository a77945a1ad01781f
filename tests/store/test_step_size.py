"""The size of a retention's steps, for steps whose time is a part that is the same and one for each datom."""

from __future__ import annotations

from collections import Counter

import pytest

from adalog.store.excision.step_size import StepSize


def sizes(fixed: float, million: float, steps: int = 40, beside: float = 0.0) -> list[int]:
    """The sizes of steps that take `fixed` seconds and so many for a million datoms. beside: as of `took`."""
    size, found = StepSize(), []
    for _ in range(steps):
        found.append(size.datoms)
        size.took(fixed + million * size.datoms / 1e6, beside)
    return found


@pytest.mark.parametrize(
    ("fixed", "million", "settled"),
    [
        # All quick, all slow, and steps that are halved until they take 0.5 s or less.
        (0.01, 0.1, 200_000),
        (0.0, 100.0, 12_500),
        (0.0, 10.0, 50_000),
        (0.03, 8.0, 50_000),
        # Short steps would not be much shorter.
        (0.2, 3.0, 100_000),
        (0.4, 2.75, 200_000),
        (1.4, 1.0, 200_000),
        (1.4, 20.0, 100_000),
    ],
)
def test_steps_settle(fixed: float, million: float, settled: int) -> None:
    ((size, times),) = Counter(sizes(fixed, million)[-24:]).most_common(1)
    assert (size, times >= 18) == (settled, True)


def test_short_steps_take_little_more_in_all() -> None:
    for fixed in (0.0, 0.1, 0.2, 0.4, 1.0, 5.0):
        for million in (0.1, 1.0, 4.0, 20.0, 100.0):
            found = sizes(fixed, million, 100)
            seconds = sum(fixed + million * each / 1e6 for each in found)
            in_long_steps = sum(found) * (fixed / 200_000 + million / 1e6)
            assert seconds < 2 * in_long_steps, (fixed, million)


def test_steps_are_longer_where_much_is_done_beside_them() -> None:
    for beside, settled in ((0.0, 50_000), (0.1, 50_000), (2.0, 100_000), (10.0, 200_000)):
        assert Counter(sizes(0.05, 8.0, beside=beside)).most_common(1)[0][0] == settled


def test_one_slow_step_is_made_up_for() -> None:
    size = StepSize()
    for seconds in (0.1, 0.1, 0.1, 2.0, 0.1, 0.1, 0.1, 0.1):
        size.took(seconds)
    assert size.datoms == 200_000
