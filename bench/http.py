"""What a request costs: a bound two-clause query beside an empty resolver, durable transactions beside SQLite."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow.parquet as pq

from bench import folder, server
from bench.debian import PACKAGES
from bench.line import Line
from bench.load import Report
from bench.peers import sqlite

_QUERY: Final = "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]"
_EMPTY: Final = '{"query":"{ empty }"}'
_ROUNDS: Final = 3
_WRITERS: Final = 64
_WRITES_A_SECOND: Final = 800.0


def queries(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Rounds of adalog and the empty resolver in turn, both servers up all the while; medians of the rounds."""
    requests = 1_000 if quick else 4_000
    names = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()[:: max(1, 60_000 // requests)]
    bodies = [server.q(_QUERY, name) for name in names[:requests]]
    ours: dict[int, list[Report]] = {1: [], 16: []}
    theirs: dict[int, list[Report]] = {1: [], 16: []}
    with _both() as (port, peer):
        for clients in (1, 16):
            for number in range(_ROUNDS + 1):
                mine = server.load(port, clients, bodies)
                other = server.load(peer, clients, [_EMPTY], len(bodies))
                assert '"rows":[["' in mine.answer, f"no row in {mine.answer}"
                if number:
                    ours[clients].append(mine)
                    theirs[clients].append(other)
                say(f"    clients {clients:2}: {_said(mine)}; empty {_said(other)}")
    return [
        Line(
            "http-1", "bound two-clause query over HTTP, 1 client: p50", "ms",
            _p50(ours[1]), "empty Strawberry resolver", _p50(theirs[1]), bar=3.0,
        ),
        Line(
            "http-16", "bound two-clause query over HTTP, 16 clients: throughput", "1/s",
            _per_second(ours[16]), "empty Strawberry resolver", _per_second(theirs[16]),
            bar=0.5, more=True,
        ),
    ]  # fmt: skip


def transactions(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Single-datom transactions, each answered after its fsync. Raises AssertionError when one is missing after."""
    writes = 2_000 if quick else 8_000
    bodies = [server.transact(f"[{{:count/n {i}}}]") for i in range(writes)]
    schema = "[{:db/ident :count/n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]"
    rates, latencies, sqlites = [], [], []
    for _ in range(_ROUNDS):
        port = server.free_port()
        with folder.empty() as data, server.adalog(data, port, ADALOG_SPARK="off") as process:
            server.first_answer(process, port, server.transact(schema))
            report = server.load(port, _WRITERS, bodies)
            kept = server.ask(port, server.q("[:find (count ?n) . :where [_ :count/n ?n]]"))["q"]["rows"]
            assert kept == [[writes]], f"of {writes} transactions {kept} are there"
        rates.append(report.per_second)
        latencies.append(report.p50)
        sqlites.append(sqlite.inserts_a_second(writes // 4))
        say(f"    adalog {report.per_second:,.0f}/s, p50 {report.p50:.1f} ms; SQLite {sqlites[-1]:,.0f}/s")
    rate = statistics.median(rates)
    note = f"p50 {statistics.median(latencies):.1f} ms"
    title = "durable single-datom transactions over HTTP, 64 clients"
    return [
        Line("transactions", title, "1/s", rate, "", None, bar=_WRITES_A_SECOND, more=True, note=note),
        Line("transactions", title, "1/s", rate, "SQLite, an fsync each, 1 client", statistics.median(sqlites)),
    ]


@contextmanager
def _both() -> Iterator[tuple[int, int]]:
    """Both servers' ports."""
    port, peer = server.free_port(), server.free_port()
    with (
        folder.with_sample() as data,
        server.adalog(data, port, **server.UNCACHED) as adalog,
        server.strawberry(peer) as empty,
    ):
        server.first_answer(adalog, port, server.q(_QUERY, "bash"))
        server.first_answer(empty, peer, _EMPTY)
        yield port, peer


def _said(report: Report) -> str:
    return f"{report.p50:.2f} ms, {report.per_second:,.0f}/s"


def _p50(reports: list[Report]) -> float:
    return statistics.median(report.p50 for report in reports)


def _per_second(reports: list[Report]) -> float:
    return statistics.median(report.per_second for report in reports)
