"""What a backup costs: those who write meanwhile, the bytes of the next one, and restoring and checking.

Sixteen million datoms as columns, about users who follow each other, served; sixteen clients write one datom at a
time, before, while a backup is taken by the server, and again. The first backup is of everything, the next is
incremental, after some thousands of transactions.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from bench import folder, server
from bench.line import Line

_DATOMS: Final = 16_000_000
_QUICK: Final = 400_000
_AT_ONCE: Final = 160_000
_EACH: Final = 16
_FOLLOWS: Final = 12
_FIRST: Final = 1_000
_CLIENTS: Final = 16
# Writes of one slice, over which a p99 is taken, and slices without a backup, before and after.
_SLICE: Final = 2_000
_SLICES: Final = 5
_PROMISED_LATENCY: Final = 2.0
_PROMISED_BYTES: Final = 1 / 20

_SCHEMA: Final = """[
 {:db/ident :user/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :user/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :user/joined :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :user/active :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :user/follows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

_ENVIRONMENT: Final = {**server.UNCACHED, "ADALOG_RATE_LIMIT": "0"}
_COMMAND: Final = ("-c", "from adalog.gateway.cli import main; main()")

Say = Callable[[str], None]


def backup(quick: bool, say: Say) -> list[Line]:
    """Loads, serves, backs up twice, restores, checks."""
    datoms = _QUICK if quick else _DATOMS
    with folder.empty() as work:
        data, out = work / "data", work / "out"
        users = datoms // _EACH
        _load(data, users, say)
        port = server.free_port()
        with server.adalog(data, port, ADALOG_BACKUP_FOLDERS=str(work), **_ENVIRONMENT) as process:
            server.first_answer(process, port, server.q("[:find ?e . :where [?e :db/ident :db/ident]]"))
            server.until_ready(port)
            writes = _bodies(users)
            _slice(port, writes)
            before = [_slice(port, writes) for _ in range(_SLICES)]
            first, during = _beside(port, out, writes)
            after = [_slice(port, writes) for _ in range(_SLICES)]
            following, _ = _beside(port, out, writes)
        alone, beside = statistics.median((*before, *after)), statistics.median(during)
        spread = f"{len(during)} times {_SLICE:,} writes, from {min(during):.1f} to {max(during):.1f}"
        say(f"    p99 {alone:.1f} ms alone, {beside:.1f} beside ({spread})")
        say(f"    the first one: {first}\n    the next one: {following}")
        newest, checked = _run("restore", str(out), "--data", str(work / "restored")), _run("check", str(out))
        early = _run("restore", str(out), "--data", str(work / "early"), "--t", str(first["t"] // 2))
        sound = _run("check", "--data", str(work / "restored"))
        deep = _run("check", "--data", str(work / "restored"), "--deep")
    assert checked["damaged"] == sound["damaged"] == deep["damaged"] == 0
    size = f"{datoms / 1e6:.2g} million datoms"
    written = f"after {following['t'] - first['t']:,} transactions"
    return [
        Line(
            "backup",
            f"one-datom transactions, {_CLIENTS} clients, beside a backup of {size}: p99",
            *("ms", beside, "without", alone),
            bar=_PROMISED_LATENCY,
            note=spread,
        ),
        Line(
            "backup",
            f"the next backup, {written}: bytes",
            *("MB", following["written"] / 1e6, "the first", first["written"] / 1e6),
            bar=_PROMISED_BYTES,
        ),
        Line("backup", f"the first backup of {size}, written to meanwhile", "s", first["seconds"], "", None),
        Line("backup", f"the next one, {written}", "s", following["seconds"], "", None),
        Line("backup", f"restoring the newest, {size}", "s", newest["seconds"], "", None),
        Line("backup", "restoring half of the transactions, replayed", "s", early["seconds"], "", None),
        Line("backup", "checking the backups", "s", checked["seconds"], "", None),
        Line("backup", f"checking a folder, {size}", "s", sound["seconds"], "", None),
        Line("backup", "the same with --deep", "s", deep["seconds"], "", None),
    ]


def _load(data: Path, users: int, say: Say) -> None:
    began = time.perf_counter()
    dice = np.random.default_rng(11)
    with Database.open(str(data)) as database:
        database.transact(_SCHEMA)
        for first in range(0, users, _AT_ONCE // _EACH):
            numbers = np.arange(first, min(first + _AT_ONCE // _EACH, users))
            e = _FIRST + numbers
            follows = (
                _FIRST + (np.repeat(numbers, _FOLLOWS) + dice.integers(1, users, len(numbers) * _FOLLOWS)) % users
            )
            pairs = np.unique(np.stack((np.repeat(e, _FOLLOWS), follows)), axis=1)
            database.bulk_load(
                "[]",
                {
                    Keyword("user/name"): (e, pa.array([f"user number {n}" for n in numbers.tolist()])),
                    Keyword("user/age"): (e, numbers % 90),
                    Keyword("user/joined"): (e, 1_600_000_000 + numbers),
                    Keyword("user/active"): (e, pa.array([True] * len(e))),
                    Keyword("user/follows"): (pairs[0], pairs[1]),
                },
            )
        count = database.snapshot().datom_count
    say(f"    {count:,} datoms loaded in {time.perf_counter() - began:.0f} s")


def _bodies(users: int) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        user = _FIRST + (number * 7919 + 13) % users
        yield server.transact(f"[[:db/add {user} :user/age {100 + number % 900}]]")


def _slice(port: int, writes: Iterator[str]) -> float:
    """The p99 of some writes, in milliseconds."""
    return server.load(port, _CLIENTS, [next(writes) for _ in range(_SLICE)]).p99


def _beside(port: int, out: Path, writes: Iterator[str]) -> tuple[dict[str, Any], list[float]]:
    """A backup by the server, and the p99s of writes while it is taken."""
    found: list[dict[str, Any]] = []

    def ask() -> None:
        # Without a command line, whose start would count.
        connection = HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("POST", "/backup", json.dumps({"to": str(out)}), {"Content-Type": "application/json"})
        last = connection.getresponse().read().decode().strip().rpartition("event: ")[2]
        connection.close()
        if last.startswith("done"):
            found.append(json.loads(last.partition("data: ")[2]))

    thread = threading.Thread(target=ask)
    thread.start()
    slices = []
    while thread.is_alive():
        slices.append(_slice(port, writes))
    thread.join()
    if not found:
        raise RuntimeError("no backup was taken")
    # The last one may have been there longer than the backup.
    return found[0], slices[:-1] or slices


def _run(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, *_COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"adalog {words[0]} failed: {(done.stderr or done.stdout)[-600:]}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said
