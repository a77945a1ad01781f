"""Real servers that are absent, slow, wiped, poisoned, full and restarted: no answer differs, and nobody waits.

Time is not measured here: what a request may wait for is bounded by one constant, and the tests see that nobody
waits for more than that, once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.cache import answers, redis_layer
from adalog.executor.cache.answers import ResultCache
from adalog.executor.cache.codec import KEY_BYTES, CacheEntry, encode, stored
from adalog.executor.cache.redis_layer import LOOKUP_SECONDS, Cost, RedisLayer
from adalog.executor.cache.settings import CacheSettings, RedisSettings
from adalog.executor.cache.tally import Tally
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.redis_servers import SERVERS, RedisServer, running
from tests.waiting import until

SCHEMA = """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :s :db/valueType :db.type/string}
             {:db/ident :k :db/valueType :db.type/keyword} {:db/ident :of :db/valueType :db.type/ref}]"""
DATA = '[{:n 1 :s "a"} {:n 2 :s "b"} {:n 3 :s "c" :k :x :of "four"} {:db/id "four" :n 4}]'
QUERIES = [
    "[:find ?n ?s :where [?e :n ?n] [?e :s ?s] :order-by [?n]]",
    "[:find (count ?e) . :where [?e :n ?n]]",
    "[:find [?x ...] :where [_ :n ?n] [(str \"made \" ?n) ?x] :order-by [?x]]",
    "[:find ?x . :where [_ :n 1] [(tuple 1 2.0 :a nil) ?x]]",
    "[:find ?n (pull ?e [:n :s {:of [:n]}]) :where [?e :n ?n] :order-by [?n]]",
    "[:find ?x . :where [_ :nothing ?x]]",
]  # fmt: skip


def fill(database: Database, data: str = DATA) -> None:
    database.transact(SCHEMA)
    database.transact(data)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    with running(request.param) as started:
        yield started


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        fill(opened)
        yield opened


@pytest.fixture(autouse=True)
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetching costs nothing, so that everything is worth being kept: these queries are quick."""
    monkeypatch.setattr(Cost, "fetch", lambda *_: 0.0)


class Gateway:
    """A pool with nothing but Redis, and one without a cache to compare with."""

    def __init__(self, database: Database, url: str, *, ready: bool = True, **redis: Any) -> None:
        self.plain = Pool(database)
        self.pool = Pool(database, cache=CacheSettings(0, 0, RedisSettings(url, **redis)))
        assert isinstance(self.pool.cache, ResultCache)
        assert self.pool.cache.redis is not None
        self.cache, self.redis = self.pool.cache, self.pool.cache.redis
        if ready:
            assert self.redis.ready(20)

    def count(self, outcome: str) -> int:
        return self.cache.tally.all()["redis", outcome]

    def ask(self, query: str) -> str:
        """How the answer came about; it is right."""
        result = self.pool.run(QueryRequest(query))
        expected = self.plain.run(QueryRequest(query))
        assert result.rows() == expected.rows()
        assert result.columns == expected.columns
        assert (result.shape, result.keys, result.t) == (expected.shape, expected.keys, expected.t)
        return result.cache

    def ask_all(self) -> set[str]:
        return {self.ask(query) for query in QUERIES}

    def close(self) -> None:
        self.pool.close()
        self.plain.close()


@contextmanager
def gateway(database: Database, url: str, **more: Any) -> Iterator[Gateway]:
    opened = Gateway(database, url, **more)
    try:
        yield opened
    finally:
        opened.close()


def filled(server: RedisServer) -> list[bytes]:
    with server.client() as client:
        return sorted(client.keys("*"))  # type: ignore[arg-type,type-var]


@pytest.fixture
def wiped(server: RedisServer) -> RedisServer:
    with server.client() as client:
        client.flushall()
    return server


@pytest.fixture
def patient(wiped: RedisServer, monkeypatch: pytest.MonkeyPatch) -> RedisServer:
    """An empty server for which a lookup waits as long as a busy machine takes."""
    monkeypatch.setattr(redis_layer, "LOOKUP_SECONDS", 10.0)
    monkeypatch.setattr(redis_layer, "_STEP_SECONDS", 5.0)
    return wiped


def test_one_gateway_computes_for_all(patient: RedisServer, database: Database) -> None:
    with gateway(database, patient.url) as first, gateway(database, patient.url) as second:
        assert first.ask_all() == {"MISS"}
        first.redis.flush()
        assert second.ask_all() == {"HIT"}
        assert second.count("hit") >= len(QUERIES)
        assert second.count("error") == 0
        assert second.count("bytes read") > 0


