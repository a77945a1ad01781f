"""Random transactions: DataScript makes the same datoms, or refuses too."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.datascript.replayed import Replay
from tests.property.model import examples


def test_transactions(datascript):
    told: Counter[str] = Counter()
    for seed in range(examples(120)):
        replay = Replay(Random(seed), length=12)
        told += replay.check(datascript)
        replay.close()
    assert told["refused"] < 0.1 * told["applied"]
