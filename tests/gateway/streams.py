"""Subscriptions made by hand, in place of the hub's: what the protocols do with them is seen one by one."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
import pytest

from adalog.datalog.errors import AdalogError
from adalog.gateway.connections.wire import Wire
from adalog.schema.documents.operations import OperationRequest, Operations
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.errors import describe
from tests.gateway.bounds import bounded
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served

SECONDS = 20.0
LIVE = 'subscription { live(query: "[:find ?n :where [_ :person/name ?n]]") { kind basisT rows added } }'


class Message(NamedTuple):
    payload: bytes
    resume: str


class Stream:
    """One subscription. `taken`: what was delivered; `refused`: how often there was no room."""

    def __init__(self, resume: str | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.resume = resume
        self.closed = threading.Event()
        self.taken = 0
        self.refused = 0
        self.waiting: deque[Message] = deque()
        self.listening = False
        self.over: tuple[AdalogError | None] | None = None

    def listen(self, deliver: Callable[[Any], int], ended: Callable[[AdalogError | None], None]) -> None:
        self.deliver, self.ended, self.listening = deliver, ended, True
        self.pump()

    def pump(self) -> None:
        while self.listening and self.waiting and not self.closed.is_set():
            if not self.deliver((self.waiting[0],)):
                self.refused += 1
                return
            self.taken += 1
            self.waiting.popleft()
        if self.listening and self.over is not None and not self.closed.is_set():
            self.ended(*self.over)

    def close(self) -> None:
        self.closed.set()

    def end(self, error: AdalogError | None) -> None:
        self.over = (error,)
        self.pump()

    def told(self, message: Message) -> None:
        self.waiting.append(message)
        self.pump()


class Hub:
    """What stands in for the real one. `failure`: what subscribing is refused with."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.failure: AdalogError | None = None
        self._told = 0
        self._changed = threading.Condition()

    async def subscribe(self, asked: OperationRequest, resume: str | None = None) -> Stream:
        if self.failure is not None:
            raise RefusedError([describe(self.failure)])
        stream = Stream(resume)
        with self._changed:
            self.streams.append(stream)
            self._changed.notify_all()
        return stream

    def expect(self, count: int) -> list[Stream]:
        """The streams, once there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.streams) >= count, SECONDS), len(self.streams)
        return self.streams

    def tell(self, data: Any = None, *, to: Stream | None = None) -> str:
        """An event to all who follow; its token."""
        self._told += 1
        event = {"kind": "DELTA", "basisT": self._told} if data is None else data
        message = Message(orjson.dumps({"data": {"live": event}}), f"token {self._told}")
        for stream in [to] if to else self.streams:
            stream.loop.call_soon_threadsafe(stream.told, message)
        return message.resume

    def end(self, error: AdalogError | None = None) -> None:
        """The end of all streams."""
        for stream in self.streams:
            stream.loop.call_soon_threadsafe(stream.end, error)


@dataclass
class Live:
    """A served gateway whose subscriptions are made by hand."""

    hub: Hub
    opened: Gateway
    address: str

    @property
    def wire(self) -> Wire:
        wire: Wire = self.opened.app.state.wire
        return wire

    @property
    def socket_address(self) -> str:
        return self.address.replace("http://", "ws://") + "/graphql"


@contextlib.contextmanager
def live(**limits: Any) -> Iterator[Live]:
    with (
        pytest.MonkeyPatch.context() as patch,
        gateway(settings := bounded(patch, **limits), SCHEMA, FAMILY) as opened,
    ):
        hub = Hub()
        operations: Operations = opened.app.state.answering.operations
        operations.subscribe_at_once = lambda *_: None  # type: ignore[method-assign]
        operations.subscribe = hub.subscribe  # type: ignore[method-assign,assignment]
        with served(opened.app, settings) as address:
            yield Live(hub, opened, address)
