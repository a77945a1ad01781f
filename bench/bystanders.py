"""A light query beside heavy ones, over HTTP: how long it waits, and what the heavy ones lose by it.

Light clients and heavy ones send their next request as soon as the last is answered. Everything is computed:
nothing is kept, and Spark is off.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Final

import pyarrow.parquet as pq

from bench import folder, server
from bench.debian import PACKAGES
from bench.line import Line
from bench.load import Report

_LIGHT: Final = "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]"
_JOIN: Final = (
    "[:find (count ?a) . :with ?b ?c ?d :where [?a :package/depends ?b] [?b :package/depends ?c]"
    " [?a :package/depends ?d] [?d :package/depends ?c] [?a :package/size ?s] [(< {least} ?s)]]"
)
_CLOSURE: Final = (
    "[:find (count ?b) . :in $ [?start ...] :where [?a :package/name ?start] (needs ?a ?b)"
    " :rules [[(needs ?a ?b) [?a :package/depends ?b]] [(needs ?a ?c) (needs ?a ?b) [?b :package/depends ?c]]]]"
)
_STARTS: Final = 8_000
_CLIENTS: Final = 4
_SECONDS_ALONE: Final = 12.0
_BAR: Final = 10.0
_KEPT: Final = 0.8

Say = Callable[[str], None]


@dataclass
class _Crowd:
    """Clients that ask heavy queries until they are told to stop; how many were answered, and when."""

    port: int
    bodies: Sequence[str]
    clients: int
    answered: list[float] = field(default_factory=list)
    refused: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> _Crowd:
        self.threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(self.clients)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, number: int) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        bodies = self.bodies[number % len(self.bodies) :] + self.bodies[: number % len(self.bodies)]
        while True:
            for body in bodies:
                if self.stop.is_set():
                    return
                answer = json.loads(server.said(connection, body))
                # Requests of several fields count as so many.
                done = sum(each is not None for each in (answer.get("data") or {}).values())
                self.refused += bool(answer.get("errors"))
                self.answered += [time.perf_counter()] * done


def beside(quick: bool, say: Say) -> list[Line]:
    """p99 of a light query alone and beside each crowd, and the rate of the crowd with and without it."""
    requests = 500 if quick else 3_000
    names: list[str] = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()
    light = [server.q(_LIGHT, name) for name in names[:: len(names) // requests]][:requests]
    joins = [server.q(_JOIN.format(least=least)) for least in range(100_000, 100_008)]
    closures = [server.q(_CLOSURE, names[n :: len(names) // _STARTS]) for n in range(16)]
    crowds = {
        "4 joins": (joins, 4),
        "16 closures": (closures, 16),
        "50 heavy ones queued": (joins + closures, 52),
        "a request of 30 heavy fields": ([_many(joins, 30)], 1),
    }
    lines: list[Line] = []
    with _gateway() as port:
        server.load(port, _CLIENTS, light, 1)
        alone = [server.load(port, _CLIENTS, light, 1) for _ in range(3)]
        p99 = statistics.median(report.p99 for report in alone)
        say(f"    alone: {_said(alone[0])}")
        for name, (bodies, clients) in crowds.items():
            rate = _rate(port, bodies, clients, 3.0 if quick else _SECONDS_ALONE)
            with _Crowd(port, bodies, clients) as crowd:
                _until_busy(crowd)
                began, before = time.perf_counter(), len(crowd.answered)
                report = server.load(port, _CLIENTS, light, 1)
                while time.perf_counter() - began < (3.0 if quick else _SECONDS_ALONE):
                    again = server.load(port, _CLIENTS, light, 1)
                    report = again if again.p99 > report.p99 else report
                meanwhile = (len(crowd.answered) - before) / (time.perf_counter() - began)
            say(f"    beside {name}: {_said(report)} ({report.p99 / p99:.1f} x alone)")
            say(f"    these: {meanwhile:.2f}/s, alone {rate:.2f}/s; refused {crowd.refused}")
            lines += [
                Line("beside", f"a light query, 4 clients, beside {name}: p99", "ms",
                     report.p99, "alone", p99, bar=_BAR),
                Line("beside", f"{name}, beside 4 light clients: rate", "1/s",
                     meanwhile, "alone", rate, bar=_KEPT, more=True),
            ]  # fmt: skip
    return lines


def _rate(port: int, bodies: Sequence[str], clients: int, seconds: float) -> float:
    with _Crowd(port, bodies, clients) as crowd:
        _until_busy(crowd)
        began, before = time.perf_counter(), len(crowd.answered)
        time.sleep(seconds)
        return (len(crowd.answered) - before) / (time.perf_counter() - began)


def _until_busy(crowd: _Crowd) -> None:
    """Until each has had time to ask."""
    until = time.perf_counter() + 20
    while not crowd.answered and time.perf_counter() < until:
        time.sleep(0.05)


def _many(bodies: Sequence[str], count: int) -> str:
    """One request for the rows of so many queries."""
    queries = [json.loads(bodies[n % len(bodies)])["variables"]["query"] for n in range(count)]
    fields = " ".join(f"f{n}: q(query: $q{n}) {{ rows }}" for n in range(count))
    names = ", ".join(f"$q{n}: EDN!" for n in range(count))
    variables = {f"q{n}": query for n, query in enumerate(queries)}
    return json.dumps({"query": f"query ({names}) {{ {fields} }}", "variables": variables})


@contextmanager
def _gateway() -> Iterator[int]:
    port = server.free_port()
    with folder.with_sample() as data, server.adalog(data, port, **server.UNCACHED) as process:
        server.first_answer(process, port, server.q(_LIGHT, "bash"))
        yield port


def _said(report: Report) -> str:
    return f"p50 {report.p50:.1f} ms, p99 {report.p99:.1f} ms, {report.per_second:,.0f}/s"
