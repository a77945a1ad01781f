"""What the first query after `/readyz` waits for, beside the tenth: each kind of query on a server just started."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from bench import folder, server
from bench.debian import PACKAGES
from bench.line import Line

_KINDS: Final = {
    "bound": (
        "a bound query of two clauses",
        "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]",
    ),
    "join": (
        "a join of five patterns",
        """[:find ?dependent ?version ?section :in $ ?of
            :where [?p :package/name ?of] [?q :package/depends ?p] [?q :package/name ?dependent]
                   [?q :package/version ?version] [?q :package/section ?section]]""",
    ),
    "rule": (
        "a recursive rule",
        """[:find ?name :in $ ?of :where [?p :package/name ?of] (needs ?p ?d) [?d :package/name ?name]
            :rules [[(needs ?a ?b) [?a :package/depends ?b]]
                    [(needs ?a ?c) [?a :package/depends ?b] (needs ?b ?c)]]]""",
    ),
    "pull": (
        "a pull",
        """[:find (pull ?p [:package/name :package/version {:package/depends [:package/name]}])
            :in $ ?name :where [?p :package/name ?name]]""",
    ),
    "sum": (
        "a sum by group",
        """[:find ?section (count ?p) (sum ?size) :in $ ?name
            :where [?e :package/name ?name] [?e :package/section ?section] [?p :package/section ?section]
                   [?p :package/installed-size ?size]]""",
    ),
}
"""Each asks for another name every time, so that no answer is remembered."""
_BAR: Final = 2.0
_POLL_SECONDS: Final = 0.002
_START_LIMIT_SECONDS: Final = 60.0
_TIMES: Final = 10


def queries(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Medians over some starts of the server, of the first and of the tenth query after it said it was ready.

    Either each request has a text of its own, and each is read and planned, or all have the same and the first is.
    """
    names = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()
    arguments = names[:: len(names) // _TIMES][:_TIMES]
    lines = []
    with folder.with_sample() as data:
        for kind, (title, query) in _KINDS.items():
            own = [server.q(query + " " * i, argument) for i, argument in enumerate(arguments)]
            own = [body.replace("query (", f"query Q{i} (", 1) for i, body in enumerate(own)]
            same = [server.q(query, argument) for argument in arguments]
            for texts, bodies in (("each with a text of its own", own), ("all with the same text", same)):
                started = [_started(data, bodies) for _ in range(1 if quick else 5)]
                ready, first, last = (statistics.median(column) * 1000 for column in zip(*started, strict=True))
                say(f"    {kind:5} ready after {ready:,.0f} ms; first {first:.1f} ms, tenth {last:.1f} ms, {texts}")
                lines.append(
                    Line(
                        "first", f"{title}, the first after /readyz, {texts}", "ms", first, "the tenth", last,
                        bar=_BAR, note=f"ready after {ready:,.0f} ms",
                    )
                )  # fmt: skip
    return lines


def _started(data: Path, bodies: Sequence[str]) -> tuple[float, float, float]:
    """Seconds from the start of a server until it is ready, of its first request, and of the last."""
    port = server.free_port()
    begun = time.perf_counter()
    with server.adalog(data, port, ADALOG_SPARK="off") as process:
        _wait_ready(process, port)
        ready = time.perf_counter() - begun
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        seconds = []
        for body in bodies:
            start = time.perf_counter()
            answer = json.loads(server.said(connection, body))
            seconds.append(time.perf_counter() - start)
            assert "errors" not in answer, f"refused: {answer['errors']}"
        connection.close()
    return ready, seconds[0], seconds[-1]


def _wait_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.perf_counter() + _START_LIMIT_SECONDS
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            said = process.stderr.read().decode() if process.stderr else ""
            raise RuntimeError(f"the server ended: {said[-600:]}")
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except (ConnectionError, HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"not ready within {_START_LIMIT_SECONDS:.0f} s")
