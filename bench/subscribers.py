"""Many subscribers in a process of their own, which does as little as it can for each event.

`python -m bench.subscribers PORT`: the first line of its input is a JSON object with a query and, for each socket,
a list of the arguments of its subscriptions. It says `ready` when all have their first rows. From then on it only
notes when which transaction's events arrive, until the next line names a file for these notes.

A subscriber of a server on the same two cores takes from it what it measures: events are read with one system call
for each socket, and only looked through for their transaction.
"""

from __future__ import annotations

import asyncio
import json
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.gateway.process import descriptors
from bench.followers import Socket

_DELTA: Final = re.compile(rb'"kind":"DELTA","basisT":"?(\d+)[",]')
# Longer than what the pattern matches.
_REST: Final = 64
# JSON is ASCII here, and a ping has no payload.
_PING: Final = b"\x89\x00"
_PONG: Final = b"\x8a\x80\x00\x00\x00\x00"


class Subscribers:
    """The process, for the one that runs it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def arrivals(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Of each event its transaction and when it arrived, by the clock of `perf_counter`. Ends the process."""
        assert self._process.stdin is not None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "arrivals.npy"
            self._process.stdin.write(f"{path}\n")
            self._process.stdin.flush()
            if self._process.wait(60):
                raise RuntimeError("the subscribers failed")
            noted = np.load(path)
        return noted[0].astype(np.int64), noted[1]


@contextmanager
def subscribers(port: int, query: str, args: Sequence[Sequence[list[Any]]]) -> Iterator[Subscribers]:
    """Subscribers of a query, of which each socket has one for each list of arguments in its part of `args`."""
    command = [sys.executable, "-m", "bench.subscribers", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"query": query, "args": args}) + "\n")
            process.stdin.flush()
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the subscribers got no first rows")
            yield Subscribers(process)
        finally:
            process.kill()


async def _subscribed(port: int, query: str, args: Sequence[Sequence[list[Any]]]) -> list[socket.socket]:
    """The connections, of which the event loop reads no more."""
    connected = [await Socket.connect(port, lambda *_: None) for _ in args]

    async def subscribe(one: Socket, each: Sequence[list[Any]]) -> None:
        for number, given in enumerate(each):
            await one.subscribe(str(number), query, given)

    await asyncio.gather(*map(subscribe, connected, args))
    return [one.released() for one in connected]


def main(port: int) -> None:
    descriptors.allow_many()
    asked = json.loads(sys.stdin.readline())
    loop = asyncio.new_event_loop()
    connections = loop.run_until_complete(_subscribed(port, asked["query"], asked["args"]))
    waiting = select.epoll()
    by_number = {each.fileno(): each for each in connections}
    for number in by_number:
        waiting.register(number, select.EPOLLIN)
    waiting.register(sys.stdin.fileno(), select.EPOLLIN)
    print("ready", flush=True)
    transactions, times, rests = array("q"), array("d"), dict.fromkeys(by_number, b"")
    own = sys.stdin.fileno()
    while True:
        for number, _ in waiting.poll():
            if number == own:
                noted = np.array([np.asarray(transactions, np.float64), np.asarray(times)])
                np.save(sys.stdin.readline().strip(), noted)
                return
            data = by_number[number].recv(1 << 16)
            now = time.perf_counter()
            if not data:
                raise SystemExit("the server closed a connection")
            if rests[number]:
                data = rests[number] + data
            end = 0
            for found in _DELTA.finditer(data):
                transactions.append(int(found[1]))
                times.append(now)
                end = found.end()
            # A whole message ends so, and none may be in two parts.
            rests[number] = b"" if data.endswith(b"}}}}") else data[max(end, len(data) - _REST) :]
            if _PING in data:
                by_number[number].send(_PONG)


if __name__ == "__main__":
    main(int(sys.argv[1]))
