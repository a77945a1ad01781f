"""A live query of a served adalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Protocol

from adalog.client.http.cancellable import Exchange
from adalog.client.http.protocol import Answer
from adalog.client.result import Change, Column, LiveChanges
from adalog.client.values import column_of
from adalog.datalog.errors import AdalogError, Code
from adalog.schema.writing.encoding import decode

# How long a server may be gone before a live query gives up, and the seconds before it is asked again.
_AWAY, _FIRST_WAIT, _LONGEST_WAIT = 60.0, 0.25, 8.0


class EventSource(Protocol):
    """A server."""

    def events(self, variables: Mapping[str, Any]) -> Generator[Exchange | Answer]:
        """The exchange with the server, then the events of a live query."""


class RemoteChanges(LiveChanges):
    """The events of a stream; a stream that breaks off is resumed after its last event."""

    def __init__(self, query: str, server: EventSource, variables: Mapping[str, Any]) -> None:
        super().__init__(query)
        self._server = server
        self._variables = dict(variables)
        self._exchange: Exchange | None = None
        # Held by the thread that waits for a change.
        self._reading = threading.Lock()
        self._events = self._begin()
        # The first event, so that what is wrong with the query is raised where it is asked.
        self._first: Change | None = self._received()

    def _begin(self) -> Generator[Exchange | Answer]:
        events = self._server.events(self._variables)
        exchange = next(events)
        assert isinstance(exchange, Exchange)
        self._exchange = exchange
        if self._closed.is_set():
            exchange.cancel()
        return events

    def _next(self) -> Change:
        first, self._first = self._first, None
        if first is not None:
            return first
        with self._reading:
            return self._received()

    def _received(self) -> Change:
        wait, until = _FIRST_WAIT, time.monotonic() + _AWAY
        while not self._closed.is_set():
            try:
                if self._exchange is None:
                    self._events = self._begin()
                event = next(self._events)
            except AdalogError as error:
                if self._closed.is_set():
                    break
                began = self._variables.get("resume") is not None
                if not began or error.code is not Code.BACKEND_UNAVAILABLE or time.monotonic() > until:
                    raise
                self._exchange = None
                self._closed.wait(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
                continue
            except BaseException:
                # Ctrl-C ends the stream, and the next call goes on after its last event.
                self._exchange = None
                raise
            assert isinstance(event, dict)
            self._variables |= {"resume": event["resume"], "fromT": None}
            if event["kind"] != "PROGRESS":
                return _change(event)
        raise StopIteration

    def _end(self) -> None:
        exchange = self._exchange
        if exchange is not None:
            exchange.cancel()
        # The thread that reads closes the response itself: another thread would take the socket away under it.
        if self._reading.acquire(blocking=False):
            try:
                self._events.close()
            finally:
                self._reading.release()


def _change(event: Answer) -> Change:
    columns = event["columns"]
    return Change(
        event["kind"],
        int(event["basisT"]),
        event["resume"],
        _rows(event["rows"] if event["rows"] is not None else event["added"]),
        _rows(event["retracted"]),
        None if columns is None else tuple(Column(each["name"], each["type"]) for each in columns),
        event["last"],
        event["reason"],
    )


def _rows(rows: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    return [tuple(column_of(decode(row), "any")) for row in rows or ()]
