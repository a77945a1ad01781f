"""Answers that were given on the same data, given again: from this process, then from Redis, else computed once.

A snapshot never changes, and a key says what of it was read, so entries need no invalidation. It stands before an
engine that knows nothing of it, and answers what the engine would.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.extras import require
from adalog.datalog.watched import watching
from adalog.executor.answer.result import PulledColumn, Result, ResultColumn
from adalog.executor.bounds.cancel import Cancel, CancelledByAdminError, arrived, timed_out
from adalog.executor.bounds.client import ASKING
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.meter import OverdrawnError
from adalog.executor.cache.cached_value import CachedValue, fetched_maps, fetched_rows, kept_maps, kept_rows
from adalog.executor.cache.codec import KEY_BYTES, CacheEntry
from adalog.executor.cache.flight import Flight, Flights
from adalog.executor.cache.key import CacheKey, CacheKeys, KeyedQuestion, is_committed
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.cache.tally import Tally
from adalog.executor.pull.find import window
from adalog.executor.question.question import Question
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from adalog.executor.cache.redis_layer import RedisLayer
    from adalog.executor.cache.settings import RedisSettings

T = TypeVar("T")

_MARKS_KEPT: Final = 4096
# How long a query waits for the log to say under which name Redis has its answer.
_MARK_SECONDS: Final = 1.0
# Entities whose pull's key is made on the event loop.
_INLINE_ENTITIES: Final = 4_000
_WATCH_SECONDS: Final = 0.05
# Errors that concern only the request that computed: its deadline, its cancellation, its place in the queue.
_LOST: Final = frozenset({Code.CANCELLED, Code.TIMEOUT, Code.RATE_LIMITED})
# How much larger an answer may be here than as an entry of Redis, which is compressed.
_UNFOLDED: Final = 8


class AnswerEngine(Protocol):
    """Computes answers, on the calling thread."""

    def run(self, question: Question, cancel: Cancel) -> Result:
        """The answer with its pulls."""

    def rows(self, question: Question, cancel: Cancel) -> Result:
        """The answer without its pulls."""

    def pulled(self, question: Question, result: Result, place: int, cancel: Cancel) -> PulledColumn:
        """What one pull of a question shows of the entities in those rows."""


class WorkRunner(Protocol):
    """Runs work on other threads, when there is a slot; RATE_LIMITED if too many wait."""

    def submit(
        self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0, name: str | None = None
    ) -> Future[T]:
        """The outcome as a future. `name`: of work that is alike, and done at once if it was brief."""

    async def threaded(
        self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0, name: str | None = None
    ) -> T:
        """The outcome; cancelling the task stops the work."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A value under a key. `question`: what it belongs to. `compute` makes the value; `read` takes it from an entry
    of Redis, and returns None if the entry holds something else."""

    key: CacheKey
    question: Question
    compute: Callable[[Cancel], CachedValue]
    read: Callable[[CacheEntry], CachedValue | None]

    @property
    def databases(self) -> Iterable[Snapshot]:
        """What it is computed from."""
        return self.question.databases.values()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A value and how it came. `computed`: now, not earlier. `waited`: the seconds that its computation waited for
    a slot, in the queue `lane`."""

    value: CachedValue
    computed: bool
    waited: float = 0.0
    lane: str | None = None


