"""Writers on a disk that fails at random calls, killed, and the power cut: nothing that was answered is lost."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from tests.faults.disk import ALL, RUNS, Control, Kind, contents, cut_power
from tests.store.model import Model, check

N, WORKER = Keyword("n"), Keyword("worker")


def environ(shim: Path, control: Path) -> dict[str, str]:
    """Of a process with the shim, which does no harm before it is told to."""
    own = {"LD_PRELOAD": str(shim), "FAULTS_UNDER": "/nowhere/at/all", "FAULTS_CONTROL": str(control)}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **own}


class Writers:
    """The process that writes, of which each life is a fork."""

    def __init__(self, shim: Path, folder: Path) -> None:
        self.control = Control(folder / "control")
        environment = environ(shim, self.control.path)
        self.stderr = folder / "stderr"
        with self.stderr.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.writers"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )

    def begin(self, **told: Any) -> int:
        """A life; its process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def over(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("over\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "over\n"


@pytest.fixture(scope="module")
def writers(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writers]:
    made = Writers(shim, tmp_path_factory.mktemp("writers"))
    with made.process:
        yield made
        made.process.kill()


class Told:
    """What the lives of a folder have said."""

    def __init__(self) -> None:
        self.answered: dict[int, tuple[int, int]] = {}
        self.refused: dict[int, list[str]] = {}
        self.asked: Counter[int] = Counter()
        self.codes: set[str] = set()
        self.opened_at = -1

    def hear(self, line: str) -> None:
        kind, *rest = json.loads(line)
        if kind == "open":
            (self.opened_at,) = rest
            assert self.opened_at >= max((t for t, _ in self.answered.values()), default=0)
        elif kind == "closed":
            code, message = rest
            assert code == "BACKEND_UNAVAILABLE", message
        elif kind == "asked":
            self.asked[rest[0]] += 1
        elif kind == "answered":
            number, t, entity = rest
            self.answered[number] = t, entity
        else:
            number, code, message, _ = rest
            assert code in ("BACKEND_UNAVAILABLE", "READ_ONLY"), message
            self.codes.add(code)
            self.refused.setdefault(number, []).append(message)


class Reader:
    """Follows a file of lines."""

    def __init__(self, path: Path, told: Told) -> None:
        self._file = path.open()
        self._told = told
        self._rest = ""

    def close(self) -> None:
        self.read()
        self._file.close()

    def read(self) -> None:
        *lines, self._rest = (self._rest + self._file.read()).split("\n")
        for line in lines:
            self._told.hear(line)


def waited(reader: Reader, told: Told, count: int, pid: int) -> bool:
    """Whether so many more were answered, before the process ended."""
    until = len(told.answered) + count
    while len(told.answered) < until:
        reader.read()
        if (Path(f"/proc/{pid}/stat")).read_text().rpartition(")")[2].split()[0] == "Z":
            reader.read()
            return False
        time.sleep(0.002)
    return True


def lives(writers: Writers, folder: Path, dice: random.Random, told: Told, life: int) -> bool:
    """One life of a folder: faults now and then, its end. Whether it ever opened the folder."""
    control = writers.control
    data, journal, out = folder / "data", folder / f"journal {life}", folder / f"out {life}"
    # The life may end before it has made them.
    out.touch()
    journal.touch()
    before = contents(data) if data.exists() else {}
    kinds = dice.choice([ALL, ALL, Kind.SYNC_EIO, Kind.WRITE_EIO | Kind.WRITE_ENOSPC | Kind.WRITE_SHORT, Kind.OPEN])
    share = dice.choice([0.002, 0.02, 0.1, 0.5])
    if dice.random() < 0.3:
        control.fails(share, kinds)
    pid = writers.begin(
        folder=str(data), journal=str(journal), out=str(out), life=life, seed=dice.randrange(1 << 40)
    )
    reader, came = Reader(out, told), True
    try:
        for _ in range(dice.randrange(1, 4)):
            control.fails(share, kinds)
            time.sleep(dice.random() * 0.05)
            if dice.random() < 0.7:
                # Well again, it writes again, by itself.
                control.well()
                came = waited(reader, told, dice.randrange(1, 60), pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        writers.over()
        control.well()
        reader.close()
    if dice.random() < 0.6:
        cut_power(before, journal, dice)
    return came


def check_data(folder: Path, told: Told) -> None:
    """All that was answered is there, once; nothing is there in part; what was refused as not applied is not."""
    with Database.open(str(folder / "data")) as database:
        snapshot = database.snapshot()
        reports = list(database.transactions(1, snapshot.t + 1, snapshot.t + 1))
        assert [report.t for report in reports] == list(range(1, snapshot.t + 1))
        model = Model()
        found: dict[int, tuple[int, int]] = {}
        for report in reports:
            model.told(report)
            numbers = [datom for datom in report.datoms if datom.a == N]
            workers = [datom for datom in report.datoms if datom.a == WORKER]
            assert len(numbers) == len(workers) == 1
            number = numbers[0].v
            assert isinstance(number, int)
            assert number in told.asked
            # Without a key, what was in doubt and was asked again may be there twice; that is what it says.
            assert number not in found or number % 3 == 0
            found.setdefault(number, (report.t, numbers[0].e))
        for number, (t, entity) in told.answered.items():
            assert number in found, f"{number}, answered at {t}, is lost: the database is at {snapshot.t}"
            if number % 3:
                assert found[number] == (t, entity)
        for number, messages in told.refused.items():
            all_answered = told.asked[number] == len(messages)
            if all_answered and all("nothing " in each for each in messages):
                assert number not in found, (number, messages)
        check(snapshot, model)
    with Database.open(str(folder / "data")) as database:
        named = database.compactor.named
        assert {path.name for path in (folder / "data" / "segments").iterdir()} == set(named or ())
        assert not list((folder / "data").glob("*.tmp"))


def test_writers_killed_on_a_failing_disk(
    writers: Writers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told_of: set[str] = set()
    answered = faults = 0
    for run in RUNS:
        dice = random.Random(run)
        folder = tmp_path / str(run)
        folder.mkdir()
        Database.open(str(folder / "data")).close()
        told = Told()
        try:
            for life in range(2):
                lives(writers, folder, dice, told, life)
            with caplog.at_level(logging.WARNING):
                check_data(folder, told)
            assert "rebuilding from the log" not in caplog.text
            caplog.clear()
        except BaseException as error:
            error.add_note(f"run {run}")
            raise
        told_of |= told.codes
        answered += len(told.answered)
        faults = writers.control.faults
    assert answered > 0
    assert faults > 0
    assert len(RUNS) < 10 or "BACKEND_UNAVAILABLE" in told_of
    assert len(RUNS) < 100 or "READ_ONLY" in told_of


def test_opening_that_fails_loses_nothing(shim: Path, tmp_path: Path) -> None:
    """SQLite removes its write-ahead log where opening fails in a certain way: `store.log.log` keeps it. Where the
    file of its shared memory was opened to be read, all connections of the process share that, and end together."""
    control = tmp_path / "control"
    control.write_bytes(bytes(4096))
    words = [sys.executable, "-m", "tests.faults.opening", str(tmp_path), str(control)]
    done = subprocess.run(
        words, env=environ(shim, control), capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    failed, refused, lost, stuck = json.loads(done.stdout)
    assert failed > 0
    assert refused > 0
    assert lost == []
    assert stuck == []


_NAMES = """
import os, sys
name, kept = sys.argv[1], sys.argv[1] + ".kept"
file = os.open(name, os.O_RDWR | os.O_CREAT)
os.pwrite(file, b"one", 0)
os.fsync(file)
os.link(name, kept)
os.unlink(name)
os.rename(kept, name)
os.pwrite(file, b"two", 3)
os.fsync(file)
"""


def test_what_was_synced_stays_when_the_file_is_renamed_meanwhile(shim: Path, tmp_path: Path) -> None:
    """SQLite's write-ahead log is removed by a connection that fails, and gets its name again from another one."""
    folder, journal, control = tmp_path / "disk", tmp_path / "journal", Control(tmp_path / "control")
    folder.mkdir()
    own = {"FAULTS_UNDER": str(folder), "FAULTS_JOURNAL": str(journal)}
    subprocess.run(
        [sys.executable, "-c", _NAMES, folder / "log"], env={**environ(shim, control.path), **own}, check=True
    )
    cut_power({}, journal, random.Random(0))
    assert (folder / "log").read_bytes() == b"onetwo"
