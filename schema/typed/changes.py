"""Subscribers of `schemaChanged`: each is told the present surface, and every new one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import orjson

from adalog.datalog.errors import invalid_argument, unavailable
from adalog.executor.bounds.cancel import stopping
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.event import EventKind, Message, StreamPosition
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.schema.writing.longs import write_long

_MOST: Final = 10_000
_SETTINGS: Final = LiveSettings()


Seen = tuple[int, int]


@dataclass(eq=False, slots=True)
class _Viewing:
    """seen: gives the version and the t of what it sees. told: the version that it knows."""

    seen: Callable[[], Seen]
    told: int = -1


class SchemaChanges:
    """The subscribers, as the hub of their subscriptions. Thread-safe but for the methods of a hub, which the event
    loops of the subscribers call. Viewers to whom policies may show a part are told when that part is another
    one."""

    def __init__(self) -> None:
        self._members: dict[Subscription, tuple[asyncio.AbstractEventLoop, str]] = {}
        self._viewers: dict[Subscription, _Viewing] = {}
        self._lock = threading.Lock()
        self._is_over = False

    def subscribe(self, now: Callable[[], int], alias: str, resume: str | None) -> Subscription:
        """A subscription, in the event loop of its reader. now: gives the t of the present surface, which a client
        that resumes after it is not told again. Raises ARG_INVALID, BACKEND_UNAVAILABLE."""
        if resume is not None and (not resume.isdecimal() or len(resume) > 18):
            raise invalid_argument("the last event's id is not the number of a transaction")
        subscription = Subscription(self, _SETTINGS, None)
        with self._lock:
            if self._is_over:
                raise stopping()
            if len(self._members) >= _MOST:
                raise unavailable(f"{_MOST:,} subscriptions to the schema are open; try again later")
            self._members[subscription] = asyncio.get_running_loop(), alias
        # A surface that is new by now is told to members.
        t = now()
        if resume is None or int(resume) != t:
            subscription.filled((_message(alias, t),), None, behind=False)
        return subscription

    def subscribe_viewer(self, seen: Callable[[], Seen], alias: str, resume: str | None) -> Subscription:
        """The same for a viewer to whom policies show a part. seen: gives (the version, the t) of its surface; on
        any thread. A client that resumes after this version is not told again."""
        if resume is not None and not resume.isdecimal():
            raise invalid_argument("the last event's id is not that of a schema")
        viewing = _Viewing(seen)
        subscription = self.subscribe(lambda: 0, alias, "0")
        with self._lock:
            self._viewers[subscription] = viewing
        version, t = seen()
        viewing.told = version
        if resume != str(version):
            subscription.filled((_message(alias, t, version),), None, behind=False)
        return subscription

    @property
    def has_viewers(self) -> bool:
        return bool(self._viewers)

    def tell_viewers(self) -> None:
        """Tells those whose part is another one than they know."""
        with self._lock:
            viewers = [(each, viewing, *self._members[each]) for each, viewing in self._viewers.items()]
        for subscription, viewing, loop, alias in viewers:
            version, t = viewing.seen()
            if version != viewing.told:
                viewing.told = version
                _soon(loop, partial(subscription.filled, (_message(alias, t, version),), None, behind=False))

    def changed(self, t: int) -> None:
        """Tells all of a new surface that see everything."""
        for subscription, (loop, alias) in self._all():
            if subscription in self._viewers:
                continue
            told = partial(subscription.filled, (_message(alias, t),), None, behind=False)
            _soon(loop, told)

    def stop(self) -> None:
        """Ends all with BACKEND_UNAVAILABLE, and takes no more."""
        with self._lock:
            self._is_over = True
        for subscription, (loop, _) in self._all():
            _soon(loop, partial(subscription.end, stopping()))

    def _all(self) -> list[tuple[Subscription, tuple[asyncio.AbstractEventLoop, str]]]:
        with self._lock:
            return list(self._members.items())

    # As the hub of its subscriptions

    def wanted(self, subscription: Subscription, position: StreamPosition | None) -> None:
        """Nothing is held back."""

    def left(self, subscription: Subscription, *, closed: bool) -> None:
        with self._lock:
            self._members.pop(subscription, None)
            self._viewers.pop(subscription, None)

    def overflowed(self) -> None:
        """No mailbox is ever full."""

    def room(self, nbytes: int, *, always: bool = False) -> bool:
        return True


def _message(alias: str, t: int, name: int | None = None) -> Message:
    """name: what a client resumes after; None: t."""
    payload = orjson.dumps({"data": {alias: write_long(t)}})
    return Message(
        EventKind.TRANSACTION, StreamPosition(t), payload, len(payload), str(t if name is None else name)
    )


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        # The loop of the reader is closed.
        return
