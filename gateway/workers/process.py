"""One worker as the supervisor has it: the process, the channel to it, and what it last said of itself."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import adalog.gateway
from adalog.gateway.settings.config import Settings
from adalog.gateway.workers import channel
from adalog.gateway.workers.board import Board

# The same code as here, whatever lies in the folder that the server was started from.
_PROGRAM: Final = (
    "import sys; home = sys.argv[1]; sys.path[:0] = [] if home in sys.path else [home]; "
    "from adalog.gateway.worker import main; main(*map(int, sys.argv[2:]))"
)
_HOME: Final = str(Path(adalog.gateway.__file__).absolute().parents[2])


class Process:
    """Starts at once. Raises OSError where no process can be started."""

    def __init__(self, settings: Settings, number: int, board: Board, folder: int | None, *, alone: bool) -> None:
        """settings: of one worker. folder: the descriptor by which the folder is locked. alone: no other process
        has it open yet."""
        self.channel, self._theirs = channel.pair()
        given = [self._theirs.fileno(), board.descriptor, *([] if folder is None else [folder])]
        try:
            # A group of its own: what is typed at a terminal is for the supervisor to hear, and to pass on.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, _HOME, *map(str, (os.getpid(), number, int(alone), *given))],
                stdin=subprocess.PIPE,
                pass_fds=given,
                process_group=0,
            )
        except BaseException:
            self.channel.close()
            self._theirs.close()
            raise
        assert self._process.stdin is not None
        # Not as arguments nor in the environment, where others may read them.
        with suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(pickle.dumps(settings))
        self._unread = b""
        self.started = self.heard = time.monotonic()
        self.has_spoken = self.is_up = self.is_ready = self.killed = False
        # Connections: open there, taken by it and given to it in all, and when it was last given one.
        self.open = self.taken = self.given = 0
        self.given_at = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def load(self) -> int:
        """Connections that it has, or is about to have."""
        return self.open + self.given - self.taken

    def said(self) -> Iterator[str]:
        while True:
            try:
                piece = self.channel.recv(65536)
            except OSError:
                return
            if not piece:
                return
            *lines, self._unread = (self._unread + piece).split(b"\n")
            yield from (line.decode() for line in lines)

    def left(self) -> list[int]:
        """Of a process that has ended, the connections that it was given and had not taken."""
        found = []
        while (taken := channel.take(self._theirs)) is not None and taken[0]:
            what, _, descriptor = taken
            if descriptor is None:
                continue
            if what == channel.CLIENT:
                found.append(descriptor)
            else:
                os.close(descriptor)
        return found

    def ended(self) -> int | None:
        """Its exit code, or below zero the signal that ended it; None while it runs."""
        return self._process.poll()

    def drain(self) -> None:
        """Has it say that it is not ready, and answer everything. One that serves nothing yet is left alone."""
        channel.give(self.channel, channel.DRAIN, None)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.killed = True
        self._process.kill()

    def wait(self) -> None:
        self._process.wait()

    def close(self) -> None:
        self.channel.close()
        self._theirs.close()
