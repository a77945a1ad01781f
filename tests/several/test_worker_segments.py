"""Workers on PostgreSQL that share checkpoints: one of them folds, each has a copy and begins with it again."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx

from tests.postgres_servers import PostgresServer
from tests.several.fleet import Fleet, serving
from tests.waiting import until

_WORKERS = 2
_NAMES = 9_000
_COUNT = "[:find (count ?e) (max ?n) :where [?e :thing/number ?n]]"


def ask(fleet: Fleet, document: str, **variables: Any) -> Any:
    """Over a connection of its own, which any worker may get."""
    body = {"query": document, "variables": variables}
    answer = httpx.post(f"{fleet.url}/graphql", json=body, timeout=60).json()
    assert "errors" not in answer, answer
    return answer["data"]


def write(fleet: Fleet, start: int, end: int) -> int:
    tx = "[" + " ".join(f"{{:thing/number {number}}}" for number in range(start, end)) + "]"
    t: int = ask(fleet, "mutation($tx: EDN!) { transact(tx: $tx) { t } }", tx=tx)["transact"]["t"]
    return t


def check(fleet: Fleet, count: int) -> None:
    """All workers know all, and their own past."""
    for _ in range(2 * _WORKERS):
        document = "query($q: EDN!, $b: BasisInput) { q(query: $q, basis: $b) { rows } }"
        assert ask(fleet, document, q=_COUNT)["q"]["rows"] == [[count, count - 1]]
        assert ask(fleet, document, q=_COUNT, b={"t": 1})["q"]["rows"] == [[_NAMES, _NAMES - 1]]


def segments(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.seg")}


def test_workers_share_what_one_of_them_folded(postgres: PostgresServer, tmp_path: Path) -> None:
    address, shared, copy = postgres.new_database(), tmp_path / "shared", tmp_path / "copy"
    settings = {"ADALOG_SEGMENTS": str(shared), "ADALOG_SEGMENTS_COPY": str(copy)}
    copies = [copy / f"worker-{number}" for number in range(_WORKERS)]

    def are_copied() -> bool:
        there = segments(shared)
        return bool(there) and all(segments(each) >= there for each in copies)

    with serving(address, _WORKERS, **settings) as fleet:
        fleet.until_ready(_WORKERS)
        assert write(fleet, 0, _NAMES) == 1
        until(are_copied)
        check(fleet, _NAMES)
        write(fleet, _NAMES, _NAMES + 10)
        # Those that come after them begin with their copies, though nobody sees the place any more.
        before = segments(shared)
        shared.rename(tmp_path / "away")
        for worker in fleet.workers():
            os.kill(worker, signal.SIGKILL)
        fleet.said.wait_for("was ended by SIGKILL", _WORKERS)
        fleet.until_ready(_WORKERS)
        assert all(segments(each) >= before for each in copies)
        write(fleet, _NAMES + 10, _NAMES + 20)
        check(fleet, _NAMES + 20)
        assert fleet.stop() < 15
        assert "Traceback" not in fleet.said.whole()
