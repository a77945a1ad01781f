"""Several workers behind one port: who gets which connection, what becomes of one that ends, and how all end."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from adalog.datalog.errors import AdalogError
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.workers.shares import share_of
from adalog.gateway.workers.stopped_writer import stops_writers
from adalog.store.database import Database
from tests.several.clients import TRANSACT, Caller, Refused
from tests.several.fleet import Fleet, serving
from tests.spark_processes import alive
from tests.waiting import until

COUNT = "[:find (count ?a) . :where [?a :account/name]]"
ADA = '[{:account/name "Ada"} {:account/name "Alan"}]'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("workers") / "data"
    with Database.open(str(path)) as database:
        database.transact(ADA)
    return path


@pytest.fixture(scope="module")
def fleet(folder: Path) -> Iterator[Fleet]:
    with serving(folder, 2, silent_seconds=3, ADALOG_CONNECTIONS_PER_ADDRESS="5000") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _ready(request: pytest.FixtureRequest) -> None:
    if "fleet" in request.fixturenames:
        request.getfixturevalue("fleet").until_ready(2)


def counted(fleet: Fleet, client: httpx.Client | None = None) -> int:
    body = {"query": "query($q: EDN!) { q(query: $q) { value } }", "variables": {"q": COUNT}}
    answer = (client or httpx).post(f"{fleet.url}/graphql", json=body, timeout=30).json()
    value: int = answer["data"]["q"]["value"]
    return value


def by_worker(fleet: Fleet, name: str) -> dict[str, float]:
    found = re.findall(rf'^{name}{{worker="(\d+)"}} (\S+)$', fleet.get("/metrics").text, re.MULTILINE)
    return {worker: float(value) for worker, value in found}


def test_connections_are_spread_evenly(fleet: Fleet) -> None:
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(httpx.Client(base_url=fleet.url)) for _ in range(16)]
        assert {counted(fleet, client) for client in clients} == {2}
        # That of whoever asks is one more.
        assert sorted(by_worker(fleet, "adalog_connections").values()) == [8, 9]


def test_the_metrics_are_those_of_all_whoever_is_asked(fleet: Fleet) -> None:
    texts = [fleet.get("/metrics").text for _ in range(4)]
    for text in texts:
        assert {'adalog_basis_t{worker="0"} 1.0', 'adalog_basis_t{worker="1"} 1.0'} <= set(text.splitlines())
        assert len(re.findall("^# TYPE adalog_requests_total counter$", text, re.MULTILINE)) == 1
        assert "adalog_workers 2.0" in text
        assert "adalog_workers_ready 2.0" in text


def test_a_worker_that_is_killed_is_replaced_and_the_other_serves(fleet: Fleet) -> None:
    first, second = fleet.workers()
    before = re.search("^adalog_worker_restarts_total (.*)$", fleet.get("/metrics").text, re.MULTILINE)
    assert before is not None
    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first))
    # No connection is lost: the supervisor has them.
    assert [counted(fleet) for _ in range(8)] == [2] * 8
    fleet.until_ready(2)
    assert second in fleet.workers()
    fleet.said.wait_for(f"(process {first}) was ended by SIGKILL; another is started")
    assert f"adalog_worker_restarts_total {float(before[1]) + 1}" in fleet.get("/metrics").text


def test_a_worker_that_hangs_is_replaced_and_what_it_had_not_taken_is_served(fleet: Fleet) -> None:
    stopped, other = fleet.workers()
    os.kill(stopped, signal.SIGSTOP)
    try:
        with asked(fleet, 6) as connections:
            # Some of them were given to the one that does not take them.
            assert [connection.getresponse().status for connection in connections] == [200] * 6
        fleet.said.wait_for(f"(process {stopped}) has not answered for")
        until(lambda: not alive(stopped))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)
    fleet.until_ready(2)
    assert other in fleet.workers()


def test_a_worker_that_is_stopped_while_it_writes_is_replaced_at_once(fleet: Fleet, folder: Path) -> None:
    index = folder / "log.sqlite-shm"
    if not Path("/proc/locks").exists():
        pytest.skip("needs Linux")

    written = threading.Event()

    def write_on() -> None:
        caller = Caller([fleet.address], random.Random(0))
        while not written.is_set():
            with contextlib.suppress(Refused, OSError, http.client.HTTPException, ValueError):
                caller.ask(TRANSACT, tx='[[:db/add "a" :account/note "a"]]')
        caller.close()

    writers = [threading.Thread(target=write_on) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        stopped = _stopped_in_its_turn(fleet, index)
        fleet.said.wait_for(f"(process {stopped}) is stopped while it has the turn to write")
        until(lambda: not alive(stopped))
    finally:
        written.set()
        for writer in writers:
            writer.join()
    fleet.until_ready(2)


def _stopped_in_its_turn(fleet: Fleet, index: Path) -> int:
    while True:
        for worker in fleet.workers():
            os.kill(worker, signal.SIGSTOP)
            # The signal is on its way for a moment.
            until(partial(_is_stopped, worker))
            if stops_writers(worker, index):
                return worker
            os.kill(worker, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_locks_are_told_apart(tmp_path: Path) -> None:
    index = tmp_path / "log.sqlite-shm"
    index.touch()
    (tmp_path / "7").mkdir()
    file = index.stat().st_ino

    def stops(state: str, *locks: str) -> bool:
        (tmp_path / "7" / "stat").write_text(f"7 (a (name)) {state} 1 2")
        (tmp_path / "locks").write_text("".join(f"{line}\n" for line in locks))
        return stops_writers(7, index, tmp_path)

    turn = f"1: POSIX  ADVISORY  WRITE 7 fe:00:{file} 120 120"
    assert stops("T", turn)
    assert stops("t", "2: FLOCK  ADVISORY  WRITE 7 fe:00:1 0 EOF", turn)
    assert not stops("S", turn)
    assert not stops("T", turn.replace("WRITE 7", "WRITE 8"))
    assert not stops("T", turn.replace("120 120", "123 123"))
    assert not stops("T", turn.replace("WRITE", "READ"))
    assert not stops("T", turn.replace(str(file), str(file + 1)))
    assert not stops("T", turn.replace("1: ", "1: -> "))
    assert not stops_writers(8, index, tmp_path)


@contextlib.contextmanager
def asked(fleet: Fleet, times: int) -> Iterator[list[http.client.HTTPConnection]]:
    """Connections over which something was asked."""
    with contextlib.ExitStack() as opened:
        connections = []
        for _ in range(times):
            connection = http.client.HTTPConnection(*fleet.address, timeout=60)
            opened.callback(connection.close)
            connection.request("GET", "/healthz")
            connections.append(connection)
        yield connections


def test_no_worker_is_held_by_what_is_suspicious_about_a_request(fleet: Fleet) -> None:
    """As many names that nobody declared as fit into a text: on the event loop, warnings about them took longer
    than a worker may be silent."""
    names = "[" + " ".join(f"[:db/retract 1 :u{number:05}/n 1]" for number in range(36_000)) + "]"
    field = 'q(query: "[:find ?a . :where [?a :account/name]]", with: $w) { value warnings { message } }'
    body = {"query": f"query($w: EDN) {{ a: {field} b: {field} }}", "variables": {"w": names}}
    before = fleet.workers()
    answer = httpx.post(f"{fleet.url}/graphql", json=body, timeout=60).json()
    assert "errors" not in answer, answer["errors"]
    for each in answer["data"].values():
        assert each["warnings"][20]["message"].endswith("35,980 more warnings are left out")
    assert fleet.workers() == before


def test_a_pause_that_is_short_is_forgiven(fleet: Fleet) -> None:
    workers = fleet.workers()
    os.kill(workers[0], signal.SIGSTOP)
    with asked(fleet, 6) as connections:
        os.kill(workers[0], signal.SIGCONT)
        assert [connection.getresponse().status for connection in connections] == [200] * 6
    assert fleet.workers() == workers


def test_no_connection_is_lost_while_there_is_no_room_for_it_or_no_worker(fleet: Fleet) -> None:
    workers = fleet.workers()
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    # More than the channels to both of them hold.
    with asked(fleet, 700) as connections:
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        assert [connection.getresponse().status for connection in connections] == [200] * 700
    fleet.until_ready(2)


def test_a_worker_that_is_told_to_end_is_replaced_and_loses_nobody(fleet: Fleet) -> None:
    first, second = fleet.workers()
    os.kill(first, signal.SIGTERM)
    assert [fleet.get("/healthz").status_code for _ in range(8)] == [200] * 8
    fleet.said.wait_for(f"(process {first}) ended with exit code 0; another is started")
    fleet.until_ready(2)
    assert second in fleet.workers()


def test_the_folder_belongs_to_one_server(fleet: Fleet, folder: Path) -> None:
    answer = _run("serve", "--port", "0", "--data", str(folder), "--workers", "2")
    assert answer.returncode == 3
    assert f"is in use by another adalog process; ask that one with --url {fleet.url}" in answer.stderr
    assert "Traceback" not in answer.stderr
    # And to one process, as `adalog transact --data` is.
    with pytest.raises(AdalogError, match="is in use by another adalog process"):
        Database.open(str(folder))


def test_workers_end_with_a_supervisor_that_is_killed(fleet: Fleet, folder: Path) -> None:
    workers = fleet.workers()
    fleet.process.kill()
    fleet.process.wait()
    until(lambda: not any(map(alive, workers)))

    def is_free() -> bool:
        # Its first thread may be gone before the others let go of the files.
        with contextlib.suppress(AdalogError), Database.open(str(folder)) as database:
            return database.snapshot().t >= 1
        return False

    until(is_free)


def test_a_signal_ends_all(tmp_path: Path) -> None:
    with serving(tmp_path / "data", 2) as fleet:
        fleet.until_ready(2)
        workers = fleet.workers()
        with httpx.Client(base_url=fleet.url) as client:
            assert counted(fleet, client) is None
            assert fleet.stop(signal.SIGTERM) < 15
        assert fleet.process.returncode == 0
        assert not any(map(alive, workers))
        assert "Traceback" not in fleet.said.whole()


def test_a_signal_while_the_first_worker_starts_ends_all(tmp_path: Path) -> None:
    with serving(tmp_path / "data", 2) as fleet:
        assert fleet.stop(signal.SIGINT) < 15
        assert fleet.process.returncode == 0
        assert "Traceback" not in fleet.said.whole()


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from adalog.gateway.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "ADALOG_SPARK": "off", "NO_COLOR": "1", **environment},
    )


def test_what_no_worker_can_start_with_is_said_once(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    with Database.open(str(damaged)) as database:
        database.transact(ADA)
    with contextlib.closing(sqlite3.connect(damaged / "log.sqlite")) as log:
        log.execute("UPDATE transactions SET checksum = checksum + 1")
        log.commit()
    answer = _run("serve", "--workers", "3", "--port", "0", "--data", str(damaged))
    assert answer.returncode == 1
    assert answer.stderr.count("the log is damaged: transaction 1 is not what was written") == 1
    assert "Traceback" not in answer.stderr

    tokens = tmp_path / "tokens"
    tokens.write_text("nonsense\n")
    tokens.chmod(0o600)
    answer = _run(
        "serve", "--workers", "2", "--port", "0", "--data", str(tmp_path / "auth"), ADALOG_AUTH=str(tokens)
    )
    assert (answer.returncode, "a line is `name:role:sha256hex`" in answer.stderr) == (2, True)


def test_what_cannot_be_shared_is_refused_before_anything_starts() -> None:
    with pytest.raises(SettingError, match="a database in memory belongs to one process"):
        checked(Settings(data=":memory:", workers=2))


def test_a_share_is_rounded_up_and_the_rest_is_as_it_was() -> None:
    whole = Settings(data="x", workers=3, rate_units=9.0)
    share = share_of(whole)
    changed = {name for name in Settings.__dataclass_fields__ if getattr(whole, name) != getattr(share, name)}
    assert {"connections", "cache_bytes", "live_subscriptions", "queries_at_once"} <= changed
    assert all(getattr(share, name) * 3 >= getattr(whole, name) for name in changed)
    assert share.connections == -(-whole.connections // 3)
