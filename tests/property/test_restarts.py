"""The same comparison while a database on disk is compacted, closed and opened again between transactions."""

from __future__ import annotations

import tempfile
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.store.database import Database
from tests.property.generated import SCHEMA, transaction
from tests.property.model import SWITCHES, Log, asked_of, check, examples


@settings(max_examples=examples(30))
@given(st.integers(0, 2**48))
def test_transactions_compactions_and_restarts(seed):
    rng = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(folder)
        try:
            log = Log(database.snapshot().datoms("EAVT"))
            log.datoms.extend(database.transact(SCHEMA).datoms)
            log.datoms.extend(database.transact(transaction(rng)).datoms)
            for _ in range(rng.randint(3, 8)):
                match rng.choice(("transact", "transact", "transact", "compact", "restart")):
                    case "transact":
                        log.datoms.extend(database.transact(transaction(rng)).datoms)
                    case "compact":
                        database.compact()
                    case "restart":
                        database.close()
                        database = Database.open(folder)
                ask(database, log, rng)
        finally:
            database.close()


def ask(database: Database, log: Log, rng: Random) -> None:
    """One query of now, one of some other view; and the snapshot is the log replayed."""
    pool = Pool(database, PoolSettings(threads=1))
    facts = log.facts()
    held = {(d.e, d.a, repr(d.v), d.t) for d in database.snapshot().datoms("EAVT")}
    assert held == {(e, a, repr(v), tx - 2**42) for e, a, v, tx, _ in facts.datoms}
    check(pool, database.snapshot(), facts, asked_of(facts, rng), SWITCHES[:2])
    as_of, history = rng.randint(1, database.snapshot().t), rng.random() < 0.5
    since = rng.choice((0, 0, as_of // 2))
    facts = log.facts(as_of=as_of, since=since, history=history)
    view = database.at(as_of=as_of, since=since or None, history=history)
    check(pool, view, facts, asked_of(facts, rng), SWITCHES[:1])
    pool.close()
