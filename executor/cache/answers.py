"""Answers that were given on the same data, given again: from this process, then from Redis, else computed once.

A snapshot never changes, and a key says what of it was read, so entries need no invalidation. It stands before an
engine that knows nothing of it, and answers what the engine would.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.watched import watching
from adalog.executor.answer.result import PulledColumn, Result, ResultColumn
from adalog.executor.bounds.cancel import Cancel, arrived, timed_out
from adalog.executor.bounds.client import ASKING
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.meter import OverdrawnError
from adalog.executor.cache.cached_value import CachedValue, fetched_maps, fetched_rows, kept_maps, kept_rows
from adalog.executor.cache.codec import KEY_BYTES, CacheEntry
from adalog.executor.cache.flight import Flight, Flights
from adalog.executor.cache.key import CacheKey, CacheKeys, KeyedQuestion
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.cache.tally import Tally
from adalog.executor.pull.find import window
from adalog.executor.question.question import Question
from adalog.store.database import Database

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
# What went wrong for another's reasons: his deadline, his leaving, his place in the queue.
_LOST: Final = frozenset({Code.CANCELLED, Code.TIMEOUT, Code.RATE_LIMITED})
# How much larger an answer may be here than as an entry of Redis, which is compressed.
_UNFOLDED: Final = 8


class AnswerEngine(Protocol):
    """What computes answers, on the thread of whoever asks."""

    def run(self, question: Question, cancel: Cancel) -> Result:
        """The answer with its pulls."""

    def rows(self, question: Question, cancel: Cancel) -> Result:
        """The answer without its pulls."""

    def pulled(self, question: Question, result: Result, place: int, cancel: Cancel) -> PulledColumn:
        """What one pull of a question shows of the entities in those rows."""


class WorkRunner(Protocol):
    """What runs work on other threads, when there is a place; RATE_LIMITED where too many wait."""

    def submit(self, cancel: Cancel, work: Callable[[Cancel], T]) -> Future[T]:
        """The outcome, for who does not wait for it."""

    async def threaded(self, cancel: Cancel, work: Callable[[Cancel], T]) -> T:
        """The outcome; cancelling the task stops the work."""


@dataclass(frozen=True, slots=True)
class _Want:
    """A value under a key. `text`: of the query it belongs to. `compute` makes the value; `take` reads it from an
    entry of Redis, and returns None if the entry holds something else."""

    key: CacheKey
    text: str
    compute: Callable[[Cancel], CachedValue]
    take: Callable[[CacheEntry], CachedValue | None]


@dataclass(frozen=True, slots=True)
class _Had:
    """A value and how it came. `computed`: now, not earlier. `waited`: the seconds that its computation waited for
    a place, in the queue `lane`."""

    kept: CachedValue
    computed: bool
    waited: float = 0.0
    lane: str | None = None


class ResultCache:
    """Thread-safe; `close` ends its threads and connections."""

    def __init__(
        self, database: Database, settings: CacheSettings, engine: AnswerEngine, turns: WorkRunner
    ) -> None:
        """Raises ARG_INVALID for a Redis URL that is none."""
        self.settings = settings
        self.tally = Tally()
        self.memory: LruCache[bytes, CachedValue] = LruCache(settings.memory_bytes, settings.entry_bytes)
        self.redis = None if settings.redis is None else _connected(settings.redis, self.tally)
        self._engine = engine
        self._turns = turns
        self._database = database
        self._keys = CacheKeys(database, LruCache(settings.shape_bytes))
        self._flights: Flights[_Had] = Flights()
        self._looking: set[asyncio.Task[None]] = set()
        self._marks: OrderedDict[int, str] = OrderedDict()

    def close(self) -> None:
        if self.redis is not None:
            self.redis.close()

    # For a thread

    def run(self, question: Question, cancel: Cancel) -> Result:
        """Returns the answer, computed on this thread if nobody has it."""
        asked = self._keys.asked(question)
        if asked is None:
            self.tally.add("query", "bypass")
            return self._engine.run(question, cancel)
        had = self._obtain(self._rows(asked), cancel)
        result = _shown(asked, had.kept)
        all_had = [had]
        pulled: dict[int, PulledColumn] = {}
        for place in asked.pulls:
            want = self._pull(asked, result, place)
            had = self._obtain(want, cancel)
            all_had.append(had)
            pulled[place] = _pulled(asked, result, had.kept)
        return self._answer(asked, result, pulled, all_had)

    def _obtain(self, want: _Want, cancel: Cancel) -> _Had:
        kept = self._remembered(want)
        while kept is None:
            flight, first = self._flights.join(want.key.name, want.text, cancel.deadline)
            if first:
                return self._lead_here(flight, want, cancel)
            self.tally.add("query", "shared")
            try:
                return replace(self._watched(flight, cancel), computed=False)
            except AdalogError as error:
                cancel.check()
                _raise_unless_lost(flight, want, error)
        return _Had(kept, computed=False)

    def _lead_here(self, flight: Flight[_Had], want: _Want, cancel: Cancel) -> _Had:
        try:
            kept, computed = self.memory.get(want.key.name), False
            if kept is None and self.redis is not None and self.redis.usable:
                shared = self._shared(want.key)
                kept = None if shared is None else self._taken(want, self.redis.get(shared))
            if kept is None:
                kept, computed = self._computed(want, cancel), True
            had = _Had(kept, computed)
        except BaseException as error:
            self._flights.land(flight, error)
            raise
        self._flights.land(flight, had)
        return had

    def _watched(self, flight: Flight[_Had], cancel: Cancel) -> _Had:
        while True:
            try:
                return flight.landed.result(_WATCH_SECONDS)
            except FutureTimeoutError:
                try:
                    cancel.check()
                except AdalogError:
                    self._flights.leave(flight)
                    raise

    # For an event loop

    async def arun(self, question: Question) -> Result:
        """Returns the answer, computed when it is its turn if nobody has it. If one waiter is cancelled, the
        computation continues for the others."""
        asked = self._keys.asked(question) if self._keys.knows(question) else await self._asked_elsewhere(question)
        if asked is None:
            self.tally.add("query", "bypass")
            return await self._turns.threaded(
                Cancel(question.deadline), lambda cancel: self._engine.run(question, cancel)
            )
        had = await self._aobtain(self._rows(asked), question.deadline)
        result = _shown(asked, had.kept)
        all_had = [had]
        pulled: dict[int, PulledColumn] = {}
        for place in asked.pulls:
            start, stop = window(question.request.shown, len(result))
            if stop - start <= _INLINE_ENTITIES:
                want = self._pull(asked, result, place)
            else:
                want = await asyncio.to_thread(self._pull, asked, result, place)
            had = await self._aobtain(want, question.deadline)
            all_had.append(had)
            pulled[place] = _pulled(asked, result, had.kept)
        return self._answer(asked, result, pulled, all_had)

    def _asked_elsewhere(self, question: Question) -> Awaitable[KeyedQuestion | None]:
        def asked() -> KeyedQuestion | None:
            with watching(Cancel(question.deadline).check):
                return self._keys.asked(question)

        return asyncio.to_thread(asked)

    async def _aobtain(self, want: _Want, deadline: float | None) -> _Had:
        kept = self._remembered(want)
        while kept is None:
            flight, first = self._flights.join(want.key.name, want.text, deadline)
            if first:
                self._send_off(flight, want)
            else:
                self.tally.add("query", "shared")
                if flight.cancel.turn is not None:
                    flight.cancel.turn.share(ASKING.get())
            await self._until_landed(flight, deadline)
            failure = flight.landed.exception()
            if failure is None:
                had = flight.landed.result()
                return had if first else replace(had, computed=False)
            if first or not isinstance(failure, AdalogError):
                raise failure
            if deadline is not None and time.monotonic() > deadline:
                raise timed_out()
            # The failure is not raised here: whoever empties the frames that it came through would end this one,
            # which may go on.
            _raise_unless_lost(flight, want, failure)
        return _Had(kept, computed=False)

    def _send_off(self, flight: Flight[_Had], want: _Want) -> None:
        """Starts a computation that belongs to no request: it goes on if the request that began it is cancelled."""
        if self.redis is None or not self.redis.usable:
            self._compute_elsewhere(flight, want)
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._look_and_compute(self.redis, flight, want))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)
        flight.abandon = lambda: None if loop.is_closed() else _ignored(loop.call_soon_threadsafe(task.cancel))

    async def _look_and_compute(self, redis: RedisLayer, flight: Flight[_Had], want: _Want) -> None:
        try:
            shared = self._known_shared(want.key)
            if shared is None:
                # The thread goes on, and the next one has what it finds.
                with suppress(TimeoutError):
                    shared = await asyncio.wait_for(asyncio.to_thread(self._shared, want.key), _MARK_SECONDS)
            kept = None if shared is None else self._taken(want, await redis.aget(shared))
        except asyncio.CancelledError:
            self._flights.land(flight, AdalogError(Code.CANCELLED, "the query was cancelled"))
            raise
        except Exception as error:  # noqa: BLE001 - goes to those who wait
            self._flights.land(flight, error)
            return
        if kept is None:
            self._compute_elsewhere(flight, want)
        else:
            self._flights.land(flight, _Had(kept, computed=False))

    def _compute_elsewhere(self, flight: Flight[_Had], want: _Want) -> None:
        def fly(cancel: Cancel) -> _Had:
            # It may have landed between the look into memory and the beginning of this flight.
            kept, computed = self.memory.get(want.key.name), False
            if kept is None:
                kept, computed = self._computed(want, cancel), True
            return _Had(kept, computed, cancel.waited, cancel.lane)

        def ended(future: Future[_Had]) -> None:
            if future.cancelled():
                self._flights.land(flight, AdalogError(Code.CANCELLED, "the query was cancelled"))
            else:
                failure = future.exception()
                self._flights.land(flight, future.result() if failure is None else failure)

        try:
            future = self._turns.submit(flight.cancel, fly)
        except AdalogError as error:
            self._flights.land(flight, error)
            return
        flight.abandon = None
        future.add_done_callback(ended)

    async def _until_landed(self, flight: Flight[_Had], deadline: float | None) -> None:
        try:
            there = await arrived(flight.landed, deadline)
        except asyncio.CancelledError:
            self._flights.leave(flight)
            raise
        if not there:
            self._flights.leave(flight)
            raise timed_out()

    # Either way

    def _remembered(self, want: _Want) -> CachedValue | None:
        kept = self.memory.get(want.key.name)
        self.tally.add("process", "miss" if kept is None else "hit")
        return kept

    def _taken(self, want: _Want, entry: CacheEntry | None) -> CachedValue | None:
        """Reads an entry of Redis, and keeps its value in this process, too."""
        kept = None if entry is None else want.take(entry)
        if kept is not None:
            self.memory.put(want.key.name, kept, kept.nbytes)
        return kept

    def _computed(self, want: _Want, cancel: Cancel) -> CachedValue:
        started = time.perf_counter()
        kept = want.compute(cancel)
        seconds = time.perf_counter() - started
        if not self.memory.put(want.key.name, kept, kept.nbytes):
            self.tally.add("process", "too large")
        if self.redis is not None and self.redis.usable:
            if kept.nbytes > self.redis.settings.entry_bytes * _UNFOLDED:
                self.tally.add("redis", "too large")
            else:
                shared = self._known_shared(want.key)
                if shared is not None:
                    self.redis.put(shared, kept.entry, seconds)
        return kept

    def _rows(self, asked: KeyedQuestion) -> _Want:
        question = asked.question
        codes = question.snapshot.codes
        return _Want(
            asked.key,
            question.text,
            lambda cancel: kept_rows(self._engine.rows(question, cancel), codes),
            lambda entry: fetched_rows(entry, len(question.query.find.elements), codes),
        )

    def _pull(self, asked: KeyedQuestion, result: Result, place: int) -> _Want:
        question = asked.question
        start, stop = window(question.request.shown, len(result))

        def compute(cancel: Cancel) -> CachedValue:
            return kept_maps(self._engine.pulled(question, result, place, cancel).maps)

        key = self._keys.pull_key(asked, result, place)
        if key is None:
            compute(Cancel())
            raise AssertionError("a pull that has no key is refused")
        return _Want(key, question.text, compute, lambda entry: fetched_maps(entry, stop - start))

    def _answer(
        self, asked: KeyedQuestion, result: Result, pulled: Mapping[int, PulledColumn], all_had: Sequence[_Had]
    ) -> Result:
        computed = any(had.computed for had in all_had)
        self.tally.add("query", "miss" if computed else "hit")
        result.pulled = pulled
        result.question = asked.question
        result.cache = "MISS" if computed else "HIT"
        result.elapsed_ms = (time.perf_counter() - asked.question.started) * 1000
        result.waited_ms = sum(had.waited for had in all_had) * 1000
        # HEAVY comes before LIGHT.
        result.lane = min((had.lane for had in all_had if had.lane is not None), default=None)
        return result

    # The names that all gateways over one database have in common

    def _shared(self, key: CacheKey) -> bytes | None:
        """None where the log would have to say, and cannot be read: this answer is kept here alone."""
        mark = self._marks.get(key.newest)
        if mark is None:
            try:
                mark = self._marks[key.newest] = self._database.history_mark(key.newest)
            except AdalogError:
                return None
            while len(self._marks) > _MARKS_KEPT:
                self._marks.popitem(last=False)
        return hashlib.blake2b(mark.encode(), key=key.name, digest_size=KEY_BYTES).digest()

    def _known_shared(self, key: CacheKey) -> bytes | None:
        return self._shared(key) if key.newest in self._marks else None


def _connected(settings: RedisSettings, tally: Tally) -> RedisLayer:
    # Where there is no Redis, nobody waits for redis-py to be imported.
    from adalog.executor.cache.redis_layer import RedisLayer

    return RedisLayer(settings, tally)


def _shown(asked: KeyedQuestion, kept: CachedValue) -> Result:
    """The rows as this query asks for them: under its names, in its shape, at its basis."""
    assert kept.result is not None
    find = asked.question.query.find
    columns = tuple(
        ResultColumn(element.label, "map" if isinstance(element, ast.FindPull) else column.type)
        for element, column in zip(find.elements, kept.result.columns, strict=True)
    )
    shape = "maps" if find.keys else find.shape
    return kept.result.under(columns, shape, find.keys, asked.question.snapshot.t)


def _pulled(asked: KeyedQuestion, result: Result, kept: CachedValue) -> PulledColumn:
    return PulledColumn(window(asked.question.request.shown, len(result))[0], kept.maps)


def _raise_unless_lost(flight: Flight[_Had], want: _Want, error: AdalogError) -> None:
    """Raises the refusal of a shared computation, if this request would get the same. If the refusal speaks of
    another text, or only the request that computed was cancelled, late or without units, this request computes the
    value again."""
    if error.code not in _LOST and not isinstance(error, OverdrawnError) and flight.text == want.text:
        raise AdalogError(
            error.code, error.message, error.position, retryable=error.retryable, retry_after=error.retry_after
        ) from error


def _ignored(_: Any) -> None:
    return None