class ResultCache:
    """Thread-safe; `close` ends its threads and connections. The algorithm is written once, in coroutines. An event
    loop awaits them with a `_LoopDriver`. A thread runs them with a `_ThreadDriver`, which never suspends, so that
    they end where they begin."""

    def __init__(
        self, database: Database, settings: CacheSettings, engine: AnswerEngine, turns: WorkRunner
    ) -> None:
        """Raises ARG_INVALID for a Redis URL that is none."""
        self.settings = settings
        self.tally = Tally()
        self.memory: LruCache[bytes, CachedValue] = LruCache(settings.memory_bytes, settings.entry_bytes)
        self.redis = None if settings.redis is None else _redis_layer(settings.redis, self.tally, database)
        self.engine = engine
        self.turns = turns
        self.keys = CacheKeys(database, LruCache(settings.shape_bytes))
        self.flights: Flights[_Outcome] = Flights()
        # Look-ups in Redis that no request owns.
        self.tasks: set[asyncio.Task[None]] = set()
        self._database = database
        # By transaction, and the last excision after it.
        self._marks: OrderedDict[tuple[int, int], str] = OrderedDict()
        database.on_excision(self.forget)

    def forget(self) -> None:
        """Lets go of all answers, here and in Redis: an excision has taken away what they may be made from."""
        self.memory.clear()
        if self.redis is not None:
            self.redis.forget()

    def close(self) -> None:
        if self.redis is not None:
            self.redis.close()

    def run(self, question: Question, cancel: Cancel) -> Result:
        """Returns the answer, computed on this thread if no cache has it."""
        return _finished(self._answer(question, _ThreadDriver(self, cancel)))

    async def arun(self, question: Question) -> Result:
        """Returns the answer, computed in its turn if no cache has it. If one waiter is cancelled, the computation
        continues for the others."""
        return await self._answer(question, _LoopDriver(self, Cancel(question.deadline, text=question.text)))

    def lacks(self, text: str, args: Sequence[Any], source: str, snapshot: Snapshot, most: int) -> CacheKey | None:
        """The key for `keep` of an answer that is computed at once. None if the cache has the answer, or if only
        `arun` can find out. The arguments are those of `CacheKeys.again`."""
        key = None if self.redis is not None else self.keys.again(text, args, source, snapshot, most)
        return None if key is None or key.name in self.memory else key

    def keep(self, key: CacheKey, result: Result, snapshot: Snapshot) -> None:
        """Keeps and counts an answer that was computed at once, of a snapshot."""
        value = kept_rows(result, snapshot.codes)
        self.tally.add("process", "miss")
        if not self._keep(key, value, (snapshot,)):
            self.tally.add("process", "too large")
        self.tally.add("query", "miss")

    # The algorithm

    async def _answer(self, question: Question, driver: _Driver) -> Result:
        keyed = await driver.keyed(question)
        if keyed is None:
            self.tally.add("query", "bypass")
            return await driver.uncached(question)
        outcomes = [await self._obtain(self._rows(keyed), driver)]
        result = _shown(keyed, outcomes[0].value)
        start, stop = window(question.request.shown, len(result))
        pulled: dict[int, PulledColumn] = {}
        for place in () if question.request.unpulled else keyed.pulls:
            lookup = await driver.prepared(stop - start, partial(self._pull, keyed, result, place))
            outcome = await self._obtain(lookup, driver)
            outcomes.append(outcome)
            pulled[place] = PulledColumn(start, outcome.value.maps)
        return self._completed(keyed, result, pulled, outcomes)

    async def _obtain(self, lookup: _Lookup, driver: _Driver) -> _Outcome:
        """A value from this process, from a computation that is under way, or from one that begins here."""
        value = self.memory.get(lookup.key.name)
        self.tally.add("process", "miss" if value is None else "hit")
        while value is None:
            flight, first = self.flights.join(lookup.key.name, lookup.question.text, driver.cancel.deadline)
            if first:
                await driver.lead(flight, lookup)
            else:
                self.tally.add("query", "shared")
                if flight.cancel.turn is not None:
                    flight.cancel.turn.share(ASKING.get())
            failure = await driver.landed(flight)
            if failure is None:
                outcome = flight.landed.result()
                return outcome if first else replace(outcome, computed=False)
            # A failure of another caller is not raised here: clearing the frames of its traceback would end this
            # coroutine, which may go on.
            if first or not isinstance(failure, AdalogError):
                raise failure
            driver.cancel.check()
            _raise_unless_lost(flight, lookup, failure)
        return _Outcome(value, computed=False)

    async def fetched(self, lookup: _Lookup, driver: _Driver) -> CachedValue | None:
        # Another flight may have landed since the first look.
        value = self.memory.get(lookup.key.name)
        if value is None and self.redis is not None and self.redis.usable:
            name = await driver.shared_name(lookup.key)
            entry = None if name is None else await driver.entry(self.redis, name)
            value = None if entry is None else lookup.read(entry)
            if value is not None:
                self._keep(lookup.key, value, lookup.databases)
        return value

    def computed(self, lookup: _Lookup, cancel: Cancel) -> _Outcome:
        """Computes a value, unless another flight has landed with it meanwhile, and keeps it if it is certain."""
        value = self.memory.get(lookup.key.name)
        if value is not None:
            return _Outcome(value, computed=False, waited=cancel.waited, lane=cancel.lane)
        started = time.perf_counter()
        value = lookup.compute(cancel)
        seconds = time.perf_counter() - started
        outcome = _Outcome(value, computed=True, waited=cancel.waited, lane=cancel.lane)
        if not lookup.question.is_certain or not self._is_current(lookup.databases):
            return outcome
        if not self._keep(lookup.key, value, lookup.databases):
            self.tally.add("process", "too large")
        if self.redis is not None and self.redis.usable:
            if value.nbytes > self.redis.settings.entry_bytes * _UNFOLDED:
                self.tally.add("redis", "too large")
            else:
                name = self.known_name(lookup.key)
                if name is not None:
                    self.redis.put(name, value.entry, seconds, lambda: self._is_current(lookup.databases))
        return outcome

    def _is_current(self, databases: Iterable[Snapshot]) -> bool:
        """Whether nothing was excised since these snapshots were taken."""
        return is_committed(databases, self._database.snapshot())

    def _keep(self, key: CacheKey, value: CachedValue, databases: Iterable[Snapshot]) -> bool:
        """Keeps a value of some databases in this process; returns False if it is too large."""
        is_kept = self.memory.put(key.name, value, value.nbytes)
        if not self._is_current(databases):
            # The cache is emptied once after an excision, perhaps before this value came.
            self.memory.remove(key.name)
        return is_kept

    def _rows(self, keyed: KeyedQuestion) -> _Lookup:
        question = keyed.question
        codes = question.snapshot.codes
        return _Lookup(
            keyed.key,
            question,
            lambda cancel: kept_rows(self.engine.rows(question, cancel), codes),
            lambda entry: fetched_rows(entry, len(question.query.find.elements), codes),
        )

    def _pull(self, keyed: KeyedQuestion, result: Result, place: int) -> _Lookup:
        question = keyed.question
        start, stop = window(question.request.shown, len(result))

        def compute(cancel: Cancel) -> CachedValue:
            return kept_maps(self.engine.pulled(question, result, place, cancel).maps)

        key = self.keys.pull_key(keyed, result, place)
        if key is None:
            compute(Cancel())
            raise AssertionError("a pull that has no key is refused")
        return _Lookup(key, question, compute, lambda entry: fetched_maps(entry, stop - start))

    def _completed(
        self, keyed: KeyedQuestion, result: Result, pulled: Mapping[int, PulledColumn], outcomes: list[_Outcome]
    ) -> Result:
        computed = any(each.computed for each in outcomes)
        self.tally.add("query", "miss" if computed else "hit")
        result.pulled = pulled
        result.question = keyed.question
        result.cache = "MISS" if computed else "HIT"
        result.elapsed_ms = (time.perf_counter() - keyed.question.started) * 1000
        result.waited_ms = sum(each.waited for each in outcomes) * 1000
        # HEAVY comes before LIGHT.
        result.lane = min((each.lane for each in outcomes if each.lane is not None), default=None)
        return result

    def shared_name(self, key: CacheKey) -> bytes | None:
        """The name that all gateways over one database give a key in Redis. None if the log has to be read for it,
        and cannot be: then only this process keeps the value."""
        mark = self._marks.get(self._moment(key))
        if mark is None:
            try:
                mark = self._marks[self._moment(key)] = self._database.history_mark(key.newest)
            except AdalogError:
                return None
            while len(self._marks) > _MARKS_KEPT:
                self._marks.popitem(last=False)
        return hashlib.blake2b(mark.encode(), key=key.name, digest_size=KEY_BYTES).digest()

    def known_name(self, key: CacheKey) -> bytes | None:
        """The same where it takes no time, else None."""
        return self.shared_name(key) if self._moment(key) in self._marks else None

    def _moment(self, key: CacheKey) -> tuple[int, int]:
        return key.newest, self._database.excised_after(key.newest)


