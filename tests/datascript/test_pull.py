"""Random pull patterns: DataScript has the same maps."""

from __future__ import annotations

from random import Random

from tests.datascript.compared import Both
from tests.datascript.pulls import ENTITIES, entities, pattern
from tests.datascript.transactions import SCHEMA, THEIR_SCHEMA
from tests.property.model import examples


def test_pull(datascript):
    for seed in range(examples(80)):
        rng = Random(seed)
        both = Both(datascript, [entities(rng)], SCHEMA, THEIR_SCHEMA)
        both.check_pulls([pattern(rng) for _ in range(10)], ENTITIES)
        both.close()
