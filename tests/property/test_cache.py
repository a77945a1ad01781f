"""Random queries while others write: with the cache and without, now and in the past, the answers are the same."""

from __future__ import annotations

from contextlib import suppress
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.ast import Query
from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.cache.reads import reads_of
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.property.generated import ATTRIBUTES, ENTITIES, MANY, PAST, SCHEMA, VALUES, Asked, query, transaction
from tests.property.model import EARLY, examples, parsed_of

# What no random query reads.
UNREAD = "[{:db/ident :unread/a :db/valueType :db.type/long} {:db/ident :unread/b :db/valueType :db.type/long}]"


def little(rng: Random) -> str:
    """A transaction that touches one attribute: what does not read it stays kept."""
    attribute = rng.choice(ATTRIBUTES)
    if attribute == ":u":
        # The name wanders from one entity to another.
        given, taken = rng.sample(ENTITIES, 2)
        return f'[[:db/retract {taken} :u] [:db/add {given} :u "{rng.choice("ab")}"]]'
    forms = {}
    for _ in range(rng.randint(1, 3)):
        e, v = rng.choice(ENTITIES), rng.choice(VALUES[attribute])
        key = (e, v) if attribute in MANY else e
        forms[key] = f"[:db/{rng.choice(('add', 'add', 'retract'))} {e} {attribute} {v}]"
    return f"[{' '.join(forms.values())}]"


def transacted(database: Database, text: str) -> None:
    # Two entities may come to want one name: nothing is written then.
    with suppress(AdalogError):
        database.transact(text)


def request_of(database: Database, asked: Asked, snapshot: Snapshot, **more: object) -> QueryRequest:
    args = [database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in asked.args]
    if asked.given:
        args.append(asked.rules_text)
    # In the order of all values, so that :limit takes the same rows each time.
    return QueryRequest(asked.text, args, snapshot, ordered=True, **more)  # type: ignore[arg-type]


def outcome(pool: Pool, request: QueryRequest, parsed: Query) -> tuple[object, str]:
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


def whole(asked: Asked) -> bool:
    """Whether it may read more than the attributes it names, or takes a chance."""
    reads = reads_of(parsed_of(asked))
    return reads.chance or any(each.whole or each.unique for each in reads.sources.values())


def asked_of(rng: Random, plain: Pool) -> tuple[Asked, Query] | None:
    """A random query that finds something and mostly does not read everything; None: no luck."""
    for _ in range(12):
        asked = query(rng)
        try:
            parsed = parsed_of(asked)
            if whole(asked) and rng.random() < 0.9:
                continue
            rows, _ = outcome(plain, request_of(plain.database, asked, plain.database.snapshot()), parsed)
        except AdalogError:
            continue
        if rows and not isinstance(rows, str):
            return asked, parsed
    return None


@settings(max_examples=examples(30))
@given(st.integers(0, 2**32))
def test_with_and_without(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        for text in (SCHEMA, transaction(rng), UNREAD):
            database.transact(text)
        cached, plain = Pool(database, cache=CacheSettings()), Pool(database)
        questions = [found for _ in range(8) if (found := asked_of(rng, plain))]
        for _ in range(8):
            transacted(database, little(rng))
            newest = database.snapshot().t
            for asked, parsed in questions:
                for t in (newest, rng.randint(EARLY, newest)):
                    request = request_of(database, asked, database.at(t=t))
                    given, _ = outcome(cached, request, parsed)
                    expected, _ = outcome(plain, request, parsed)
                    assert given == expected, (asked.text, asked.args, t)
        cached.close()
        plain.close()


@settings(max_examples=examples(30))
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