@dataclass(frozen=True, slots=True)
class _ThreadDriver:
    """For a thread: it does every step itself, and no coroutine suspends."""

    cache: ResultCache
    cancel: Cancel

    async def keyed(self, question: Question) -> KeyedQuestion | None:
        return self.cache.keys.asked(question)

    async def uncached(self, question: Question) -> Result:
        return self.cache.engine.run(question, self.cancel)

    async def prepared(self, entities: int, prepare: Callable[[], _Lookup]) -> _Lookup:
        return prepare()

    async def shared_name(self, key: CacheKey) -> bytes | None:
        return self.cache.shared_name(key)

    async def entry(self, redis: RedisLayer, name: bytes) -> CacheEntry | None:
        return redis.get(name)

    async def lead(self, flight: Flight[_Outcome], lookup: _Lookup) -> None:
        cache = self.cache
        try:
            value = await cache.fetched(lookup, self)
            outcome = cache.computed(lookup, self.cancel) if value is None else _Outcome(value, computed=False)
        except BaseException as error:
            cache.flights.land(flight, error)
            raise
        # This thread is the one that waited, and says so itself.
        cache.flights.land(flight, replace(outcome, waited=0.0, lane=None))

    async def landed(self, flight: Flight[_Outcome]) -> BaseException | None:
        while True:
            try:
                return flight.landed.exception(_WATCH_SECONDS)
            except TimeoutError:
                try:
                    self.cancel.check()
                except AdalogError:
                    self.cache.flights.leave(flight)
                    raise


