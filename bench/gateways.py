"""Several gateways on one PostgreSQL: durable transactions beside pgbench's inserts, and how soon one knows what
another has written."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Final

import numpy as np

from bench import server
from bench.folder import WORK
from bench.line import Line
from tests.postgres_servers import PASSWORD, PostgresServer, pgbench, running

_ROUNDS: Final = 3
_CLIENTS: Final = 64
_SECONDS: Final = 6
_SCHEMA: Final = "[{:db/ident :count/n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]"
# About what a transaction of one datom takes in the log.
_ROW: Final = f"INSERT INTO rows (payload) VALUES (decode(repeat('{'ab' * 10}', 10), 'hex'))"
_COUNT: Final = "[:find (count ?n) . :where [_ :count/n ?n]]"


def gateways(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Rounds of pgbench, of one gateway and of three in turn; medians of the rounds. Then the time from one gateway
    to another. Raises AssertionError when a transaction is missing."""
    writes = 2_000 if quick else 12_000
    inserts, ones, threes = [], [], []
    WORK.mkdir(exist_ok=True)
    with running(WORK, fsync="on") as postgres:
        for _ in range(_ROUNDS):
            inserts.append(_inserts_a_second(postgres, _SECONDS))
            ones.append(_transactions_a_second(postgres, 1, writes))
            threes.append(_transactions_a_second(postgres, 3, writes))
            say(f"    pgbench {inserts[-1]:,.0f}/s; one gateway {ones[-1]:,.0f}/s; three {threes[-1]:,.0f}/s")
        whole, after = _until_another_answers(postgres, 200 if quick else 2_000)
    own, all_three = statistics.median(ones), statistics.median(threes)
    say(f"    until another answers: p50 {whole[0]:.1f} ms, p99 {whole[1]:.1f} ms; then {after[1]:.1f} ms")
    title = "durable one-datom transactions over HTTP, 64 clients"
    return [
        Line(
            "gateways", f"{title}: one gateway on PostgreSQL", "1/s",
            own, "pgbench, single-row inserts", statistics.median(inserts), bar=0.5, more=True,
        ),
        Line("gateways-3", f"{title}: three gateways", "1/s", all_three, "one gateway", own, bar=0.9, more=True),
        Line(
            "gateways-until", "a transaction on one gateway until another answers with it: p99", "ms",
            whole[1], "", None, bar=50.0,
            note=f"p50 {whole[0]:.1f} ms; from the first one's answer p50 {after[0]:.1f} ms, p99 {after[1]:.1f} ms",
        ),
    ]  # fmt: skip


def _inserts_a_second(postgres: PostgresServer, seconds: int) -> float:
    address = postgres.new_database()
    name = address.rsplit("/", 1)[1]
    postgres.ask(name, "CREATE TABLE rows (id bigserial PRIMARY KEY, payload bytea NOT NULL)")
    script = WORK / "insert.sql"
    script.write_text(f"{_ROW};\n")
    done = subprocess.run(
        [
            pgbench(),
            *("-h", "127.0.0.1", "-p", str(postgres.port), "-U", "ada", "-n", "-M", "prepared", "-f", str(script)),
            *("-c", str(_CLIENTS), "-j", "2", "-T", str(seconds), name),
        ],
        env={**os.environ, "PGPASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    if found is None:
        raise RuntimeError(f"pgbench failed: {(done.stdout + done.stderr)[-300:]}")
    return float(found[1])


@contextmanager
def _serving(address: str, count: int) -> Iterator[list[int]]:
    """The ports of so many gateways."""
    with ExitStack() as up:
        ports = [server.free_port() for _ in range(count)]
        for port in ports:
            process = up.enter_context(server.adalog(None, port, ADALOG_DATA=address, ADALOG_SPARK="off"))
            server.first_answer(process, port, server.q("[:find ?e . :where [?e :db/ident :db/ident]]"))
        yield ports


def _transactions_a_second(postgres: PostgresServer, count: int, writes: int) -> float:
    bodies = [server.transact(f"[{{:count/n {i}}}]") for i in range(writes)]
    with _serving(postgres.new_database(), count) as ports:
        server.ask(ports[0], server.transact(_SCHEMA))
        report = server.load(ports, _CLIENTS, bodies)
        for port in ports:
            basis = {"t": writes + 1}
            kept = server.ask(port, server.q(_COUNT, basis=basis))["q"]["rows"]
            assert kept == [[writes]], f"of {writes} transactions {kept} are there"
    return report.per_second


Quantiles = tuple[float, float]


def _until_another_answers(postgres: PostgresServer, times: int) -> tuple[Quantiles, Quantiles]:
    """The median and the 99th percentile in milliseconds: from asking one gateway for a transaction, and from its
    answer, until another answers a query with it."""
    whole, after = [], []
    with _serving(postgres.new_database(), 2) as ports:
        server.ask(ports[0], server.transact(_SCHEMA))
        writer, reader = (HTTPConnection("127.0.0.1", port, timeout=30) for port in ports)
        for number in range(times):
            asked = time.perf_counter()
            t = server.answered(writer, server.transact(f"[{{:count/n {number}}}]"))["transact"]["t"]
            answered = time.perf_counter()
            found = server.answered(reader, server.q(_COUNT, basis={"t": t}))["q"]["rows"]
            done = time.perf_counter()
            assert found == [[number + 1]], f"after {number + 1} transactions the other gateway has {found}"
            whole.append(1000 * (done - asked))
            after.append(1000 * (done - answered))
        writer.close()
        reader.close()
    return _quantiles(whole[times // 10 :]), _quantiles(after[times // 10 :])


def _quantiles(times: list[float]) -> Quantiles:
    return float(np.percentile(times, 50)), float(np.percentile(times, 99))
