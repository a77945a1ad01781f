"""Random queries: DataScript has the same rows."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.datascript.compared import Both
from tests.datascript.generated import transactions
from tests.datascript.queries import query
from tests.property.model import examples


def test_queries(datascript):
    told: Counter[str] = Counter()
    for seed in range(examples(120)):
        rng = Random(seed)
        both = Both(datascript, transactions(rng))
        told += both.check([query(rng) for _ in range(35)], most=20)
        both.close()
    compared = told["a row or more"] + told["no row"]
    assert told["a row or more"] > 0.4 * compared
    assert told["refused"] < 0.01 * compared
