"""What a package needs, and what breaks without it, transitively on the sample data: over HTTP beside DuckDB.

adalog answers a bound recursive rule over a kept connection; DuckDB runs a recursive CTE in this process and has
nothing to send. Each formulation of the rule is asked of packages with few and with many.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Final, TypeVar

from bench import folder, server
from bench.line import Line
from bench.peers.duckdb import DuckDb
from bench.work import Work, digest

T = TypeVar("T")

# Few and many, of each.
_NEEDS: Final = ("zlib1g", "git", "libreoffice", "kde-full")
_BROKEN: Final = ("libreoffice", "git", "libgtk-3-0", "libc6")
_ROUNDS: Final = 5
# Whoever had to wait meets caches that the other has filled, so that turns are not too short.
_IN_A_ROW: Final = 8
_SHARE: Final = 0.2
_MOST_MS: Final = 10.0

# The second rule of each formulation; the first is always [(needs ?a ?b) [?a :package/depends ?b]].
_FORMS: Final = {
    "right-linear": "[?a :package/depends ?b] (needs ?b ?c)",
    "left-linear": "(needs ?a ?b) [?b :package/depends ?c]",
    "nonlinear": "(needs ?a ?b) (needs ?b ?c)",
}
_CALLS: Final = {"needs": "(needs ?given ?p)", "broken": "(needs ?p ?given)"}
_SQL: Final = (
    "with recursive reached(id) as (select d.{to} from package g join depends d on d.{here} = g.id"
    " where g.name = $name union select d.{to} from reached r join depends d on d.{here} = r.id)"
    " select p.name from reached r join package p on p.id = r.id"
)
_ENDS: Final = {"needs": {"here": "a", "to": "b"}, "broken": {"here": "b", "to": "a"}}


def needs(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Bound in front. Beside the share of DuckDB's time, the slowest package is to take at most 10 ms."""
    lines = _compared("needs", "what a package needs", _NEEDS[:2] if quick else _NEEDS, say)
    slowest = [max((line for line in lines if form in line.title), key=_milliseconds) for form in _FORMS]
    return lines + [
        Line("needs-ms", f"the slowest of these: {line.title}", "ms", line.ours, "", None, bar=_MOST_MS)
        for line in slowest
    ]


def broken(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Bound at the back."""
    return _compared("broken", "what breaks without a package", _BROKEN[:2] if quick else _BROKEN, say)


def _compared(call: str, title: str, packages: tuple[str, ...], say: Callable[[str], None]) -> list[Line]:
    duckdb = DuckDb()
    duckdb.load("debian")
    lines = []
    with folder.with_sample() as data:
        port = server.free_port()
        with server.adalog(data, port, **server.UNCACHED) as process:
            server.first_answer(process, port, server.q("[:find ?s :where [_ :section/name ?s]]"))
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            for form, step in _FORMS.items():
                query = (
                    "[:find ?name :in $ ?package :where [?given :package/name ?package]"
                    f" {_CALLS[call]} [?p :package/name ?name]"
                    f" :rules [[(needs ?a ?b) [?a :package/depends ?b]] [(needs ?a ?c) {step}]]]"
                )
                for package in packages:
                    line = _raced(connection, query, duckdb, call, package, f"{title}, {form}: {package}")
                    said = "failed: " + line.note if line.ours is None else f"{line.ours:.2f} ms"
                    say(f"    {form:12} {package:12} {said}; DuckDB {line.theirs:.2f} ms; {line.answer}")
                    lines.append(line)
            connection.close()
    return lines


def _raced(connection: HTTPConnection, query: str, duckdb: DuckDb, call: str, package: str, title: str) -> Line:
    """By turns, several times each; the first round warms up. Raises AssertionError where answers differ."""
    work = Work(call, title, "debian", {"DuckDB": _SQL.format(**_ENDS[call])}, {"name": package})
    body = server.q(query, package)
    ours, theirs = [], []
    answer, failure = digest(duckdb.run(work)), ""
    for number in range(_ROUNDS + 1):
        mine = [_timed(lambda: server.said(connection, body)) for _ in range(_IN_A_ROW)]
        other = [_timed(lambda: duckdb.run(work)) for _ in range(_IN_A_ROW)]
        document = json.loads(mine[-1][1])
        if "errors" in document:
            failure = str(document["errors"][0].get("message"))[:160]
        else:
            got = digest([tuple(row) for row in document["data"]["q"]["rows"]])
            assert got == answer, f"{title}: adalog has {got}, DuckDB {answer}"
        if number:
            ours += [milliseconds for milliseconds, _ in mine]
            theirs += [milliseconds for milliseconds, _ in other]
    # On a machine that does other things as well, the least of each is nearer to what they need.
    note = failure or f"least {min(ours):.2f} ms, theirs {min(theirs):.2f} ms"
    return Line(
        call, title, "ms", None if failure else statistics.median(ours), "DuckDB recursive CTE",
        statistics.median(theirs), bar=_SHARE, note=note, answer=answer,
    )  # fmt: skip


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds, and what came of it."""
    start = time.perf_counter()
    made = work()
    return (time.perf_counter() - start) * 1000, made


def _milliseconds(line: Line) -> float:
    return float("inf") if line.ours is None else line.ours
