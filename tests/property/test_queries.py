"""The engine against the oracle: random databases, random nested queries, every planner switch."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.store.database import Database
from tests.property.generated import transactions
from tests.property.model import SWITCHES, asked_of, check, examples, filled

SEEDS = st.integers(0, 2**48)


@settings(max_examples=examples(50))
@given(SEEDS)
def test_queries_of_the_present(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng))
        pool = Pool(database, PoolSettings(threads=1))
        facts = log.facts()
        for _ in range(10):
            check(pool, database.snapshot(), facts, asked_of(facts, rng))
        pool.close()


@settings(max_examples=examples(50))
@given(SEEDS)
def test_queries_of_the_past(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng, 6))
        pool = Pool(database, PoolSettings(threads=1))
        for _ in range(4):
            as_of = rng.randint(1, database.snapshot().t)
            since = rng.choice((0, 0, 1, as_of // 2))
            history = rng.random() < 0.5
            snapshot = database.at(as_of=as_of, since=since or None, history=history)
            facts = log.facts(as_of=as_of, since=since, history=history)
            for _ in range(2):
                check(pool, snapshot, facts, asked_of(facts, rng), SWITCHES[:2])
        pool.close()


@settings(max_examples=examples(30))
@given(SEEDS)
def test_the_same_queries_at_several_moments(seed):
    """Joins that are bound once are right at another moment, too."""
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng, 6))
        pool = Pool(database, PoolSettings(threads=1))
        asked = [asked_of(log.facts(), rng) for _ in range(4)]
        for _ in range(3):
            for t in (database.snapshot().t, rng.randint(1, database.snapshot().t)):
                snapshot, facts = database.at(as_of=t), log.facts(as_of=t)
                for each in asked:
                    check(pool, snapshot, facts, each, SWITCHES[:1])
        pool.close()


@settings(max_examples=examples(20))
@given(SEEDS)
def test_two_threads(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng))
        pool = Pool(database, PoolSettings(threads=2))
        facts = log.facts()
        for _ in range(5):
            check(pool, database.snapshot(), facts, asked_of(facts, rng), (SWITCHES[0], SWITCHES[3]))
        pool.close()
