"""What light requests cost the server: CPU of its process beside an empty Strawberry resolver, in turns.

The least of the rounds counts, as others use the machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pyarrow.parquet as pq

from bench import direct, folder, server
from bench.debian import PACKAGES
from bench.line import Line

TWO_HOPS: Final = (
    "[:find ?name ?version :in $ ?package :where [?p :package/name ?package] [?p :package/depends ?d]"
    " [?d :package/name ?name] [?d :package/version ?version]]"
)
_PATTERN: Final = "[:package/name :package/version {:package/depends [:package/name :package/version]}]"
_PULL: Final = "query ($pattern: EDN!, $eid: EDN!) { pull(pattern: $pattern, eid: $eid) }"
_ENTITY: Final = "query ($name: String!) { package(name: $name) { name version depends { name version } } }"
_LIST: Final = """query ($name: String!) {
  packages(where: {name: {eq: $name}}, first: 5) { name version depends { name version } } }"""
_EMPTY: Final = '{"query":"{ empty }"}'
_ROUNDS: Final = 5


def requests(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Two hops computed and from the cache, a pull and typed fields with nested lists, over HTTP: the servers take
    turns; one client. Then the same in this process."""
    count = 1_000 if quick else 3_000
    names = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()
    names = names[:: max(1, len(names) // count)][:count]
    lookups = [server.q(TWO_HOPS, name) for name in names]
    pulls = [_pull(name) for name in names]
    entities = [_typed(_ENTITY, name) for name in names]
    lists = [_typed(_LIST, name) for name in names]
    ports = {name: server.free_port() for name in ("empty", "uncached", "cached")}
    with (
        folder.with_sample() as data,
        folder.with_sample() as copy,
        server.adalog(data, ports["uncached"], **server.UNCACHED) as uncached,
        server.adalog(copy, ports["cached"], ADALOG_SPARK="off") as cached,
        server.strawberry(ports["empty"]) as empty,
    ):
        work = {
            "a two-hop lookup, computed": (uncached, ports["uncached"], lookups, 0.25),
            "a two-hop lookup, from the cache": (cached, ports["cached"], lookups[:1] * count, 0.12),
            "a pull with a nested list": (uncached, ports["uncached"], pulls, 0.3),
            "a typed entity with a nested list": (uncached, ports["uncached"], entities, 0.3),
            "a typed entity, from the cache": (cached, ports["cached"], entities[:1] * count, 0.12),
            "a typed list of a filter": (uncached, ports["uncached"], lists, 0.3),
        }
        server.first_answer(empty, ports["empty"], _EMPTY)
        for process, port, bodies, _ in work.values():
            server.first_answer(process, port, bodies[0])
            server.until_ready(port)
        used: dict[str, list[float]] = {name: [] for name in ("empty", *work)}
        for number in range(_ROUNDS + 1):
            costs = {"empty": _cost(empty, ports["empty"], [_EMPTY] * count)}
            costs |= {name: _cost(process, port, bodies) for name, (process, port, bodies, _) in work.items()}
            if number:
                for name, cost in costs.items():
                    used[name].append(cost)
            say("    " + "; ".join(f"{name} {cost * 1e3:.3f} ms" for name, cost in costs.items()))
    theirs = min(used["empty"]) * 1e3
    over_http = [
        Line("light", f"CPU of {name}, over HTTP", "ms", min(used[name]) * 1e3,
             "empty Strawberry resolver", theirs, bar=bar)
        for name, (*_, bar) in work.items()
    ]  # fmt: skip
    return [*over_http, *_in_process(lookups, pulls, entities, lists, say)]


def _in_process(
    lookups: list[str], pulls: list[str], entities: list[str], lists: list[str], say: Callable[[str], None]
) -> list[Line]:
    works: list[tuple[str, list[str], bool, float | None]] = [
        ("a two-hop lookup", lookups, False, 60),
        ("a two-hop lookup that the cache then keeps", lookups, True, None),
        ("a pull with a nested list", pulls, False, None),
        ("a typed entity with a nested list", entities, False, None),
        ("a typed list of a filter", lists, False, None),
    ]
    found = []
    for name, bodies, cached, bar in works:
        used = direct.cpu_seconds(bodies, _ROUNDS, cached=cached) * 1e6
        say(f"    {name}, in process: {used:.1f} µs")
        found.append(Line("light", f"CPU of {name}, in process", "µs", used, "", None, bar=bar))
    return found


def _cost(process: server.Process, port: int, bodies: list[str]) -> float:
    """Seconds of CPU for each request."""
    before = server.cpu_seconds(process)
    server.load(port, 1, bodies)
    return (server.cpu_seconds(process) - before) / len(bodies)


def _pull(name: str) -> str:
    return json.dumps({"query": _PULL, "variables": {"pattern": _PATTERN, "eid": f'[:package/name "{name}"]'}})


def _typed(document: str, name: str) -> str:
    return json.dumps({"query": document, "variables": {"name": name}})
