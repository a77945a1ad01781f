"""Live queries over WebSockets: from a transaction to its events, with one follower, thousands, and many queries.

The server is a process of its own, and so are many followers (`bench.subscribers`); all read the same clock.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

import numpy as np
import uvloop

from bench import folder, server
from bench.followers import Socket
from bench.line import Line
from bench.subscribers import Subscribers, subscribers

_ITEMS: Final = 20_000
_SCHEMA: Final = """[
 {:db/ident :item/value :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :item/other :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]"""
_ONE: Final = "[:find ?v :in $ ?e :where [?e :item/value ?v]]"
_SOME: Final = "[:find ?e ?v :where [?e :item/value ?v] [(< 1000000 ?v)]]"
_FIRST: Final = 1_000
# Seconds between transactions, and after each of those that are sent one by one.
_PACE: Final = 0.02
_PAUSE: Final = 0.003
_ENVIRONMENT: Final = {
    "ADALOG_SPARK": "off",
    "ADALOG_RATE_LIMIT": "0",
}

Say = Callable[[str], None]


def live(quick: bool, say: Say) -> list[Line]:
    """One follower; 10,000 with an argument each; 1,000 of one query; 500 queries."""
    return [
        *_served(say, lambda gateway: _one(gateway, 100 if quick else 1_000, say)),
        *_served(say, lambda gateway: _arguments(gateway, 1_000 if quick else 10_000, say)),
        *_served(say, lambda gateway: _crowd(gateway, 1_000, 1, 5.0 if quick else 60.0, say)),
        *_served(say, lambda gateway: _crowd(gateway, 1_000, 100, 5.0 if quick else 20.0, say)),
        *_served(say, lambda gateway: _queries(gateway, 500, say)),
    ]


def _served(say: Say, measure: Callable[[_Gateway], Any]) -> list[Line]:
    with _gateway() as gateway:
        try:
            found: list[Line] = uvloop.run(measure(gateway))
        except RuntimeError as failure:
            say(f"    {failure}")
            return [Line("live", "live", "", None, "", None, bar=0.0, note=str(failure)[:200])]
        return found


@dataclass
class _Gateway:
    process: server.Process
    port: int
    # Of each thread.
    _own: threading.local = field(default_factory=threading.local)
    arrived: dict[int, list[float]] = field(default_factory=dict)
    values: Iterator[int] = field(default_factory=lambda: iter(range(2_000_000, 1 << 40)))

    def event(self, kind: bytes, basis: int, now: float) -> None:
        if kind == b"DELTA":
            self.arrived.setdefault(basis, []).append(now)

    async def transact(self, tx: str) -> tuple[int, float, float]:
        """(t, when it was sent, the seconds until it was answered). Several at a time go by connections of their
        own."""
        return await asyncio.get_running_loop().run_in_executor(None, self._transact, tx)

    def _transact(self, tx: str) -> tuple[int, float, float]:
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        body, began = server.transact(tx), time.perf_counter()
        said = server.said(connection, body)
        took = time.perf_counter() - began
        return json.loads(said)["data"]["transact"]["t"], began, took

    async def until(self, basis: int, count: int) -> list[float]:
        """When so many events of a transaction arrived."""
        until = time.perf_counter() + 20
        while len(self.arrived.get(basis, ())) < count:
            if time.perf_counter() > until:
                raise RuntimeError(f"{len(self.arrived.get(basis, ()))} of {count} events of t = {basis} came")
            await asyncio.sleep(0.0002)
        return self.arrived[basis]

    def memory(self) -> int:
        told = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(told.partition("VmRSS:")[2].split()[0])


@contextmanager
def _gateway() -> Iterator[_Gateway]:
    port = server.free_port()
    with folder.empty() as data, server.adalog(data, port, **_ENVIRONMENT) as process:
        server.first_answer(process, port, server.q("[:find ?e . :where [?e :db/ident :db/ident]]"))
        server.until_ready(port)
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        server.answered(connection, server.transact(_SCHEMA))
        for first in range(_FIRST, _FIRST + _ITEMS, 5_000):
            forms = " ".join(f"[:db/add {e} :item/value {e}]" for e in range(first, first + 5_000))
            server.answered(connection, server.transact(f"[{forms}]"))
        try:
            yield _Gateway(process, port)
        finally:
            connection.close()


async def _one(gateway: _Gateway, rounds: int, say: Say) -> list[Line]:
    socket = await Socket.connect(gateway.port, gateway.event)
    await socket.subscribe("one", _SOME, [])
    took = []
    for n in range(rounds):
        e = _FIRST + n % _ITEMS
        t, began, _ = await gateway.transact(f"[[:db/add {e} :item/value {next(gateway.values)}]]")
        took.append((min(await gateway.until(t, 1)) - began) * 1000)
    socket.close()
    said = _percentiles(took)
    say(f"    a transaction until its event, one follower: {said}")
    title = "a transaction until its event, one follower: p50"
    return [Line("live", title, "ms", statistics.median(took), "", None, bar=5.0, note=said)]


async def _arguments(gateway: _Gateway, followers: int, say: Say) -> list[Line]:
    untouched = f"[[:db/add {_FIRST} :item/other {{}}]]"
    alone = await _transactions(gateway, untouched, 300)
    memory, began = gateway.memory(), time.perf_counter()
    arguments = [[[_FIRST + first + k] for k in range(100)] for first in range(0, followers, 100)]
    with subscribers(gateway.port, _ONE, arguments) as subscribed:
        subscribing = time.perf_counter() - began
        each = (gateway.memory() - memory) / followers
        beside = await _transactions(gateway, untouched, 300)
        sent, answered = {}, []
        computed = server.cpu_seconds(gateway.process)
        for n in range(1_000):
            e = _FIRST + (n * 7919) % followers
            t, at, took = await gateway.transact(f"[[:db/add {e} :item/value {next(gateway.values)}]]")
            sent[t] = at
            answered.append(took * 1000)
            await asyncio.sleep(_PAUSE)
        computed = (server.cpu_seconds(gateway.process) - computed) / len(sent)
        lags = await _lags(subscribed, sent, 1)
    said = f"{_percentiles(lags)}; until the answer to the transaction: {_percentiles(answered)}"
    say(f"    {followers:,} followers with arguments: subscribed in {subscribing:.1f} s, {each / 1024:.1f} KiB")
    say(
        f"    one concerned, until its event: {said}; {computed * 1e6:,.0f} us of CPU for each; none concerned"
        f" {beside:.2f} ms, without followers {alone:.2f}"
    )
    title = f"{followers:,} followers with an argument each"
    return [
        Line("live", f"{title}: a transaction that concerns one until its event, p99", "ms",
             float(np.percentile(lags, 99)), "", None, bar=3.0, note=said),
        Line("live", f"{title}: a transaction that concerns none", "ms", beside, "no followers", alone, bar=1.2),
        Line("live", f"{title}: memory of the server, each", "KiB", each / 1024, "", None, bar=30.0),
        Line("live", f"{title}: all subscribed", "s", subscribing, "", None, bar=15.0),
    ]  # fmt: skip


async def _lags(subscribed: Subscribers, sent: dict[int, float], followers: int) -> list[float]:
    """Milliseconds from sending a transaction until each of its events came to each of so many followers."""
    await asyncio.sleep(0.5)
    transactions, times = await asyncio.to_thread(subscribed.arrivals)
    pairs = zip(transactions.tolist(), times.tolist(), strict=True)
    lags = [(at - sent[t]) * 1000 for t, at in pairs if t in sent]
    if len(lags) != followers * len(sent):
        raise RuntimeError(f"{len(lags):,} events came of {followers * len(sent):,}")
    return lags


async def _crowd(gateway: _Gateway, followers: int, each: int, seconds: float, say: Say) -> list[Line]:
    """Followers of one query, so many on each connection."""
    sent: dict[int, float] = {}
    with subscribers(gateway.port, _SOME, [[[]] * each] * (followers // each)) as subscribed:
        computed = server.cpu_seconds(gateway.process)
        under_way: list[asyncio.Future[tuple[int, float, float]]] = []
        began = time.perf_counter()
        for n in range(int(seconds / _PACE)):
            await asyncio.sleep(max(0.0, began + n * _PACE - time.perf_counter()))
            tx = f"[[:db/add {_FIRST + n % _ITEMS} :item/value {next(gateway.values)}]]"
            under_way.append(asyncio.ensure_future(gateway.transact(tx)))
        sent = {t: at for t, at, _ in await asyncio.gather(*under_way)}
        rate = len(sent) / (time.perf_counter() - began)
        await asyncio.sleep(0.5)
        computed = (server.cpu_seconds(gateway.process) - computed) / (followers * len(sent))
        lags = await _lags(subscribed, sent, followers)
    said = f"{_percentiles(lags)}; {computed * 1e6:.1f} us of CPU for each event"
    title = f"{followers:,} followers of one query on {followers // each:,} connections"
    say(f"    {title}, {rate:.0f} transactions a second: {len(lags):,} events; {said}")
    return [
        Line("live", f"{title}, 50 transactions a second for {seconds:.0f} s: until the event, p99", "ms",
             float(np.percentile(lags, 99)), "", None, bar=30.0, note=f"{said}; {rate:.0f} transactions a second"),
    ]  # fmt: skip


async def _queries(gateway: _Gateway, count: int, say: Say) -> list[Line]:
    touching = f"[[:db/add {_FIRST} :item/value {{}}]]"
    for first in range(0, count, 100):
        forms = " ".join(
            f"{{:db/ident :kind{n}/value :db/valueType :db.type/long :db/cardinality :db.cardinality/one}}"
            for n in range(first, first + 100)
        )
        await gateway.transact(f"[{forms}]")
    alone = await _transactions(gateway, touching, 300)
    sockets = [await Socket.connect(gateway.port, gateway.event) for _ in range(10)]
    for n in range(count - 1):
        query = f"[:find ?e ?v ?w :where [?e :kind{n}/value ?v] [?e :kind{(n + 1) % count}/value ?w] [(< {n} ?v)]]"
        await sockets[n % 10].subscribe(f"{n}", query, [])
    await sockets[0].subscribe("touched", _SOME, [])
    beside = await _transactions(gateway, touching, 300)
    for socket in sockets:
        socket.close()
    say(f"    {count} live queries, a transaction that touches one: {beside:.2f} ms; without any {alone:.2f} ms")
    title = f"{count} live queries: a transaction that touches one of them"
    return [Line("live", title, "ms", beside, "no live queries", alone, bar=1.5)]


async def _transactions(gateway: _Gateway, tx: str, rounds: int) -> float:
    """p50 of so many, one after the other, in milliseconds. `{}` in the text: a new value."""
    took = [(await gateway.transact(tx.format(next(gateway.values))))[2] * 1000 for _ in range(rounds)]
    return statistics.median(took[rounds // 10 :])


def _percentiles(took: Sequence[float]) -> str:
    p50, p99 = np.percentile(took, (50, 99))
    return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, worst {max(took):.2f} ms"
