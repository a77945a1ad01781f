"""What a package needs, and what breaks without it, transitively on the sample data: beside DuckDB.

DuckDB runs a recursive CTE in this process and has nothing to send. adalog answers a bound recursive rule in this
process as well (`Database.q`), which is the like for like, and over a kept connection. Each formulation of the rule
is asked of packages with few and with many.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Final, TypeVar

import adalog
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
_SHARE: Final = 0.03
_BROKEN_SHARE: Final = 0.2
_IN_PROCESS: Final = ", in process"
_OVER_HTTP: Final = ", over HTTP"
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
    lines = _compared("needs", "what a package needs", _NEEDS[:2] if quick else _NEEDS, _SHARE, say)
    served = [line for line in lines if line.title.endswith(_OVER_HTTP)]
    slowest = [max((line for line in served if form in line.title), key=_milliseconds) for form in _FORMS]
    return lines + [
        Line("needs-ms", f"the slowest of these: {line.title}", "ms", line.ours, "", None, bar=_MOST_MS)
        for line in slowest
    ]


def broken(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Bound at the back."""
    packages = _BROKEN[:2] if quick else _BROKEN
    return _compared("broken", "what breaks without a package", packages, _BROKEN_SHARE, say)


def _compared(
    call: str, title: str, packages: tuple[str, ...], bar: float, say: Callable[[str], None]
) -> list[Line]:
    duckdb = DuckDb()
    duckdb.load("debian")
    lines = []
    with folder.with_sample() as data, folder.with_sample() as copy, adalog.connect(str(copy)) as db:
        port = server.free_port()
        with server.adalog(data, port, **server.UNCACHED) as process:
            server.first_answer(process, port, server.q("[:find ?s :where [_ :section/name ?s]]"))
            server.until_ready(port)
            connection = server.LeanConnection(port)
            for form, step in _FORMS.items():
                query = (
                    "[:find ?name :in $ ?package :where [?given :package/name ?package]"
                    f" {_CALLS[call]} [?p :package/name ?name]"
                    f" :rules [[(needs ?a ?b) [?a :package/depends ?b]] [(needs ?a ?c) {step}]]]"
                )
                for package in packages:
                    texts = {"adalog": query, "DuckDB": _SQL.format(**_ENDS[call])}
                    name, arguments, bars = f"{title}, {form}: {package}", {"name": package}, {"DuckDB": bar}
                    work = Work(call, name, "debian", texts, arguments, bars=bars)
                    here, there = raced = _raced(db, connection, duckdb, work)
                    took = [line.note if line.ours is None else f"{line.ours:.3f} ms" for line in raced]
                    say(
                        f"    {form:12} {package:12} in process {took[0]}, over HTTP {took[1]};"
                        f" DuckDB {here.theirs:.2f} ms; {there.answer}"
                    )
                    lines += raced
            connection.close()
    return lines


def _raced(db: adalog.Database, connection: server.LeanConnection, duckdb: DuckDb, work: Work) -> tuple[Line, Line]:
    """In process and over HTTP, by turns, several times each; the first round warms up. Raises AssertionError where
    answers differ."""
    query, package = work.texts["adalog"], work.arguments["name"]
    body = server.q(query, package).encode()
    here, there, theirs = [], [], []
    answer, failure = digest(duckdb.run(work)), ""
    for number in range(_ROUNDS + 1):
        called = [_timed(lambda: db.q(query, package).rows) for _ in range(_IN_A_ROW)]
        served = [_timed(lambda: connection.said(body)) for _ in range(_IN_A_ROW)]
        other = [_timed(lambda: duckdb.run(work)) for _ in range(_IN_A_ROW)]
        document = json.loads(served[-1][1])
        answers = [digest(called[-1][1])]
        if "errors" in document:
            failure = "failed: " + str(document["errors"][0].get("message"))[:160]
        else:
            answers.append(digest([tuple(row) for row in document["data"]["q"]["rows"]]))
        assert set(answers) == {answer}, f"{work.title}: adalog has {answers}, DuckDB {answer}"
        if number:
            here += [milliseconds for milliseconds, _ in called]
            there += [milliseconds for milliseconds, _ in served]
            theirs += [milliseconds for milliseconds, _ in other]

    def line(where: str, ours: list[float], failure: str) -> Line:
        # On a machine that does other things as well, the least of each is nearer to what they need.
        note = failure or f"least {min(ours):.3f} ms, theirs {min(theirs):.2f} ms"
        return Line(
            work.name, f"{work.title}{where}", "ms", None if failure else statistics.median(ours),
            "DuckDB recursive CTE", statistics.median(theirs), bar=work.bars["DuckDB"], note=note, answer=answer,
        )  # fmt: skip

    return line(_IN_PROCESS, here, ""), line(_OVER_HTTP, there, failure)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds, and what came of it."""
    start = time.perf_counter()
    made = work()
    return (time.perf_counter() - start) * 1000, made


def _milliseconds(line: Line) -> float:
    return float("inf") if line.ours is None else line.ours
