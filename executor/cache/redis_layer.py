"""Answers shared through Redis, which is never needed: it is slow, full, wiped or gone, and no answer differs.

A look-up has a bounded time and no retry. One that fails opens a circuit breaker: no request waits for Redis until
the background thread, which also writes, has heard from it again. Only here is redis-py imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import queue
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from itertools import islice
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from adalog.datalog.errors import invalid_argument
from adalog.executor.cache.codec import UNSIGNED, CacheEntry, NotAnEntryError, Signature, decode, encode
from adalog.executor.cache.settings import RedisSettings
from adalog.executor.cache.tally import Tally

_LOGGER: Final = logging.getLogger("adalog.cache")
# Of its own: the interpreter's is for the programs around it.
_RANDOM: Final = random.Random()

# What a request may wait for Redis in all, and Redis for one step of it.
LOOKUP_SECONDS: Final = 0.09
_STEP_SECONDS: Final = 0.05
_LOOKUPS_AT_ONCE: Final = 4
_WRITES_WAITING: Final = 64
_FIRST_PAUSE: Final = 0.25
_DELETED_AT_ONCE: Final = 500
# Of a database's identity, in the names of its entries.
_OWNER_BYTES: Final = 8
_LONGEST_PAUSE: Final = 30.0
# How much the newest measurement counts.
_NEWEST: Final = 0.2


@dataclass(frozen=True, slots=True)
class _Write:
    key: bytes
    make: Callable[[], CacheEntry]
    seconds: float
    is_current: Callable[[], bool]


@dataclass
class Cost:
    """What fetching an entry takes, as measured: a round trip, and what each byte adds to it. Seconds."""

    round_trip: float = 0.0
    per_byte: float = 0.0

    def heard(self, seconds: float) -> None:
        """Learns from a request without a payload, which took so many seconds."""
        self.round_trip += (seconds - self.round_trip) * (_NEWEST if self.round_trip else 1.0)

    def carried(self, seconds: float, size: int) -> None:
        """Learns from a request with a payload of so many bytes, which took so many seconds."""
        each = max(0.0, seconds - self.round_trip) / max(size, 1)
        self.per_byte += (each - self.per_byte) * (_NEWEST if self.per_byte else 1.0)

    def fetch(self, size: int, decoding: float) -> float:
        return self.round_trip + self.per_byte * size + decoding


class RedisLayer:
    """Look-ups and writes. Thread-safe; `close` ends its threads and connections."""

    def __init__(
        self,
        settings: RedisSettings,
        tally: Tally,
        identity: str = "",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Connects in the background. identity: of the database whose answers are kept. Raises ARG_INVALID for a
        text that is no URL."""
        self.settings = settings
        digest = hashlib.blake2b(identity.encode(), digest_size=_OWNER_BYTES).hexdigest()
        self._owner = f"{digest}:"
        self.cost = Cost()
        self._seal = UNSIGNED if settings.secret is None else Signature(settings.secret)
        self._tally = tally
        self._clock = clock
        self._client = _client(settings.url)
        self._usable = threading.Event()
        self._closed = threading.Event()
        self._is_told = False
        self._forgets = threading.Event()
        self._writes: queue.Queue[_Write | None] = queue.Queue(_WRITES_WAITING)
        self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="redis")
        self._background = threading.Thread(target=self._run, name="redis-background", daemon=True)
        self._background.start()

    def close(self) -> None:
        self._closed.set()
        self._usable.clear()
        self._wake()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._background.join()
        self._client.close()
        self._client.connection_pool.disconnect()

    @property
    def usable(self) -> bool:
        """Whether requests ask it: the circuit breaker is closed."""
        return self._usable.is_set()

    def ready(self, seconds: float) -> bool:
        return self._usable.wait(seconds)

    # Looking up

    def get(self, key: bytes) -> CacheEntry | None:
        """The entry of a key, after LOOKUP_SECONDS at most; None if there is none, or Redis is slower."""
        future = self._asked(key)
        if future is None:
            return None
        try:
            return future.result(LOOKUP_SECONDS)
        except FutureTimeoutError:
            self._give_up(future)
            return None

    async def aget(self, key: bytes) -> CacheEntry | None:
        future = self._asked(key)
        if future is None:
            return None
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._give_up(future)
            return None

    def _asked(self, key: bytes) -> Future[CacheEntry | None] | None:
        if not self.usable:
            return None
        try:
            return self._threads.submit(self._look_up, key)
        except RuntimeError:
            return None  # closed meanwhile

    def _give_up(self, future: Future[CacheEntry | None]) -> None:
        future.cancel()
        self._failed(TimeoutError("no answer in time"))

    def _look_up(self, key: bytes) -> CacheEntry | None:
        if not self.usable:
            return None
        limit = self.settings.entry_bytes
        started = self._clock()
        try:
            # GETRANGE, so that no value can be larger than an entry may be.
            data: bytes = self._client.getrange(self._name(key), 0, limit)  # type: ignore[assignment]
        except (redis.RedisError, OSError) as error:
            self._failed(error)
            return None
        seconds = self._clock() - started
        if not data:
            self.cost.heard(seconds)
            self._tally.add("redis", "miss")
            return None
        try:
            if len(data) > limit:
                raise NotAnEntryError("larger than an entry may be")
            entry = decode(key, data, self._seal)
        except NotAnEntryError:
            self._tally.add("redis", "rejected")
            return None
        self.cost.carried(seconds, len(data))
        self._tally.add("redis", "hit")
        self._tally.add("redis", "bytes read", len(data))
        return entry

    def _name(self, key: bytes) -> str:
        return f"{self.settings.prefix}{self._owner}{key.hex()}"

    # Writing, and looking whether it is back

    def put(
        self,
        key: bytes,
        make: Callable[[], CacheEntry],
        seconds: float,
        is_current: Callable[[], bool] = lambda: True,
    ) -> None:
        """Writes an entry in the background if fetching it costs less than computing it did, and if `is_current()`
        is true then: it has to be false before `forget` is called for the entry's data. Never waits."""
        if not self.usable:
            return
        try:
            self._writes.put_nowait(_Write(key, make, seconds, is_current))
        except queue.Full:
            self._tally.add("redis", "dropped")

    def flush(self) -> None:
        self._writes.join()

    def forget(self) -> None:
        """Has all entries of the database deleted in the background, once Redis answers. Never waits."""
        self._drain()
        self._forgets.set()
        self._wake()

    def _run(self) -> None:
        pause = 0.0
        while not self._closed.is_set():
            if self.usable and self._forgets.is_set():
                self._delete_all()
            elif self.usable:
                pause = _FIRST_PAUSE
                self._write_next()
            elif self._closed.wait(pause * _RANDOM.uniform(0.75, 1.25)) or self.probe():
                pause = _FIRST_PAUSE
            else:
                self._drain()
                pause = min(max(pause, _FIRST_PAUSE / 2) * 2, _LONGEST_PAUSE)
        self._drain()

    def probe(self) -> bool:
        """Asks Redis whether it answers. If it does, requests use it again."""
        started = self._clock()
        try:
            self._client.ping()
        except (redis.RedisError, OSError) as error:
            self._tell(str(error))
            return False
        self.cost.heard(self._clock() - started)
        if not self._closed.is_set():
            self._usable.set()
            self._is_told = False
            _LOGGER.info("Redis answers")
        return True

    def _failed(self, error: Exception) -> None:
        self._tally.add("redis", "error")
        # Other errors are of the key, a value of another type, or of a server that is full or read-only.
        if isinstance(error, redis.ConnectionError | redis.TimeoutError | OSError):
            self._open(str(error))

    def _open(self, why: str) -> None:
        """Opens the circuit breaker: requests do not use Redis until it answers again."""
        if self.usable:
            self._tell(why)
        self._usable.clear()
        self._client.connection_pool.disconnect(inuse_connections=False)
        self._wake()

    def _tell(self, why: str) -> None:
        """One line of the log until Redis answers again."""
        if not self._is_told and not self._closed.is_set():
            self._is_told = True
            _LOGGER.warning(
                "Redis cannot be reached, and is not asked until it answers: %s. Queries are answered without it; "
                "check that it runs, and ADALOG_REDIS_URL",
                why.rstrip("."),
            )

    def _wake(self) -> None:
        """Wakes the thread that waits for writes. With a full queue it is awake."""
        with contextlib.suppress(queue.Full):
            self._writes.put_nowait(None)

    def _drain(self) -> None:
        try:
            while True:
                self._writes.get_nowait()
                self._writes.task_done()
        except queue.Empty:
            return

    def _write_next(self) -> None:
        write = self._writes.get()
        try:
            if write is not None and self.usable:
                self._write(write)
        finally:
            self._writes.task_done()

    def _delete_all(self) -> None:
        self._forgets.clear()
        try:
            every = self._client.scan_iter(f"{_escaped(self.settings.prefix)}*", _DELETED_AT_ONCE)
            for names in batched(filter(self._is_own, every)):
                self._client.unlink(*names)
        except (redis.RedisError, OSError) as error:
            self._forgets.set()
            self._failed(error)
            self._closed.wait(_FIRST_PAUSE)

    def _is_own(self, name: bytes) -> bool:
        """Names of earlier releases have no database; their entries may be of this one."""
        rest = name.removeprefix(self.settings.prefix.encode())
        return rest.startswith(self._owner.encode()) or b":" not in rest

    def _write(self, write: _Write) -> None:
        try:
            data = encode(write.key, write.make(), self._seal)
            started = self._clock()
            decode(write.key, data, self._seal)
        except (NotAnEntryError, ValueError, TypeError, OverflowError):
            self._tally.add("redis", "not storable")
            return
        decoding = self._clock() - started
        if len(data) > self.settings.entry_bytes:
            self._tally.add("redis", "too large")
            return
        if write.seconds <= self.cost.fetch(len(data), decoding):
            self._tally.add("redis", "too cheap")
            return
        ttl = max(1, round(self.settings.ttl * _RANDOM.uniform(0.9, 1.1)))
        # Excisions until now have been forgotten. This thread forgets a later one after this write.
        if not write.is_current():
            return
        started = self._clock()
        try:
            self._client.set(self._name(write.key), data, ex=ttl)
        except (redis.RedisError, OSError) as error:
            self._failed(error)
            return
        self.cost.carried(self._clock() - started, len(data))
        self._tally.add("redis", "stored")
        self._tally.add("redis", "bytes written", len(data))


def batched(names: Iterator[bytes]) -> Iterator[list[bytes]]:
    while some := list(islice(names, _DELETED_AT_ONCE)):
        yield some


def _escaped(prefix: str) -> str:
    """The prefix as a pattern that it alone begins with."""
    return re.sub(r"([][*?\\^-])", r"\\\1", prefix)


def _client(url: str) -> redis.Redis:
    try:
        return redis.Redis.from_url(
            url,
            decode_responses=False,
            socket_timeout=_STEP_SECONDS,
            socket_connect_timeout=_STEP_SECONDS,
            retry=Retry(NoBackoff(), 0),
            health_check_interval=0,
            max_connections=_LOOKUPS_AT_ONCE + 1,
        )
    except ValueError:
        # What was given stays unsaid: there may be a password in it.
        message = "the URL of Redis cannot be read; it is like redis://localhost:6379/0"
        raise invalid_argument(message) from None