@dataclass(frozen=True, slots=True)
class _LoopDriver:
    """For an event loop: steps that take long are done on other threads. A computation belongs to no request: it
    goes on if the request that began it is cancelled."""

    cache: ResultCache
    cancel: Cancel

    async def keyed(self, question: Question) -> KeyedQuestion | None:
        keys = self.cache.keys
        if keys.knows(question):
            return keys.asked(question)

        def asked() -> KeyedQuestion | None:
            with watching(self.cancel.check):
                return keys.asked(question)

        return await asyncio.to_thread(asked)

    async def uncached(self, question: Question) -> Result:
        engine = self.cache.engine
        run = partial(engine.run, question)
        return await self.cache.turns.threaded(self.cancel, run, name=question.text)

    async def prepared(self, entities: int, prepare: Callable[[], _Lookup]) -> _Lookup:
        return prepare() if entities <= _INLINE_ENTITIES else await asyncio.to_thread(prepare)

    async def shared_name(self, key: CacheKey) -> bytes | None:
        name = self.cache.known_name(key)
        if name is None:
            # The thread goes on, and the next request has what it finds.
            with suppress(TimeoutError):
                name = await asyncio.wait_for(asyncio.to_thread(self.cache.shared_name, key), _MARK_SECONDS)
        return name

    async def entry(self, redis: RedisLayer, name: bytes) -> CacheEntry | None:
        return await redis.aget(name)

    async def lead(self, flight: Flight[_Outcome], lookup: _Lookup) -> None:
        cache = self.cache
        if cache.redis is None or not cache.redis.usable:
            self._submit(flight, lookup)
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._fetch_or_submit(flight, lookup))
        cache.tasks.add(task)
        task.add_done_callback(cache.tasks.discard)

        def abandon() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        flight.abandon = abandon

    async def _fetch_or_submit(self, flight: Flight[_Outcome], lookup: _Lookup) -> None:
        try:
            value = await self.cache.fetched(lookup, self)
        except asyncio.CancelledError:
            self.cache.flights.land(flight, flight.cancel.reason)
            raise
        except Exception as error:  # noqa: BLE001 - the waiters get it
            self.cache.flights.land(flight, error)
            return
        if value is None:
            self._submit(flight, lookup)
        else:
            self.cache.flights.land(flight, _Outcome(value, computed=False))

    def _submit(self, flight: Flight[_Outcome], lookup: _Lookup) -> None:
        cache = self.cache

        def ended(future: Future[_Outcome]) -> None:
            failure = flight.cancel.reason if future.cancelled() else future.exception()
            cache.flights.land(flight, future.result() if failure is None else failure)

        try:
            future = cache.turns.submit(
                flight.cancel, lambda cancel: cache.computed(lookup, cancel), name=lookup.question.text
            )
        except AdalogError as error:
            cache.flights.land(flight, error)
            return
        flight.abandon = None
        future.add_done_callback(ended)

    async def landed(self, flight: Flight[_Outcome]) -> BaseException | None:
        try:
            there = await arrived(flight.landed, self.cancel.deadline)
        except asyncio.CancelledError:
            self.cache.flights.leave(flight)
            raise
        if not there:
            self.cache.flights.leave(flight)
            raise timed_out()
        return flight.landed.exception()


_Driver = _ThreadDriver | _LoopDriver
"""Does what takes long where its caller can wait for it: keys, look-ups in Redis, computations, waiting."""


def _finished(coroutine: Coroutine[Any, Any, T]) -> T:
    try:
        coroutine.send(None)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    raise AssertionError("a thread's driver does not suspend")


def _redis_layer(settings: RedisSettings, tally: Tally, database: Database) -> RedisLayer:
    require("redis", "redis", "a cache in Redis")
    from adalog.executor.cache.redis_layer import RedisLayer

    return RedisLayer(settings, tally, database.log.identity)


def _shown(keyed: KeyedQuestion, kept: CachedValue) -> Result:
    """The rows as this query asks for them: under its names, in its shape, at its basis."""
    assert kept.result is not None
    find = keyed.question.query.find
    columns = tuple(
        ResultColumn(element.label, "map" if isinstance(element, ast.FindPull) else column.type)
        for element, column in zip(find.elements, kept.result.columns, strict=True)
    )
    shape, t = "maps" if find.keys else find.shape, keyed.question.snapshot.t
    return replace(kept.result, columns=columns, shape=shape, keys=find.keys, t=t)


def _raise_unless_lost(flight: Flight[_Outcome], lookup: _Lookup, error: AdalogError) -> None:
    """Raises the error of a shared computation if this request would get the same. It computes the value again if
    the error quotes another text, or if only the other request was cancelled, late or without units."""
    is_lost = error.code in _LOST and not isinstance(error, CancelledByAdminError)
    if not is_lost and not isinstance(error, OverdrawnError) and flight.text == lookup.question.text:
        raise AdalogError(
            error.code, error.message, error.position, retryable=error.retryable, retry_after=error.retry_after
        ) from error
