"""The engine against the oracle: random databases, random nested queries, every planner switch."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from executor.pool import Pool, PoolSettings
from store.database import Database
from tests.property.generated import SCHEMA, queries, transactions
from tests.property.model import SWITCHES, Log, check

FACTOR = settings.default.max_examples / 100


def examples(number: int) -> int:
    """A share of the profile's examples: `number` of every hundred."""
    return max(1, int(number * FACTOR))


def filled(database: Database, texts: list[str]) -> Log:
    """Transacts the texts; the log as the reports told it."""
    log = Log(database.snapshot().datoms("EAVT"))
    for text in [SCHEMA, *texts]:
        log.datoms.extend(database.transact(text).datoms)
    return log


@settings(max_examples=examples(400))
@given(transactions(), st.lists(queries(), min_size=1, max_size=3))
def test_queries_of_the_present(texts, asked):
    with Database.open(":memory:") as database:
        log = filled(database, texts)
        pool = Pool(database, PoolSettings(threads=1))
        for each in asked:
            check(pool, database.snapshot(), log.facts(), each)
        pool.close()


@settings(max_examples=examples(100))
@given(transactions(6), st.lists(queries(), min_size=1, max_size=2), st.data())
def test_queries_of_the_past(texts, asked, data):
    with Database.open(":memory:") as database:
        log = filled(database, texts)
        pool = Pool(database, PoolSettings(threads=1))
        as_of = data.draw(st.integers(1, len(texts) + 1))
        since = data.draw(st.sampled_from((0, 0, 1, as_of // 2)))
        history = data.draw(st.booleans())
        snapshot = database.at(as_of=as_of, since=since or None, history=history)
        for each in asked:
            check(pool, snapshot, log.facts(as_of=as_of, since=since, history=history), each, SWITCHES[:2])
        pool.close()


@settings(max_examples=examples(50))
@given(transactions(), st.lists(queries(), min_size=1, max_size=2))
def test_two_threads(texts, asked):
    with Database.open(":memory:") as database:
        log = filled(database, texts)
        pool = Pool(database, PoolSettings(threads=2))
        for each in asked:
            check(pool, database.snapshot(), log.facts(), each, (SWITCHES[0], SWITCHES[3]))
        pool.close()
