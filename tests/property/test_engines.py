"""SPARK against the oracle: the same random queries, on one session."""

from __future__ import annotations

from random import Random

import pytest

from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.property.generated import transaction, transactions
from tests.property.model import SWITCHES, asked_of, check, examples, filled
from tests.support import pool_on

pytestmark = pytest.mark.spark


def test_spark_answers_as_the_oracle_does(spark: SparkEngine) -> None:
    rng = Random(1)
    with Database.open(":memory:") as database, pool_on(database, spark) as pool:
        log = filled(database, transactions(rng))
        for _ in range(max(3, examples(3))):
            log.datoms.extend(database.transact(transaction(rng)).datoms)
            facts = log.facts()
            for _ in range(3):
                check(pool, database.snapshot(), facts, asked_of(facts, rng), SWITCHES[:1], engine="SPARK")
            past = rng.randint(1, database.snapshot().t)
            facts = log.facts(as_of=past, history=True)
            view = database.at(as_of=past, history=True)
            check(pool, view, facts, asked_of(facts, rng), SWITCHES[3:4], engine="SPARK")
