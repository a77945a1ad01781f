"""Left joins: the engine against the oracle, with the planner's switches off, followed in time, and on Spark."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.property.generated import transaction, transactions
from tests.property.model import SWITCHES, asked_of, check, examples, filled
from tests.property.optionals import query
from tests.property.test_maintained import follow, written
from tests.support import pool_on

SEEDS = st.integers(0, 2**48)


@settings(max_examples=examples(25))
@given(SEEDS)
def test_optionals_of_one_moment(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng))
        pool = Pool(database, PoolSettings(threads=1))
        for view in ({}, {"history": True}, {"since": 2}):
            facts = log.facts(**view)
            snapshot = database.at(**view)
            for _ in range(2 if view else 6):
                check(pool, snapshot, facts, asked_of(facts, rng, query), SWITCHES)
        pool.close()


@settings(max_examples=examples(10))
@given(SEEDS)
def test_optionals_from_moment_to_moment(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        filled(database, transactions(rng))
        follow(database, rng, query, (written(rng) for _ in range(6)))


@pytest.mark.spark
def test_optionals_on_spark(spark: SparkEngine) -> None:
    rng = Random(5)
    with Database.open(":memory:") as database, pool_on(database, spark) as pool:
        log = filled(database, transactions(rng))
        log.datoms.extend(database.transact(transaction(rng)).datoms)
        facts = log.facts()
        for _ in range(max(4, examples(4))):
            check(pool, database.snapshot(), facts, asked_of(facts, rng, query), SWITCHES[:1], engine="SPARK")