def test_entries_go_on_after_a_restart_of_the_gateway(patient: RedisServer, tmp_path: Path) -> None:
    outcomes = []
    for _ in range(2):
        with Database.open(str(tmp_path / "data")) as database:
            if not database.snapshot().t:
                fill(database)
            with gateway(database, patient.url) as opened:
                outcomes.append(opened.ask_all())
                opened.redis.flush()
    assert outcomes == [{"MISS"}, {"HIT"}]


def test_two_databases_share_a_server_and_no_answers(wiped: RedisServer, database: Database) -> None:
    with Database.open(":memory:") as other:
        fill(other, DATA.replace(":n 1", ":n 11"))
        with gateway(database, wiped.url) as first, gateway(other, wiped.url) as second:
            first.ask_all()
            first.redis.flush()
            assert second.ask_all() == {"MISS"}


def test_a_copy_that_went_its_own_way(patient: RedisServer, tmp_path: Path) -> None:
    """As a backup that was restored does: the same identity, the same numbers, other transactions."""
    import shutil

    with Database.open(str(tmp_path / "data")) as database:
        fill(database)
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    for folder, number in (("data", 5), ("copy", 6)):
        with Database.open(str(tmp_path / folder)) as database, gateway(database, patient.url) as opened:
            database.transact(f"[{{:n {number}}}]")
            assert opened.ask(QUERIES[1]) == "MISS"
            assert opened.ask("[:find ?n :where [_ :n ?n] :order-by [?n]]") == "MISS"
            # What was not touched since is the same there and here.
            assert opened.ask("[:find ?k :where [_ :k ?k]]") == ("MISS" if folder == "data" else "HIT")
            opened.redis.flush()


def test_past_and_present_share_an_entry(patient: RedisServer, database: Database) -> None:
    with gateway(database, patient.url) as opened:
        then = database.snapshot()
        database.transact("[[:db/add 900 :k :y]]")
        assert opened.ask(QUERIES[0]) == "MISS"
        opened.redis.flush()
        assert opened.pool.run(QueryRequest(QUERIES[0], snapshot=then)).cache == "HIT"


# What may go wrong


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("url", ["redis://127.0.0.1:{port}/0", "unix:///nowhere/socket"])
def test_there_is_none(database: Database, url: str) -> None:
    with gateway(database, url.format(port=free_port()), ready=False) as opened:
        assert not opened.redis.probe()
        assert opened.ask_all() == {"MISS"}
        # Nobody waited for it: it was never asked.
        assert opened.count("error") == opened.count("miss") == 0


def test_the_url_is_none() -> None:
    with pytest.raises(AdalogError) as caught:
        RedisLayer(RedisSettings("redis://:secret@host:port/0"), Tally())
    assert caught.value.code is Code.ARG_INVALID
    assert "secret" not in str(caught.value)


