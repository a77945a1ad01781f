"""What data that changes costs: a transaction and then a read at two sizes, a write to a long row, a load's bytes.

A social graph is loaded over HTTP in transactions of 16,000 datoms. One of each sixteen datoms says that a user is
active, and everybody follows user 1: rows of a million where there are sixteen million datoms.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import folder, server
from bench.line import Line

_DATOMS: Final = 16_000_000
_SMALL: Final = 100_000
_QUICK: Final = 480_000
_AT_ONCE: Final = 16_000
_EACH: Final = 16
_FOLLOWS: Final = 11
_FIRST: Final = 1_000
_HUB: Final = _FIRST
_ROUNDS: Final = 60
# Rounds of each kind that are not counted.
_WARM: Final = 10
_PROMISED: Final = (600.0, 200.0, 120.0)

_SCHEMA: Final = """[
 {:db/ident :user/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :user/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :user/joined :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :user/active :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :user/follows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

_ENVIRONMENT: Final = {
    **server.UNCACHED,
    "ADALOG_RATE_LIMIT": "0",
}


def storage(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Loads both databases, asks both in turn, then looks at the larger one's folder before and after a restart."""
    datoms = _QUICK if quick else _DATOMS
    with folder.empty() as small, folder.empty() as large:
        with _served(small) as one, _served(large) as other:
            _load(one, _SMALL, say)
            load = _load(other, datoms, say)
            written = _written(other.process) / datoms
            after = folder.size(large) / datoms
            memory = _memory(other.process)
            say(f"    {written:,.0f} bytes written a datom, {after:,.0f} on disk; {memory / 1e9:.2f} GB of memory")
            for each in (one, other):
                # It may have waited for longer than a server waits; the next request opens it again.
                each.connection.close()
            lines = [_compared(kind, one, other, say) for kind in _KINDS]
        began = time.perf_counter()
        with _served(large):
            restart = time.perf_counter() - began
            kept = _settled(large) / datoms
        say(f"    answers {restart:.1f} s after a restart, {kept:,.0f} bytes on disk a datom")
    size = f"{datoms / 1e6:.2g} million datoms in transactions of {_AT_ONCE:,}"
    figures = zip(
        (written, after, kept), ("written", "on disk right after", "on disk after a restart"), strict=True
    )
    lines += [
        Line("storage", f"{size}: bytes {what}, a datom", "B", figure, "", None, bar=bar)
        for (figure, what), bar in zip(figures, _PROMISED, strict=True)
    ]
    return [*lines, Line("storage", f"{size}", "1/s", datoms / load, "", None, more=True)]


@dataclass
class _Server:
    """A gateway with one connection to it, and how many users its database has."""

    process: subprocess.Popen[bytes]
    port: int
    connection: HTTPConnection
    users: int = 0

    def ask(self, body: str) -> Any:
        return server.answered(self.connection, body)


@contextmanager
def _served(data: Path) -> Iterator[_Server]:
    port = server.free_port()
    with server.adalog(data, port, **_ENVIRONMENT) as process:
        server.first_answer(process, port, server.q("[:find ?e . :where [?e :db/ident :db/ident]]"))
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            yield _Server(process, port, connection)
        finally:
            connection.close()


def _load(into: _Server, datoms: int, say: Callable[[str], None]) -> float:
    """Loads so many datoms; the seconds it took."""
    into.ask(server.transact(_SCHEMA))
    into.users = datoms // _EACH
    began, done = time.perf_counter(), 0
    for text, count in _transactions(into.users):
        into.ask(server.transact(text))
        done += count
        if done % 4_000_000 < _AT_ONCE:
            say(f"    {done:,} datoms, {done / (time.perf_counter() - began):,.0f}/s")
    took = time.perf_counter() - began
    say(f"    {done:,} datoms in {took:.0f} s: {done / took:,.0f}/s")
    return took


def _transactions(users: int) -> Iterator[tuple[str, int]]:
    dice = np.random.default_rng(11)
    for first in range(0, users, _AT_ONCE // _EACH):
        numbers = np.arange(first, min(first + _AT_ONCE // _EACH, users))
        forms: list[str] = []
        strides = dice.integers(1, users, (len(numbers), _FOLLOWS))
        for number, others in zip(numbers.tolist(), strides.tolist(), strict=True):
            e = _FIRST + number
            forms += (
                f'[:db/add {e} :user/name "user number {number}"]',
                f"[:db/add {e} :user/age {number % 90}]",
                f"[:db/add {e} :user/joined {1_600_000_000 + number}]",
                f"[:db/add {e} :user/active true]",
                f"[:db/add {e} :user/follows {_HUB}]",
            )
            forms += [f"[:db/add {e} :user/follows {_FIRST + (number + other) % users}]" for other in others]
        yield f"[{' '.join(forms)}]", len(forms)


@dataclass(frozen=True)
class _Kind:
    """A transaction of one datom and the read after it; each is given the number of users and of the round."""

    title: str
    write: Callable[[int, int], str]
    query: str
    args: Callable[[int, int], tuple[object, ...]]


def _user(users: int, i: int) -> int:
    return _FIRST + (i * 7919 + 13) % users


def _flip(users: int, i: int) -> str:
    return f"[[:db/add {_user(users, i // 2)} :user/active {'true' if i % 2 else 'false'}]]"


def _follow(users: int, i: int) -> str:
    return f"[[:db/add {_user(users, i)} :user/follows {_FIRST + users + i}]]"


def _unfollow_hub(users: int, i: int) -> str:
    return f"[[:db/{'add' if i % 2 else 'retract'} {_user(users, i // 2)} :user/follows {_HUB}]]"


_KINDS: Final = (
    _Kind(
        "the attribute read from a bound entity",
        _follow,
        "[:find ?w :in $ ?e :where [?e :user/follows ?w]]",
        lambda users, i: (_user(users, i),),
    ),
    _Kind(
        "the attribute read from a bound value",
        lambda users, i: f"[[:db/add {_user(users, i)} :user/age {1000 + i}]]",
        "[:find ?e :in $ ?age :where [?e :user/age ?age]]",
        lambda users, i: (1000 + i,),
    ),
    _Kind(
        "a boolean that all have, counted",
        _flip,
        "[:find (count ?e) . :where [?e :user/active true]]",
        lambda users, i: (),
    ),
    _Kind(
        "a boolean that all have, looked up",
        _flip,
        "[:find ?e . :in $ ?joined :where [?e :user/joined ?joined] [?e :user/active true]]",
        lambda users, i: (1_600_000_000 + (i * 31) % users,),
    ),
    _Kind(
        "a hub's followers, counted",
        _unfollow_hub,
        "[:find (count ?e) . :in $ ?hub :where [?e :user/follows ?hub]]",
        lambda users, i: (_HUB,),
    ),
    _Kind(
        "a hub's followers, looked up",
        _unfollow_hub,
        "[:find ?e . :in $ ?hub ?joined :where [?e :user/joined ?joined] [?e :user/follows ?hub]]",
        lambda users, i: (_HUB, 1_600_000_000 + (i * 31) % users),
    ),
)


def _compared(kind: _Kind, small: _Server, large: _Server, say: Callable[[str], None]) -> Line:
    """Both in turn, so that what else the machine does falls on both."""
    took: tuple[list[float], list[float]] = ([], [])
    for i in range(_ROUNDS):
        for times, each in zip(took, (small, large), strict=True):
            began = time.perf_counter()
            each.ask(server.transact(kind.write(each.users, i)))
            each.ask(server.q(kind.query, *kind.args(each.users, i)))
            times.append((time.perf_counter() - began) * 1000)
    few, many = (statistics.median(times[_WARM:]) for times in took)
    say(f"    {kind.title}: {few:.2f} ms at {_SMALL:,} datoms, {many:.2f} ms at {large.users * _EACH:,}")
    title = f"one datom, then {kind.title}: {large.users * _EACH / 1e6:.2g} million datoms"
    return Line("storage", title, "ms", many, f"{_SMALL:,} datoms", few, bar=1.5)


def _written(process: subprocess.Popen[bytes]) -> int:
    """What the process had written to disk so far."""
    told = Path(f"/proc/{process.pid}/io").read_text()
    return int(told.partition("write_bytes:")[2].split()[0])


def _memory(process: subprocess.Popen[bytes]) -> int:
    told = Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(told.partition("VmRSS:")[2].split()[0])


def _settled(data: Path) -> int:
    """The folder's size once it stays the same."""
    before, now = -1, folder.size(data)
    while now != before:
        time.sleep(1.0)
        before, now = now, folder.size(data)
    return now
