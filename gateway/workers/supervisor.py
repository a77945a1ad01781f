"""Starts the workers, hands each new connection to one of them, and starts another where one ends.

It has the port and the folder, opens no database and reads no request. One thread, the main one: the kernel ends a
worker with the thread that started it, however that one ends.
"""

from __future__ import annotations

import logging
import selectors
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

import orjson

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.process.cursor_key import cursor_key
from adalog.gateway.process.shutdown import GONE, ShutdownStep, after_signal
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.workers import channel
from adalog.gateway.workers.board import Board
from adalog.gateway.workers.dispatcher import Dispatcher
from adalog.gateway.workers.process import Process
from adalog.gateway.workers.shares import own, share_of
from adalog.gateway.workers.stopped_writer import stops_writers
from adalog.store.files.folder import Folder, is_address
from adalog.store.files.folder_check import check_folder

_LOOK_SECONDS: Final = 0.25
# One that is stopped while it has the turn to write is ended then: no other can write meanwhile.
_STOPPED_SECONDS: Final = 1.0
# A worker's event loop says twice a second that it turns. Only what stops it all for so long is taken for a hang.
SILENT_SECONDS = 15.0
# A process that has said nothing yet has so long.
_BIRTH_SECONDS: Final = 60.0
# Until the next try with a worker that ends again and again, and after how long it is a new story.
_FIRST_PAUSE, _LONGEST_PAUSE, _FORGOTTEN = 0.1, 10.0, 60.0
# So many ends in a row, before any worker has ever had all open, are enough.
_TRIES: Final = 5
# After the time that workers give themselves.
_MARGIN: Final = 0.7

_log = logging.getLogger("adalog.server")


def supervise(settings: Settings, listener: socket.socket, opened: Callable[[], None]) -> int:
    """Serves with several workers until told to stop; the exit code. opened: called when the first has all open.
    Raises AdalogError and SettingError for what no worker can start with."""
    share = share_of(settings)
    with ExitStack() as held:
        lock = None
        if not is_address(settings.data):
            check_folder(Path(settings.data))
            folder = Folder(Path(settings.data))
            held.callback(folder.close)
            folder.check_log()
            folder.announce(settings.local_address)
            # Made before several processes would make it.
            cursor_key(settings)
            lock = folder.descriptor
        supervisor = Supervisor(settings, share, listener, lock, opened)
        with supervisor.signals():
            return supervisor.run()


@dataclass
class _Seat:
    """A worker's place: the process that has it, or when the next one is to be started."""

    number: int
    process: Process | None = None
    due: float | None = None
    pause: float = _FIRST_PAUSE
    ends: int = 0