def test_it_takes_the_connection_and_says_nothing(database: Database) -> None:
    """A listener that nobody serves: connections succeed, answers never come."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        with gateway(database, url, ready=False) as opened:
            assert not opened.redis.probe()
            assert opened.ask_all() == {"MISS"}


def test_it_says_what_is_no_protocol(database: Database) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(100)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with gateway(database, f"redis://127.0.0.1:{listener.getsockname()[1]}/0", ready=False) as opened:
            assert not opened.redis.probe()
            assert opened.ask_all() == {"MISS"}
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)


def test_it_is_frozen_and_thawed(wiped: RedisServer, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway(database, wiped.url) as opened:
        opened.ask_all()
        opened.redis.flush()
        monkeypatch.setattr(redis_layer, "_FIRST_PAUSE", 3600.0)
        wiped.freeze()
        try:
            assert opened.ask_all() == {"MISS"}
            # One request found out, and no other waited: the first look-up opened the circuit breaker.
            assert opened.count("error") == 1
            assert not opened.redis.usable
            before = opened.count("error")
            assert opened.ask_all() == {"MISS"}
            assert opened.count("error") == before
            assert not opened.redis.probe()
        finally:
            wiped.thaw()
        until(opened.redis.probe)
        assert opened.ask_all() == {"HIT"}


def test_many_find_it_frozen_at_once(wiped: RedisServer, database: Database) -> None:
    with gateway(database, wiped.url) as opened:
        wiped.freeze()
        try:

            async def ask() -> list[Result]:
                texts = [f"[:find ?n :where [?e :n ?n] [(> ?n {i})]]" for i in range(50)]
                return await asyncio.gather(*(opened.pool.arun(QueryRequest(text)) for text in texts))

            results = asyncio.run(ask())
        finally:
            wiped.thaw()
        assert {result.cache for result in results} == {"MISS"}
        assert [sorted(result.rows()) for result in results[:4]] == [
            [(1,), (2,), (3,), (4,)], [(2,), (3,), (4,)], [(3,), (4,)], [(4,)]
        ]  # fmt: skip


def test_what_a_request_waits_for_is_bounded() -> None:
    """Whatever redis-py does within a step, whoever asked goes on after LOOKUP_SECONDS."""
    assert LOOKUP_SECONDS < 0.1
    layer = RedisLayer(RedisSettings("unix:///nowhere/socket"), Tally())
    never = threading.Event()
    try:
        layer._usable.set()
        layer._look_up = lambda key: never.wait(60)  # type: ignore[assignment,method-assign,return-value]
        assert layer.get(bytes(KEY_BYTES)) is None
        assert not layer.usable
        layer._usable.set()
        assert asyncio.run(layer.aget(bytes(KEY_BYTES))) is None
        assert not layer.usable
        # With the circuit breaker open nothing is begun at all.
        assert layer.get(bytes(KEY_BYTES)) is None
    finally:
        never.set()
        layer.close()


def test_it_is_wiped(patient: RedisServer, database: Database) -> None:
    with gateway(database, patient.url) as opened:
        opened.ask_all()
        opened.redis.flush()
        assert opened.ask_all() == {"HIT"}
        with patient.client() as client:
            client.flushall()
        assert opened.ask_all() == {"MISS"}
        assert opened.count("error") == 0


def test_it_is_poisoned_with_random_bytes(patient: RedisServer, database: Database) -> None:
    rng = Random(7)
    with gateway(database, patient.url) as opened:
        opened.ask_all()
        opened.redis.flush()
        with patient.client() as client:
            for key in filled(patient):
                whole = bytearray(client.get(key))  # type: ignore[arg-type]
                kind = rng.randrange(3)
                if kind == 0:
                    whole = bytearray(rng.randbytes(len(whole)))
                elif kind == 1:
                    whole[rng.randrange(len(whole))] ^= 0xFF
                else:
                    del whole[rng.randrange(len(whole)) :]
                client.set(key, bytes(whole))
        assert opened.ask_all() == {"MISS"}
        assert opened.count("rejected") == len(QUERIES) + 1 - opened.count("hit")
        opened.redis.flush()
        # What was computed again took its place.
        assert opened.ask_all() == {"HIT"}


def test_it_is_poisoned_with_the_entries_of_others(wiped: RedisServer, database: Database) -> None:
    with gateway(database, wiped.url) as opened:
        opened.ask_all()
        opened.redis.flush()
        keys = filled(wiped)
        with wiped.client() as client:
            values = [client.get(key) for key in keys]
            for key, value in zip(keys, values[1:] + values[:1], strict=True):
                client.set(key, value)  # type: ignore[arg-type]
        assert opened.ask_all() == {"MISS"}
        assert opened.count("rejected") > 0


def test_it_is_poisoned_with_other_types_and_sizes(wiped: RedisServer, database: Database) -> None:
    with gateway(database, wiped.url, entry_bytes=100_000) as opened:
        opened.ask_all()
        opened.redis.flush()
        with wiped.client() as client:
            for place, key in enumerate(filled(wiped)):
                client.delete(key)
                if place % 2:
                    client.rpush(key, "a", "list")
                else:
                    client.set(key, b"x" * 300_000)
        assert opened.ask_all() == {"MISS"}
        assert opened.redis.usable


def test_an_entry_of_another_shape_with_a_checksum_that_fits(wiped: RedisServer, database: Database) -> None:
    with gateway(database, wiped.url) as opened:
        opened.ask_all()
        opened.redis.flush()
        with wiped.client() as client:
            for name in filled(wiped):
                key = bytes.fromhex(name.rpartition(b":")[2].decode())
                client.set(name, encode(key, CacheEntry((stored("long", [1]),) * 7)))
        assert opened.ask_all() == {"MISS"}


def test_entries_that_a_secret_signs(patient: RedisServer, database: Database) -> None:
    secret = "a secret of thirty-two characters"
    with (
        gateway(database, patient.url) as unsigned,
        gateway(database, patient.url, secret=secret) as first,
        gateway(database, patient.url, secret=secret) as second,
        gateway(database, patient.url, secret=secret + "!") as other,
    ):
        unsigned.ask_all()
        unsigned.redis.flush()
        # What was not signed is as if it were not there, and is replaced.
        assert first.ask_all() == {"MISS"}
        first.redis.flush()
        assert second.ask_all() == {"HIT"}
        for without in (other, unsigned):
            assert without.ask_all() == {"MISS"}
            assert without.count("rejected") > 0
        assert secret not in repr(first.redis.settings)


@pytest.mark.parametrize("kind", SERVERS)
def test_it_is_full(database: Database, kind: str) -> None:
    options = ("--maxmemory", "1", "--maxmemory-policy", "noeviction")
    with running(kind, *options) as full, gateway(database, full.url) as opened:
        for _ in range(2):
            assert opened.ask_all() == {"MISS"}
            opened.redis.flush()
        assert opened.count("stored") == 0
        assert opened.count("error") > 0
        assert opened.redis.usable


@pytest.mark.parametrize("kind", SERVERS)
def test_it_wants_a_password(database: Database, kind: str) -> None:
    with running(kind) as server:
        with server.client() as client:
            client.config_set("requirepass", "secret")
        with gateway(database, server.url, ready=False) as opened:
            assert not opened.redis.probe()
            assert opened.ask_all() == {"MISS"}
        with gateway(database, server.url.replace("unix://", "unix://:secret@")) as opened:
            opened.ask_all()
            opened.redis.flush()
            assert opened.ask_all() == {"HIT"}


@pytest.mark.parametrize("kind", SERVERS)
def test_it_is_restarted_mid_storm(database: Database, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_layer, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(redis_layer, "_LONGEST_PAUSE", 0.02)
    with running(kind) as server, gateway(database, server.url) as opened:
        expected = {query: opened.plain.run(QueryRequest(query)).rows() for query in QUERIES}
        wrong: list[Any] = []
        stop = threading.Event()

        def storm(seed: int) -> None:
            rng = Random(seed)
            while not stop.is_set():
                query = rng.choice(QUERIES)
                found = opened.pool.run(QueryRequest(query), Cancel()).rows()
                if found != expected[query]:
                    wrong.append((query, found))

        threads = [threading.Thread(target=storm, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            hits = opened.count("hit")
            while opened.count("hit") < hits + 50:
                opened.redis.ready(0.01)
            server.stop()
            misses = opened.cache.tally.all()["query", "miss"]
            while opened.redis.usable or opened.cache.tally.all()["query", "miss"] < misses + 50:
                stop.wait(0.001)
            server.start()
            assert opened.redis.ready(20)
        stop.set()
        for thread in threads:
            thread.join(20)
        assert not wrong
        with server.client() as client:
            # Ours, and the one that asks.
            assert len(client.client_list()) <= redis_layer._LOOKUPS_AT_ONCE + 2


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_leaks_connections(wiped: RedisServer, database: Database) -> None:
    with gateway(database, wiped.url) as opened:
        opened.ask_all()
        opened.redis.flush()
    before, threads = descriptors(), threading.active_count()
    for _ in range(5):
        with gateway(database, wiped.url) as opened:
            opened.ask_all()
            wiped.freeze()
            try:
                opened.ask("[:find ?x . :in $ :where [_ :n ?x] [(< ?x 2)]]")
            finally:
                wiped.thaw()
    assert descriptors() <= before
    assert threading.active_count() <= threads


# What is worth being kept


def test_only_what_takes_longer_to_compute_than_to_fetch(
    wiped: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    tally = Tally()
    layer = RedisLayer(RedisSettings(wiped.url), tally)
    try:
        assert layer.ready(20)
        layer.cost = Cost(round_trip=1.0, per_byte=0.0)
        layer.put(bytes(KEY_BYTES), lambda: CacheEntry((stored("long", [1]),)), 0.9)
        layer.flush()
        assert (tally.all()["redis", "too cheap"], tally.all()["redis", "stored"]) == (1, 0)
        layer.put(bytes(KEY_BYTES), lambda: CacheEntry((stored("long", [1]),)), 5.0)
        layer.flush()
        assert (tally.all()["redis", "too cheap"], tally.all()["redis", "stored"]) == (1, 1)
        assert layer.get(bytes(KEY_BYTES)) is not None
        with wiped.client() as client:
            (name,) = filled(wiped)
            ttl = client.ttl(name)
        assert 0.89 * 86_400 <= ttl <= 1.11 * 86_400  # type: ignore[operator]
    finally:
        layer.close()


def test_the_cost_is_what_was_measured() -> None:
    cost = Cost()
    cost.heard(0.001)
    assert cost.round_trip == 0.001
    cost.carried(0.003, 2_000)
    assert cost.per_byte == pytest.approx(1e-6)
    for _ in range(100):
        cost.heard(0.002)
    assert cost.round_trip == pytest.approx(0.002, rel=0.01)


def test_entries_above_the_limit_are_not_stored(wiped: RedisServer, database: Database) -> None:
    with gateway(database, wiped.url, entry_bytes=2_000) as opened:
        numbers = tuple(range(3_000))
        opened.pool.run(QueryRequest("[:find ?x :in $ [?x ...]]", [numbers]))
        opened.redis.flush()
        assert opened.count("too large") == 1
        assert filled(wiped) == []


def test_a_server_that_cannot_be_reached_is_one_line_of_the_log() -> None:
    class Lines(logging.Handler):
        def __init__(self) -> None:
            super().__init__(logging.WARNING)
            self.said, self.found = threading.Event(), list[str]()

        def emit(self, record: logging.LogRecord) -> None:
            self.found.append(record.getMessage())
            self.said.set()

    lines, logger = Lines(), logging.getLogger("adalog.cache")
    logger.addHandler(lines)
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        layer = RedisLayer(RedisSettings(f"redis://:swordfish@127.0.0.1:{port}/0"), Tally())
        assert lines.said.wait(20)
        assert not layer.probe()
        layer.close()
    finally:
        logger.removeHandler(lines)
    (line,) = lines.found
    assert "Redis cannot be reached" in line
    assert f"127.0.0.1:{port}" in line
    assert "ADALOG_REDIS_URL" in line
    assert "swordfish" not in line


def test_nothing_is_left_in_redis_from_before_an_excision(patient: RedisServer, database: Database) -> None:
    with (
        gateway(database, patient.url) as first,
        Database.open(":memory:") as other,
        gateway(other, patient.url) as of_other,
    ):
        fill(other)
        of_other.ask_all()
        of_other.redis.flush()
        others = filled(patient)
        assert first.ask_all() == {"MISS"}
        first.redis.flush()
        with patient.client() as client:
            client.set("somebody's", b"own")
            # As earlier releases named an entry.
            client.set(f"adalog:{bytes(KEY_BYTES).hex()}", b"an entry")
        assert len(filled(patient)) > len(others) + len(QUERIES)
        database.transact("[{:db/excise :k}]")
        while filled(patient) != [*others, b"somebody's"]:
            assert first.redis.usable
        assert of_other.ask_all() == {"HIT"}
        assert first.ask_all() == {"MISS"}
        first.redis.flush()
        assert first.ask_all() == {"HIT"}


def test_an_answer_that_was_computed_before_an_excision_is_not_kept_after_it(
    patient: RedisServer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any point: while it is computed, before it is kept here, and before it is written to Redis."""
    with gateway(database, patient.url) as opened:
        opened.cache.memory = LruCache(1 << 20)
        for name in ("is_committed", "put", "encode"):
            excised = [False]

            def after(whole: Callable[..., Any], excised: list[bool] = excised) -> Callable[..., Any]:
                def call(*args: Any, **more: Any) -> Any:
                    found = whole(*args, **more)
                    if not excised[0]:
                        excised[0] = True
                        database.transact("[{:db/excise :k}]")
                    return found

                return call

            with monkeypatch.context() as patched:
                match name:
                    case "put":
                        patched.setattr(opened.cache.memory, "put", after(opened.cache.memory.put))
                    case "encode":
                        patched.setattr(redis_layer, "encode", after(redis_layer.encode))
                    case _:
                        patched.setattr(answers, "is_committed", after(answers.is_committed))
                opened.pool.run(QueryRequest(QUERIES[0]))
                opened.redis.flush()
            assert excised == [True]
            assert len(opened.cache.memory) == 0, name
            while filled(patient):
                assert opened.redis.usable, name
            opened.redis.flush()
            assert filled(patient) == [], name
