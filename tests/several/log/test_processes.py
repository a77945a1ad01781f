"""Three processes on one log, one of which is killed and one stopped in the midst of its turn: nothing that was
answered is lost or done twice, and all come to one state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from tests.postgres_servers import PostgresServer
from tests.property.model import examples
from tests.several.log.client import digest

# Of each of so many threads; more with another profile of Hypothesis.
TRANSACTIONS, THREADS = examples(100), 3
SCHEMA = """[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :n :db/valueType :db.type/long} {:db/ident :said :db/valueType :db.type/string}]"""
N = Keyword("n")


class Client:
    """A process, with what it said."""

    def __init__(self, location: str, seed: int, *more: str) -> None:
        self.told: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.several.log.client",
                location,
                str(seed),
                str(THREADS),
                str(TRANSACTIONS),
                *more,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def hear(self, name: str) -> dict[str, Any]:
        """Reads on until it says that."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told.append(json.loads(line))
            if name in self.told[-1]:
                return self.told[-1]
        raise AssertionError(f"it ended without {name}")

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def signal(self, how: signal.Signals) -> None:
        self._process.send_signal(how)

    def end(self) -> None:
        """Hears the rest of what it has said, and has it end."""
        if self._process.returncode is not None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        # What was written half is no line.
        self.told += [json.loads(line) for line in self._process.stdout if line.endswith("}\n")]
        self._process.wait()
        self._process.stdout.close()
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def stopped(self) -> None:
        """Returns when it has stopped itself."""
        self.hear("stopping")
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def answered(self) -> list[dict[str, Any]]:
        return [each for each in self.told if "key" in each]


@contextmanager
def clients(location: str) -> Iterator[list[Client]]:
    with ExitStack() as ending:
        made = [Client(location, seed, *(["stop"] if seed == 1 else [])) for seed in range(3)]
        for each in made:
            ending.callback(each.end)
        for each in made:
            each.hear("ready")
        yield made


@pytest.fixture(params=["postgresql", "folder"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "data")
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return postgres.new_database()


def test_one_is_killed_and_one_stops_in_its_turn(location: str) -> None:
    with Database.open(location, shared=True) as database:
        database.transact(SCHEMA)
        database.transact("[[:db/add 1 :n 0] [:db/add 2 :n 0]]")
        first = database.snapshot().t
        with clients(location) as (killed, stopped, steady):
            for each in (killed, stopped, steady):
                each.say("go")
            stopped.stopped()
            if location.startswith("postgresql"):
                # The others go on without it.
                steady.hear("done")
                killed.hear("key")
                killed.end()
                stopped.signal(signal.SIGCONT)
            else:
                stopped.signal(signal.SIGCONT)
                killed.hear("key")
                killed.end()
                steady.hear("done")
            stopped.hear("done")
            # One more, after which nothing is on its way.
            t = database.transact("[[:db/add 3 :n 1]]").t
            for each in (stopped, steady):
                each.say(str(t))
                assert each.hear("state")["state"] == digest(database)
        check(database, first, [*killed.told, *stopped.told, *steady.told])
    with Database.open(location, shared=True) as again:
        assert again.snapshot().t == t


def check(database: Database, first: int, told: list[dict[str, Any]]) -> None:
    """What was answered is in the log, once, where it was said to be, and what the log has is what was said."""
    assert not [each for each in told if "failed" in each]
    answered = [each for each in told if "key" in each]
    assert len({each["t"] for each in answered}) == len(answered) > 2 * THREADS
    for each in answered:
        assert database.transaction_of(each["key"]) == each["t"]
    for each in told:
        if "refused" in each:
            assert database.transaction_of(each["refused"]) is None
    # The log is read again, in order, without a gap; each transaction is one of those.
    reports = list(database.transactions(first + 1, database.snapshot().t, 1 << 30))
    assert [each.t for each in reports] == list(range(first + 1, database.snapshot().t))
    instants = [each.tx_instant for each in reports]
    assert instants == sorted(instants)
    counted, swapped = 0, 0
    for report in reports:
        for e, a, v, _, added in report.datoms:
            if added and a == N and e in (1, 2):
                counted, swapped = counted + (e == 1), swapped + (e == 2)
                assert v == (counted if e == 1 else swapped)
    assert counted >= sum(each["kind"] == "count" for each in answered)
    assert swapped >= sum(each["kind"] == "swap" for each in answered)