class Supervisor:
    """`run` until a signal comes."""

    def __init__(
        self,
        settings: Settings,
        share: Settings,
        listener: socket.socket,
        lock: int | None,
        opened: Callable[[], None],
    ) -> None:
        """share: the settings of each worker. lock: the descriptor by which the folder is locked."""
        self._share = share
        self._lock = lock
        # By the locks of which workers take turns at writing.
        self._index = None if is_address(settings.data) else Path(settings.data) / f"{Folder.LOG}-shm"
        self._opened = opened
        self._board = Board(settings.workers)
        self._selector = selectors.DefaultSelector()
        self._door = Dispatcher(listener, self._selector, self._up)
        self._seats = [_Seat(number) for number in range(settings.workers)]
        self._served = False
        self._failure: AdalogError | SettingError | None = None
        self._step = ShutdownStep.SERVING
        # When the drain ends; when all is over.
        self._drained: float | None = None
        self._stopping: float | None = None
        self._signals: deque[int] = deque()
        self._restarts = 0
        self._looked = time.monotonic()
        self._bell, self._ring = socket.socketpair()
        for end in (self._bell, self._ring):
            end.setblocking(False)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Takes SIGTERM, SIGINT and SIGCHLD until the end. In the main thread."""
        taken = {signal.SIGTERM: self._signalled, signal.SIGINT: self._signalled, signal.SIGCHLD: _heard}
        before = {number: signal.signal(number, handler) for number, handler in taken.items()}
        bell = signal.set_wakeup_fd(self._ring.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(bell)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def run(self) -> int:
        """Until all workers have ended; the exit code. Raises why no worker can start."""
        self._selector.register(self._bell, selectors.EVENT_READ)
        now = time.monotonic()
        # The first makes what there is to be made, a checkpoint and compiled kernels too, and answers meanwhile.
        self._seats[0].due = now
        try:
            while True:
                self._start_due()
                for key, _ in self._selector.select(_LOOK_SECONDS):
                    self._heed(key.fileobj)
                self._reap()
                self._look()
                self._door.turn()
                while self._signals:
                    number = self._signals.popleft()
                    drains = self._served and self._share.drain_seconds > 0
                    self._step = after_signal(self._step, number, drains=drains)
                    if self._step is ShutdownStep.ENDING:
                        return self._end_at_once(number)
                    if self._step is ShutdownStep.DRAINING:
                        self._drain()
                    else:
                        self._stop()
                if self._step is ShutdownStep.DRAINING and time.monotonic() > (self._drained or 0):
                    self._stop()
                if self._stopping is not None:
                    if not self._processes():
                        break
                    if time.monotonic() > self._stopping:
                        self._kill("the workers are ended without waiting for what they still do")
        finally:
            self._kill(None)
            self._selector.close()
            self._bell.close()
            self._ring.close()
        if self._failure is not None:
            raise self._failure
        return 0

    def _heed(self, source: object) -> None:
        if source is self._bell:
            with suppress(BlockingIOError):
                self._bell.recv(4096)
        elif source is self._door.listener:
            self._door.accept()
        else:
            for seat in self._seats:
                if seat.process is not None and seat.process.channel is source:
                    for said in seat.process.said():
                        self._hear(seat, seat.process, said)

    # Workers

    def _start_due(self) -> None:
        now = time.monotonic()
        for seat in self._seats:
            if seat.due is not None and now >= seat.due and self._step is ShutdownStep.SERVING:
                seat.due = None
                try:
                    settings, alone = own(self._share, seat.number), not self._processes()
                    seat.process = Process(settings, seat.number, self._board, self._lock, alone=alone)
                except OSError as error:
                    _log.error("worker %d cannot be started: %s", seat.number, error.strerror)
                    seat.due = now + _LONGEST_PAUSE
                    continue
                self._selector.register(seat.process.channel, selectors.EVENT_READ)

    def _hear(self, seat: _Seat, process: Process, said: str) -> None:
        process.heard = time.monotonic()
        process.has_spoken = True
        word, _, rest = said.partition(" ")
        if word == channel.UP:
            process.is_up = True
        elif word == channel.DOWN:
            process.is_up = False
        elif word == channel.OPENED:
            if not self._served:
                self._served = True
                self._opened()
        elif word == channel.READY:
            process.is_ready = True
            for other in self._seats:
                if other.process is None and other.due is None:
                    other.due = process.heard
            _log.info("worker %d is ready (process %d)", seat.number, process.pid)
        elif word == channel.COUNT:
            process.open, process.taken = map(int, rest.split())
        elif word == channel.CALL:
            self._connect(process, *map(int, rest.split()))
        elif word == channel.FAILED:
            self._fail(seat, rest)
        self._count()

    def _fail(self, seat: _Seat, said: str) -> None:
        """A worker says why it cannot start. At the beginning that is why nothing can."""
        told = orjson.loads(said)
        if self._served or self._stopping is not None:
            _log.error("worker %d cannot start: %s", seat.number, told["message"])
            return
        if told["code"] is None:
            self._failure = SettingError(told["message"])
        else:
            self._failure = AdalogError(Code(told["code"]), told["message"], retryable=told["retryable"])
        self._stop()

    def _reap(self) -> None:
        now = time.monotonic()
        for seat in self._seats:
            process = seat.process
            if process is None or process.ended() is None:
                continue
            for said in process.said():
                self._hear(seat, process, said)
            self._selector.unregister(process.channel)
            left = process.left()
            code = process.ended()
            process.close()
            seat.process = None
            self._board.forget(seat.number)
            self._count()
            if self._step is ShutdownStep.SERVING:
                self._restart(seat, process, code or 0, now)
            self._door.hold(left)

    def _restart(self, seat: _Seat, process: Process, code: int, now: float) -> None:
        if now - process.started > _FORGOTTEN:
            seat.pause, seat.ends = _FIRST_PAUSE, 0
        seat.ends += 1
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        if not self._served and seat.ends >= _TRIES:
            self._failure = AdalogError(
                Code.INTERNAL,
                f"the worker that is to open the database {how}, {seat.ends} times in a row; the log says more",
            )
            self._stop()
            return
        _log.error(
            "worker %d (process %d) %s; another is started in %g s", seat.number, process.pid, how, seat.pause
        )
        seat.due = now + seat.pause
        seat.pause = min(2 * seat.pause, _LONGEST_PAUSE)
        self._restarts += 1
        self._count()

    def _look(self) -> None:
        """Ends workers that have said nothing for too long."""
        now = time.monotonic()
        slept = now - self._looked > 2 * _LOOK_SECONDS + 1
        self._looked = now
        for seat in self._seats:
            process = seat.process
            if process is None:
                continue
            if slept:
                # It is this process that did not run; what they said meanwhile is still to be read.
                process.heard = now
            elif not process.killed and (why := self._overdue(process, now - process.heard)) is not None:
                _log.error(
                    "worker %d (process %d) %s for %g s and is ended",
                    seat.number, process.pid, why, now - process.heard,
                )  # fmt: skip
                process.kill()

    def _overdue(self, process: Process, silent: float) -> str | None:
        """Why a worker is to be ended that has been silent for so long: longer before its first word, when it loads
        its code."""
        if silent > max(SILENT_SECONDS, 0.0 if process.has_spoken else _BIRTH_SECONDS):
            return "has not answered"
        if silent > _STOPPED_SECONDS and self._index is not None and stops_writers(process.pid, self._index):
            return "is stopped while it has the turn to write, and has not answered"
        return None

    def _processes(self) -> list[Process]:
        return [seat.process for seat in self._seats if seat.process is not None]

    def _up(self) -> list[Process]:
        return [process for process in self._processes() if process.is_up]

    def _count(self) -> None:
        self._board.count(sum(process.is_ready for process in self._processes()), self._restarts)

    def _connect(self, caller: Process, call: int, number: int) -> None:
        """Gives two workers a line between them."""
        called = self._seats[number].process if 0 <= number < len(self._seats) else None
        if called is None or not called.is_up:
            channel.give(caller.channel, channel.NOBODY, None, call)
            return
        ours, theirs = socket.socketpair()
        with ours, theirs:
            if channel.give(called.channel, channel.CALLED, theirs.fileno()):
                channel.give(caller.channel, channel.CALLING, ours.fileno(), call)
            else:
                channel.give(caller.channel, channel.NOBODY, None, call)

    # The end

    def _drain(self) -> None:
        """Has all workers say that they are not ready, while everything is answered."""
        self._drained = time.monotonic() + self._share.drain_seconds
        for process in self._processes():
            process.drain()

    def _stop(self) -> None:
        self._step = ShutdownStep.STOPPING
        self._stopping = time.monotonic() + GONE + _MARGIN
        self._door.close()
        for seat in self._seats:
            seat.due = None
            if seat.process is not None:
                seat.process.stop()

    def _end_at_once(self, number: int) -> int:
        for process in self._processes():
            process.stop()
        until = time.monotonic() + _MARGIN
        while any(process.ended() is None for process in self._processes()):
            if time.monotonic() > until:
                break
            time.sleep(0.01)
        return 128 + number

    def _kill(self, why: str | None) -> None:
        left = [seat for seat in self._seats if seat.process is not None]
        if left and why is not None:
            _log.warning(why)
        for seat in left:
            assert seat.process is not None
            seat.process.kill()
            seat.process.wait()
            if why is None:
                seat.process.close()
                seat.process = None


def _heard(number: int, frame: FrameType | None) -> None:
    """Makes the signal one that wakes the selector."""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
