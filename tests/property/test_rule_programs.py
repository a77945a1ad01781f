"""The engine against the oracle: random rule programs, whatever the switches, and on both engines."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.property.generated import transactions
from tests.property.model import asked_of, check, examples, filled
from tests.property.rule_programs import graph, program
from tests.support import pool_on

SWITCHES = (
    Options(),
    Options(magic=False),
    Options(turn=False),
    Options(semi_naive=False),
    Options(reorder=False),
    Options(project=False),
    Options(budget=1),
    Options(cautious=True),
    Options(magic=False, semi_naive=False, reorder=False, project=False, budget=3),
)
SEEDS = st.integers(0, 2**48)


@settings(max_examples=examples(30))
@given(SEEDS)
def test_rules_of_the_present(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        facts = filled(database, [*transactions(rng), graph(rng)]).facts()
        pool = Pool(database, PoolSettings(threads=1))
        for _ in range(5):
            check(pool, database.snapshot(), facts, asked_of(facts, rng, program), SWITCHES)
        pool.close()


@settings(max_examples=examples(20))
@given(SEEDS)
def test_rules_of_the_past(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, [graph(rng), *transactions(rng, 6)])
        pool = Pool(database, PoolSettings(threads=2))
        for _ in range(4):
            as_of = rng.randint(1, database.snapshot().t)
            since = rng.choice((0, 0, 1, as_of // 2))
            history = rng.random() < 0.5
            snapshot = database.at(as_of=as_of, since=since or None, history=history)
            facts = log.facts(as_of=as_of, since=since, history=history)
            for _ in range(2):
                check(pool, snapshot, facts, asked_of(facts, rng, program), SWITCHES[:3])
        pool.close()


@pytest.mark.spark
def test_rules_on_spark(spark):
    rng = Random(1)
    with Database.open(":memory:") as database, pool_on(database, spark) as pool:
        facts = filled(database, [*transactions(rng), graph(rng)]).facts()
        for _ in range(max(8, examples(8))):
            asked = asked_of(facts, rng, program)
            check(pool, database.snapshot(), facts, asked, (rng.choice(SWITCHES),), engine="SPARK")
