"""Two writers on one PostgreSQL log whose groups alternate: the log holds each transaction once, both writers
chained the checksums that it has, and a database that replays it has their state."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from itertools import pairwise
from random import Random
from typing import Any

import psycopg
import pytest

from adalog.datalog.errors import AdalogError
from adalog.store.database import Database
from adalog.store.log import server_statements
from adalog.store.log.reader import END
from adalog.store.values.datom import TxReport
from adalog.store.writer import in_doubt, log_follower
from tests.postgres_servers import PostgresServer
from tests.several.log.logs import caught_up, facts, server_opening, state, together

COUNTERS = range(1, 6)
NASTY = 'it\'s \\ "ä" %s {1,NULL} 🐘'
Sent = dict[str, TxReport]


def rows(postgres: PostgresServer, address: str) -> list[tuple[Any, ...]]:
    return postgres.ask_at(address, "SELECT t, instant, payload, seal, checksum FROM transactions ORDER BY t")


def replayed(database: Database) -> list[tuple[Any, ...]]:
    found = database.log._checked(0, END, 0)
    return [(entry.t, entry.instant, entry.payload, entry.seal, checksum) for entry, checksum in found]


def check_logs(postgres: PostgresServer, address: str, databases: list[Database]) -> None:
    """That the log is without a gap, and the same for the server and for both writers."""
    last = caught_up(databases)
    held = rows(postgres, address)
    assert [t for t, *_ in held] == list(range(1, last + 1))
    for database in databases:
        assert replayed(database) == held
        assert (database.log.t, database.log.checksum) == (last, held[-1][-1])
        # What each writer chained itself, as it appended or took over an entry.
        assert {t: checksum for t, *_, checksum in held} == {
            t: database.log.recent_checksum(t) for t in range(1, last + 1)
        }
    assert state(databases[0]) == state(databases[1])
    with Database.open(address) as fresh:
        assert facts(fresh.snapshot()) == facts(databases[0].snapshot())


def transactions(rng: Random, writer: int, count: int) -> dict[str, str]:
    """By idempotency key; each third key is one that the other writer sends, too."""
    made = {}
    for number in range(count):
        shared = rng.random() < 0.33
        key = f"{'both' if shared else writer}-{number}-{NASTY}"
        counter = 1 + number % len(COUNTERS)
        size = 4 if rng.random() < 0.9 else rng.randrange(3_000, 30_000)
        text = f' [:db/add "new" :text "{number}-{"x" * size}"]' if not shared else ""
        made[key] = f"[[:db.fn/inc {counter} :n]{text}]"
    return made


def send(database: Database, given: dict[str, str], rng: Random, sent: Sent) -> None:
    """Sends all in groups of random sizes, and again what may not have been applied."""
    left = list(given)
    while left:
        group, left = left[: (size := rng.choice((1, 1, 2, 7, 30)))], left[size:]
        waiting: list[tuple[str, Future[TxReport]]] = [
            (key, database.submit(given[key], idempotency_key=key)) for key in group
        ]
        for key, future in waiting:
            try:
                sent[key] = future.result(60)
            except AdalogError as error:
                if not error.retryable:
                    raise
                left.append(key)
        time.sleep(rng.choice((0, 0, 0.002)))


def disturb(address: str, rng: Random, done: threading.Event) -> None:
    """Ends a session of the log now and then, rather one that is at work."""
    with psycopg.connect(address, autocommit=True) as connection:
        while not done.wait(rng.uniform(0.001, 0.04)):
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE datname = "
                "current_database() AND pid <> pg_backend_pid() ORDER BY state = 'idle', random() LIMIT 1) AS one"
            )


@pytest.mark.parametrize("seed", range(4))
def test_groups_of_two_writers(postgres: PostgresServer, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_doubt, "_REST", 0.05)
    monkeypatch.setattr(log_follower, "_PAUSE", (0.01, 0.1))
    rng, is_disturbed = Random(seed), seed % 2 == 1
    if seed >= 2:
        # So that a group's entries are written by several arrays.
        monkeypatch.setattr(server_statements, "_ARRAY_BYTES", 500)
    address = postgres.new_database()
    with together(server_opening(address), 2) as databases:
        databases[0].transact(f"[{' '.join(f'[:db/add {n} :n 0]' for n in COUNTERS)}]")
        caught_up(databases)
        given = [transactions(Random(f"{seed}/{writer}"), writer, 250) for writer in range(2)]
        sent: list[Sent] = [{}, {}]
        threads = [
            threading.Thread(target=send, args=(*each, Random(rng.random()), own))
            for each, own in zip(zip(databases, given, strict=True), sent, strict=True)
        ]
        done = threading.Event()
        disturbing = threading.Thread(target=disturb, args=(address, Random(seed), done))
        for thread in threads:
            thread.start()
        if is_disturbed:
            disturbing.start()
        for thread in threads:
            thread.join(120)
        done.set()
        if is_disturbed:
            disturbing.join(30)
        assert [set(own) for own in sent] == [set(own) for own in given], "all was answered"
        by_key: dict[str, set[int]] = {}
        for own in sent:
            for key, report in own.items():
                by_key.setdefault(key, set()).add(report.t)
        assert all(len(places) == 1 for places in by_key.values()), "a key is applied once"
        assert len({t for places in by_key.values() for t in places}) == len(by_key)
        check_logs(postgres, address, databases)
        failures = sum(sum(database.log.failures.values()) for database in databases)
        assert (failures > 0) == is_disturbed
        writers = [key[0] for key in sorted(by_key, key=lambda key: min(by_key[key])) if key[0] in "01"]
        assert sum(a != b for a, b in pairwise(writers)) > 1, "they took turns"
        assert databases[0].snapshot().t == 1 + len(by_key)
        values = {each.e: each.v for each in databases[1].snapshot().datoms("AEVT") if str(each.a) == ":n"}
        wanted = dict.fromkeys(COUNTERS, 0)
        for key in by_key:
            wanted[1 + int(key.split("-")[1]) % len(COUNTERS)] += 1
        assert values == wanted
