"""Random queries while others write: with the cache and without, now and in the past, the answers are the same."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from datalog.ast import Query
from datalog.edn import read
from datalog.errors import AdalogError
from datalog.values import identity
from executor.cache_reads import reads_of
from executor.cache_settings import CacheSettings
from executor.pool import Pool, Request
from planner.plan import Options
from store.database import Database
from store.snapshot import Snapshot
from tests.property.generated import PAST, SCHEMA, Asked, query, transaction
from tests.property.model import EARLY, examples, parsed_of

# What no random query reads.
UNREAD = "[{:db/ident :unread/a :db/valueType :db.type/long} {:db/ident :unread/b :db/valueType :db.type/long}]"


def request_of(database: Database, asked: Asked, snapshot: Snapshot, **more: object) -> Request:
    args = [database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in asked.args]
    if asked.given:
        args.append(asked.rules_text)
    # In the order of all values, so that :limit takes the same rows each time.
    return Request(asked.text, args, snapshot, ordered=True, **more)  # type: ignore[arg-type]


def outcome(pool: Pool, request: Request, parsed: Query) -> tuple[object, str]:
    """(the rows or the code of the refusal; HIT, MISS or BYPASS)."""
    try:
        result = pool.run(request)
    except AdalogError as error:
        return error.code, "refused"
    rows: list[object] = [tuple(map(identity, row)) for row in result.rows()]
    if not parsed.order_by:
        rows = sorted(rows, key=repr)
    if parsed.limit is not None and not all(
        element.label in {key.var.name for key in parsed.order_by} for element in parsed.find.elements
    ):
        return len(rows), result.cache  # which rows is free
    return rows, result.cache


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_with_and_without(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        for text in (SCHEMA, transaction(rng), UNREAD):
            database.transact(text)
        cached, plain = Pool(database, cache=CacheSettings()), Pool(database)
        questions = []
        while len(questions) < 4:
            asked = query(rng)
            try:
                questions.append((asked, parsed_of(asked)))
            except AdalogError:
                continue
        for _ in range(6):
            database.transact(transaction(rng))
            newest = database.snapshot().t
            for asked, parsed in questions:
                for t in (newest, rng.randint(EARLY, newest), rng.randint(EARLY, newest)):
                    request = request_of(database, asked, database.at(t=t))
                    given, _ = outcome(cached, request, parsed)
                    expected, _ = outcome(plain, request, parsed)
                    assert given == expected, (asked.text, asked.args, t)
        cached.close()
        plain.close()


def whole(asked: Asked) -> bool:
    """Whether it may read more than the attributes it names, or takes a chance."""
    reads = reads_of(parsed_of(asked))
    return reads.chance or any(each.whole or each.unique for each in reads.sources.values())


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_what_others_write_spoils_nothing(seed: int) -> None:
    """A HIT after a transaction that touches nothing it reads: not so where the key is the basis."""
    rng = Random(seed)
    with Database.open(":memory:") as database:
        for text in (SCHEMA, transaction(rng), UNREAD):
            database.transact(text)
        pool = Pool(database, cache=CacheSettings())
        for _ in range(10):
            asked = query(rng)
            try:
                parsed = parsed_of(asked)
                if whole(asked):
                    continue
                before = outcome(pool, request_of(database, asked, database.snapshot()), parsed)
            except AdalogError:
                continue
            if before[1] == "refused":
                continue
            database.transact(f"[[:db/add 1 :unread/a {rng.randrange(10**6)}] [:db/add 2 :unread/b {seed}]]")
            after = outcome(pool, request_of(database, asked, database.snapshot()), parsed)
            assert after == (before[0], "HIT"), (asked.text, asked.args)
            bypassing = request_of(database, asked, database.snapshot(), options=Options(reorder=False))
            assert outcome(pool, bypassing, parsed)[1] in ("BYPASS", "refused")
        pool.close()
