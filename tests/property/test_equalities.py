"""Clauses that only comparisons tie together: the engine against the oracle, and answers followed in time."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.property.equalities import SCHEMA, query, transaction
from tests.property.model import SWITCHES, Log, asked_of, check, examples
from tests.property.test_maintained import follow
from tests.support import pool_on

SEEDS = st.integers(0, 2**48)


def filled(database: Database, rng: Random) -> Log:
    log = Log(database.snapshot().datoms("EAVT"))
    for text in (SCHEMA, transaction(rng), transaction(rng)):
        log.datoms.extend(database.transact(text).datoms)
    return log


@settings(max_examples=examples(50))
@given(SEEDS)
def test_ties_of_one_moment(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, rng)
        pool = Pool(database, PoolSettings(threads=1))
        facts = log.facts()
        for _ in range(8):
            check(pool, database.snapshot(), facts, asked_of(facts, rng, query), SWITCHES)
        pool.close()


@settings(max_examples=examples(15))
@given(SEEDS)
def test_ties_from_moment_to_moment(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        filled(database, rng)
        follow(database, rng, query, (transaction(rng) for _ in range(5)))


@pytest.mark.spark
def test_ties_on_spark(spark: SparkEngine) -> None:
    rng = Random(3)
    with Database.open(":memory:") as database, pool_on(database, spark) as pool:
        facts = filled(database, rng).facts()
        for _ in range(max(4, examples(4))):
            check(pool, database.snapshot(), facts, asked_of(facts, rng, query), SWITCHES[:1], engine="SPARK")
