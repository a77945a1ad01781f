"""Attacks on a gateway from outside: who is hurt by them, and what they leave behind.

Each has a server of its own with its default settings and the sample data, and a bystander from another address
(`bench.watch`).
"""

from __future__ import annotations

import fnmatch
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from bench import folder, server
from bench.hostile import ADDRESS, ATTACKS, Attack, Sent
from bench.line import Line
from bench.process import Use, use
from bench.watch import Seen
from tests.turns.turn_records import Turn, environment, read

Say = Callable[[str], None]

_LIGHT: Final = server.q(
    "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]", "bash"
)
# Among the attacks to run, by a pattern; all by default.
_CHOSEN: Final = "BENCH_ATTACKS"
_HEALTH_SECONDS: Final = 0.5
_MOST_BYTES: Final = 2 << 30
_AFTER: Final = 1.2
_LATE_SECONDS: Final = 1.0
_TURN_SECONDS: Final = 0.05
# The bystander is there before and after it.
_BESIDE_SECONDS: Final = 0.5
_CODE: Final = re.compile(rb'"code":"([A-Z_]+)"')
# A minute, of which no more is waited for than is needed.
_REST_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Answered:
    """How one request went. `late`: the seconds by which it was answered after its timeout, if it was."""

    seconds: float
    late: float
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What an attack did."""

    name: str
    answered: list[Answered]
    seen: Seen
    before: Use
    after: Use
    rested: float
    said: str
    turn: Turn | None

    @property
    def held(self) -> float:
        """Seconds for which the event loop was held at the longest, on a machine at rest."""
        return 0.0 if self.turn is None else self.turn.cost

    @property
    def health(self) -> float:
        return max(self.seen.health, default=math.inf)

    @property
    def light(self) -> float:
        """p99 of the light query, in seconds."""
        times = sorted(self.seen.light)
        return times[min(len(times) - 1, int(len(times) * 0.99))] if times else math.inf

    @property
    def late(self) -> float:
        return max((each.late for each in self.answered), default=0.0)

    @property
    def codes(self) -> Counter[str]:
        return Counter(code for each in self.answered for code in (each.codes or ("OK",)))

    @property
    def failures(self) -> list[str]:
        """The bars that are missed."""
        found = []
        if self.health > _HEALTH_SECONDS:
            found.append("health")
        if self.seen.most.rss > _MOST_BYTES:
            found.append("memory")
        if self.after.rss > _AFTER * self.before.rss:
            found.append("memory after")
        if self.late > _LATE_SECONDS:
            found.append("late")
        if self.turn is not None and self.held > _TURN_SECONDS:
            found.append(f"loop held by {self.turn.what[:90]} at {self.turn.where[-160:]}")
        if self.seen.wrong:
            found.append(f"bystander refused {len(self.seen.wrong)}: {self.seen.wrong[0][:80]}")
        if "INTERNAL" in self.codes or "Traceback" in self.said:
            found.append("INTERNAL")
        if self.after.threads > self.before.threads + 24 or self.after.descriptors > self.before.descriptors + 8:
            found.append(f"left {self.before} {self.after}")
        return found


def attacks(quick: bool, say: Say) -> list[Line]:
    """A line for each bar that an attack is held to."""
    pattern = os.environ.get(_CHOSEN, "*")
    lines = []
    with folder.with_sample() as sample:
        for name, attack in ATTACKS.items():
            if not fnmatch.fnmatch(name, pattern):
                continue
            outcome = _run(name, attack, sample, 2.0 if quick else _REST_SECONDS)
            say(_said(outcome))
            lines += _lines(outcome)
    return lines


def _run(name: str, attack: Attack, sample: Path, rest: float) -> Outcome:
    with folder.empty() as place, ExitStack() as stack:
        data = place / "data"
        shutil.copytree(sample, data)
        port = server.free_port()
        log, turns = place / "log", place / "turns"
        turns.mkdir()
        recording = environment(turns, os.environ)
        with log.open("wb") as said:
            process = stack.enter_context(server.adalog(data, port, said, ADALOG_SPARK="off", **recording))
            until_ready(port)
            for _ in range(20):
                server.ask(port, _LIGHT)
            for sent in attack.before:
                _send(port, sent)
            before = use(process.pid)
            # What starting and making ready took is not the attack's.
            list(read(turns))
            watcher = subprocess.Popen(
                [sys.executable, "-m", "bench.watch", str(port), str(process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(watcher.kill)
            assert watcher.stdin is not None
            watcher.stdin.write(_LIGHT + "\n")
            watcher.stdin.flush()
            time.sleep(_BESIDE_SECONDS)
            answered = _attack(port, attack)
            time.sleep(_BESIDE_SECONDS)
            told, _ = watcher.communicate()
            after, rested = _rested(process.pid, before, rest)
        seen = json.loads(told)
        return Outcome(
            name,
            answered,
            Seen(seen["health"], seen["light"], seen["wrong"], Use(**seen["most"])),
            before,
            after,
            rested,
            log.read_text(errors="replace"),
            max(read(turns), key=lambda turn: turn.cost, default=None),
        )


def until_ready(port: int) -> None:
    until = time.perf_counter() + 60
    while time.perf_counter() < until:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except (OSError, HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(0.02)
    raise RuntimeError("the server did not get ready")


def _attack(port: int, attack: Attack) -> list[Answered]:
    """All requests, by each of the clients."""
    left = list(attack.requests) * (attack.clients if len(attack.requests) < 4 * attack.clients else 1)
    left.reverse()
    answered: list[Answered] = []

    def client() -> None:
        while True:
            try:
                sent = left.pop()
            except IndexError:
                return
            answered.append(_send(port, sent))

    with ExitStack() as stack:
        if attack.wire is not None:
            attack.wire(port, stack)
        threads = [threading.Thread(target=client) for _ in range(attack.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if attack.wire is not None:
            # What was left there takes effect.
            time.sleep(5.0)
    return answered


def _send(port: int, sent: Sent) -> Answered:
    began = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", port, timeout=90, source_address=(ADDRESS, 0))
    try:
        connection.request("POST", "/graphql", sent.body, dict(sent.headers))
        answer = connection.getresponse()
        first = answer.read(1)
        seconds = time.perf_counter() - began
        codes = tuple(sorted({code.decode() for code in _CODE.findall(first + answer.read())}))
        codes = codes or (() if answer.status == 200 else (str(answer.status),))
    except (OSError, HTTPException) as failure:
        seconds, codes = time.perf_counter() - began, (type(failure).__name__,)
    finally:
        connection.close()
    return Answered(seconds, max(0.0, seconds - max(0, sent.ms) / 1000), codes)


def _rested(pid: int, before: Use, seconds: float) -> tuple[Use, float]:
    """What is used when it is no more than it may be, or the time is up; and when that was."""
    began = time.perf_counter()
    while True:
        now = use(pid)
        passed = time.perf_counter() - began
        if passed > seconds or (
            passed > 1 and now.rss <= _AFTER * before.rss and now.threads <= before.threads + 24
        ):
            return now, passed
        time.sleep(0.25)


def _said(outcome: Outcome) -> str:
    codes = ", ".join(f"{code} {count}" for code, count in sorted(outcome.codes.items()))
    slowest = max((each.seconds for each in outcome.answered), default=0.0)
    most = outcome.seen.most
    return (
        f"    {outcome.name:43} health {outcome.health * 1000:5.0f} ms, light p99 {outcome.light * 1000:5.0f} ms,"
        f" turn {outcome.held * 1000:4.0f} ms,"
        f" {outcome.before.rss >> 20:4} → {most.rss >> 20:4} → {outcome.after.rss >> 20:4} MiB"
        f" ({outcome.rested:2.0f} s), threads {most.threads:3}, files {most.descriptors:3},"
        f" slowest {slowest:5.1f} s, late {outcome.late:4.1f} s; {codes}"
        + (f"  MISSED: {'; '.join(outcome.failures)}" if outcome.failures else "")
    )


def _lines(outcome: Outcome) -> list[Line]:
    name, note = outcome.name, "; ".join(outcome.failures)
    before, most, after = (each.rss / (1 << 20) for each in (outcome.before, outcome.seen.most, outcome.after))
    return [
        Line("attacks", f"{name}: /healthz, worst", "s", outcome.health, "", None, bar=_HEALTH_SECONDS),
        Line("attacks", f"{name}: event loop's longest turn", "s", outcome.held, "", None, bar=_TURN_SECONDS),
        Line("attacks", f"{name}: light query, p99", "s", outcome.light, "", None),
        Line("attacks", f"{name}: memory", "MiB", most, "", None, bar=_MOST_BYTES >> 20),
        Line("attacks", f"{name}: memory after", "MiB", after, "before", before, bar=_AFTER),
        Line("attacks", f"{name}: late", "s", outcome.late, "", None, bar=_LATE_SECONDS, note=note),
    ]  # fmt: skip
