"""A worker's end of the channel to its supervisor: lines both ways, and the connections that it is handed."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection as Line
from typing import Final

import orjson

from adalog.gateway.workers import channel
from adalog.gateway.workers.board import Board

_BEAT_SECONDS: Final = 0.5
_CALL_SECONDS: Final = 5.0
_UNSAID: Final = 65_536
# The exit code of an orphaned worker.
_ORPHANED: Final = 3

Answerer = Callable[[Line], None]
Taker = Callable[[socket.socket], None]


class SupervisorLink:
    """The worker's end of the channel. Lines may be said on any thread; what is handed over is taken on the event
    loop, from `open` to `close`."""

    def __init__(self, end: socket.socket, number: int, board: Board) -> None:
        self._end = end
        self.number = number
        self.board = board
        self.workers = board.workers
        # Answers the calls of other workers, each in a thread of its own.
        self.answer: Answerer = lambda line: line.close()
        self._saying = threading.Lock()
        self._unsaid = b""
        self._numbers = itertools.count(1)
        # By number, the calls that wait for a connection to another worker.
        self._called: dict[int, Future[Line | None]] = {}
        self._open = self._taken = 0
        self._told = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turned = True
        self._take: Taker = lambda connection: connection.close()
        self._drain: Callable[[], object] = lambda: None
        end.setblocking(False)
        threading.Thread(target=self._beat, name="adalog-beat", daemon=True).start()

    # To the supervisor

    def say(self, line: str) -> bool:
        """Says a line, whole, or not at all where the supervisor has read nothing for long; whether it will be."""
        with self._saying:
            if len(self._unsaid) > _UNSAID:
                return False
            self._unsaid += line.encode() + b"\n"
            with suppress(OSError):
                self._unsaid = self._unsaid[self._end.send(self._unsaid) :]
            return True

    def say_failed(self, message: str, code: str | None, *, retryable: bool) -> None:
        told = {"message": message, "code": code, "retryable": retryable}
        self.say(f"{channel.FAILED} {orjson.dumps(told).decode()}")

    def _beat(self) -> None:
        """Says now and then that the process runs, and once it serves, that its loop turns."""
        pause = threading.Event()
        while not pause.wait(_BEAT_SECONDS):
            loop = self._loop
            if loop is None:
                self.say(channel.BEAT)
            elif self._turned:
                self._turned = False
                self.say(channel.BEAT)
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._turn)
            # The supervisor's end is closed by nothing but its own end; where the kernel has not ended us, we do.
            if self._loop is None and self._is_orphaned():
                os._exit(_ORPHANED)

    def _turn(self) -> None:
        self._turned = True

    def _is_orphaned(self) -> bool:
        try:
            return self._end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    # Connections

    def open(self, take: Taker, drain: Callable[[], object]) -> None:
        """Has connections taken, on the running event loop. drain: called when the server stops soon."""
        self._take, self._drain, self._loop = take, drain, asyncio.get_running_loop()
        self._loop.add_reader(self._end, self._heed)
        self.say(channel.UP)

    def close(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._end)
            # The supervisor hands over nothing more, and what it did is to be answered.
            self._heed()
            self._loop = None
            self.say(channel.DOWN)

    def _heed(self) -> None:
        while (taken := channel.take(self._end)) is not None:
            what, call, descriptor = taken
            if not what:
                os._exit(_ORPHANED)
            if what == channel.CLIENT:
                self._taken += 1
                self.counted(self._open)
                # Without one there are too many open files, and the connection is lost.
                if descriptor is not None:
                    self._take(socket.socket(fileno=descriptor))
            elif what == channel.CALLED and descriptor is not None:
                thread = threading.Thread(
                    target=self.answer, args=(Line(descriptor),), name="adalog-call", daemon=True
                )
                thread.start()
            elif what == channel.DRAIN:
                self._drain()
            elif what in (channel.CALLING, channel.NOBODY):
                self._got(call, descriptor)
            elif descriptor is not None:
                os.close(descriptor)

    def counted(self, connections: int) -> None:
        """So many connections are open; said once for each turn of the loop."""
        self._open = connections
        if not self._told and self._loop is not None:
            self._told = True
            self._loop.call_soon(self._tell_count)

    def _tell_count(self) -> None:
        self._told = False
        self.say(f"{channel.COUNT} {self._open} {self._taken}")

    # Calls to other workers

    def call(self, number: int) -> Line | None:
        """A line to another worker; None where there is none now. On any thread but the event loop's."""
        answer: Future[Line | None] = Future()
        call = next(self._numbers)
        self._called[call] = answer
        try:
            if self.say(f"{channel.CALL} {call} {number}"):
                return answer.result(_CALL_SECONDS)
        except TimeoutError:
            pass
        finally:
            del self._called[call]
        return None

    def _got(self, call: int, descriptor: int | None) -> None:
        line = None if descriptor is None else Line(descriptor)
        answer = self._called.get(call)
        if answer is not None:
            answer.set_result(line)
        elif line is not None:
            line.close()
