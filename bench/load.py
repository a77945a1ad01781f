"""A closed-loop HTTP load generator of few moving parts: keep-alive connections, prebuilt requests.

Runs as a process of its own (`python -m bench.load`, requests and report as JSON on the pipes), so that what is
measured is the server and not the client.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, cast

import httptools
import numpy as np
import uvloop

_LIMIT_SECONDS: Final = 120
HEAD: Final = (
    "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
)


@dataclass(frozen=True)
class Load:
    """`clients` connections, each sending its next body as soon as the last is answered, until all bodies are sent.

    Of what is sent the first `warm` answers are not counted.
    """

    ports: Sequence[int]
    clients: int
    bodies: Sequence[str]
    warm: int = 200


@dataclass(frozen=True)
class Report:
    """Latencies in milliseconds; one of the answers, to see that it is the right one."""

    p50: float
    p99: float
    per_second: float
    answer: str


class _Client(asyncio.Protocol):
    """One connection. The parser calls `on_body` and `on_message_complete`."""

    def __init__(self, requests: Iterator[bytes], times: list[tuple[float, float]]) -> None:
        self._requests = requests
        self._times = times
        self._body = b""
        self._sent = 0.0
        self.last = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not descend from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self._times.append((self._sent, time.perf_counter()))
        if self._parser.get_status_code() != 200 or b'"errors"' in self._body:
            self._fail(f"answered {self._parser.get_status_code()}: {self._body[:500]!r}")
            return
        self.last = self._body
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the connection closed: {exc}")

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            if not self.done.done():
                self.done.set_result(None)
            self._transport.close()
            return
        self._body = b""
        self._parser = httptools.HttpResponseParser(self)
        self._sent = time.perf_counter()
        self._transport.write(request)

    def _fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))


async def _drive(load: Load) -> Report:
    encoded = [body.encode() for body in load.bodies]
    requests = iter([HEAD.format(load.ports[0], len(body)).encode() + body for body in encoded])
    times: list[tuple[float, float]] = []
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda: _Client(requests, times), "127.0.0.1", port))[1]
        for port in itertools.islice(itertools.cycle(load.ports), load.clients)
    ]
    async with asyncio.timeout(_LIMIT_SECONDS):
        await asyncio.gather(*(client.done for client in clients))
    counted = np.array(sorted(times, key=lambda pair: pair[1])[load.warm :])
    latencies = (counted[:, 1] - counted[:, 0]) * 1000
    elapsed = counted[-1, 1] - counted[0, 1]
    return Report(
        p50=float(np.percentile(latencies, 50)),
        p99=float(np.percentile(latencies, 99)),
        per_second=float((len(counted) - 1) / elapsed),
        answer=clients[0].last.decode(),
    )


def main() -> None:
    """Reads a Load, prints a Report. A body given once with `times` is sent that often."""
    given = json.load(sys.stdin)
    times = given.pop("times", 1)
    given["bodies"] = list(itertools.chain.from_iterable(itertools.repeat(given["bodies"], times)))
    print(json.dumps(asdict(uvloop.run(_drive(Load(**given))))))


if __name__ == "__main__":
    main()
