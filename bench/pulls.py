"""What pulling many entities at once saves: one request for 10,000 of them beside as many requests for one."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Final, TypeVar

from adalog.examples.debian.load import load as load_debian
from adalog.executor.pool import Pool, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench import folder, server
from bench.line import Line

T = TypeVar("T")

_PATTERN: Final = (
    "[:package/name {:package/depends [:package/name :package/version {:package/depends [:package/name]}]}]"
)
_FIND: Final = f"[:find [(pull ?p {_PATTERN}) ...] :in $ [?p ...] :where [?p :package/name]]"
_PACKAGES: Final = "[:find ?p :where [?p :package/name]]"
_ROUNDS: Final = 3
_SHARE: Final = 0.05
_MANY: Final = 10_000


def in_process(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Through the pool, `:find` too. Raises AssertionError where together and one by one differ."""
    with Database.open(":memory:") as database:
        load_debian(database)
        pool = Pool(database)
        entities = _some([row[0] for row in pool.run(QueryRequest(_PACKAGES)).rows()], quick)
        pulled, together = _timed(lambda: pool.pull(PullRequest(_PATTERN, entities))[0])
        shown, found = _timed(lambda: pool.run(QueryRequest(_FIND, (entities,), engine="LOCAL")).rows())
        one_by_one, single = _once(lambda: [pool.pull(PullRequest(_PATTERN, [one]))[0][0] for one in entities])
        pool.close()
    assert together == single, "entities pulled together and one by one differ"
    assert sorted(str(row[0]) for row in found) == sorted(map(str, single)), ":find with pull and pull differ"
    title = f"pull of {len(entities):,} entities, nested two deep, in process"
    say(f"    {pulled:.3f} s, by :find {shown:.3f} s; one by one {one_by_one:.3f} s")
    return [
        Line("pull", title, "s", pulled, "one by one", one_by_one, bar=_SHARE),
        Line("pull", f"{title}, by :find", "s", shown, "one by one", one_by_one, bar=_SHARE),
    ]


def over_http(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """`pullMany` beside as many requests of `pull` over one kept connection."""
    with folder.with_sample() as data:
        port = server.free_port()
        with server.adalog(data, port, **server.UNCACHED) as process:
            rows = server.first_answer(process, port, server.q(_PACKAGES))["q"]["rows"]
            entities = _some([row[0] for row in rows], quick)
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            pulled, together = _timed(lambda: server.answered(connection, _many(entities))["pullMany"])
            bodies = [_one(entity) for entity in entities]
            one_by_one, single = _once(lambda: [server.answered(connection, body)["pull"] for body in bodies])
            connection.close()
    assert together == single, "pullMany and pull differ"
    say(f"    {pulled:.3f} s; one by one {one_by_one:.3f} s")
    title = f"pullMany of {len(entities):,} entities, nested two deep, over HTTP"
    return [Line("pull-http", title, "s", pulled, "one by one", one_by_one, bar=_SHARE)]


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, the median after a round that warms up, and what came of it."""
    rounds = [_once(work) for _ in range(_ROUNDS + 1)]
    return statistics.median(seconds for seconds, _ in rounds[1:]), rounds[-1][1]


def _once(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made


def _some(packages: list[int], quick: bool) -> list[int]:
    """10,000 of them, spread evenly."""
    count = _MANY // 10 if quick else _MANY
    return sorted(packages)[:: len(packages) // count][:count]


def _many(entities: list[int]) -> str:
    document = "query ($pattern: EDN!, $eids: [EDN!]!) { pullMany(pattern: $pattern, eids: $eids) }"
    variables = {"pattern": _PATTERN, "eids": [str(entity) for entity in entities]}
    return json.dumps({"query": document, "variables": variables})


def _one(entity: int) -> str:
    document = "query ($pattern: EDN!, $eid: EDN!) { pull(pattern: $pattern, eid: $eid) }"
    return json.dumps({"query": document, "variables": {"pattern": _PATTERN, "eid": str(entity)}})
