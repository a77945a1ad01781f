"""A server whose disk is slow, full, or fails: reads go on, writes are refused for the right reason, and what was
refused goes through as soon as the disk is well. The server is never started again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adalog.store.backup.check_backups import check_backups
from adalog.store.files.place import place_of
from tests.faults.disk import Kind
from tests.faults.machine import Machine
from tests.several.clients import Refused
from tests.waiting import until


@pytest.fixture(scope="module")
def served(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(shim, tmp_path_factory.mktemp("served"))
    try:
        machine.transact("[{:n 0}]")
        until(machine.is_ready)
        yield machine
    finally:
        machine.gateway.kill()
        assert "Traceback" not in machine.gateway.said


@pytest.fixture
def machine(served: Machine) -> Iterator[Machine]:
    yield served
    served.control.well()


def test_a_disk_that_takes_long_with_an_fsync(machine: Machine) -> None:
    before = machine.count()
    machine.control.held()
    with ThreadPoolExecutor(4) as threads:
        writes = [threads.submit(machine.transact, f"[{{:n {100 + n}}}]") for n in range(4)]
        assert [machine.count() for _ in range(20)] == [before] * 20
        assert machine.is_ready()
        assert not any(write.done() for write in writes)
        machine.control.well()
        assert len({write.result() for write in writes}) == 4
    assert machine.count() == before + 4


@pytest.mark.parametrize("kind", [Kind.WRITE_ENOSPC, Kind.WRITE_EIO])
def test_a_disk_that_takes_no_more(machine: Machine, kind: Kind) -> None:
    before = machine.count()
    machine.control.always(kind)
    for n in range(3):
        with pytest.raises(Refused, match="nothing was applied") as refused:
            machine.transact(f"[{{:n {200 + n}}}]", key=f"{kind} {n}")
        assert refused.value.code == "BACKEND_UNAVAILABLE"
        assert machine.count() == before
    assert machine.is_ready()
    assert '"code":"BACKEND_UNAVAILABLE"' in machine.backup().text
    machine.control.well()
    for n in range(3):
        machine.transact(f"[{{:n {200 + n}}}]", key=f"{kind} {n}")
    assert machine.count() == before + 3
    assert "event: done" in machine.backup().text
    assert check_backups(place_of(str(machine.disk / "backups"))).findings == []


def test_an_fsync_that_fails_is_never_answered(machine: Machine) -> None:
    before = machine.count()
    machine.control.always(Kind.SYNC_EIO)
    with pytest.raises(Refused, match="it is unknown whether") as doubtful:
        machine.transact("[{:n 300}]", key="doubtful")
    assert doubtful.value.code == "BACKEND_UNAVAILABLE"
    with pytest.raises(Refused) as refused:
        machine.transact("[{:n 301}]", key="refused")
    assert refused.value.code == "READ_ONLY"
    assert machine.count() == before
    assert not machine.is_ready()
    machine.control.well()
    until(machine.is_ready)
    first = machine.transact("[{:n 300}]", key="doubtful")
    assert machine.transact("[{:n 300}]", key="doubtful") == first
    machine.transact("[{:n 301}]", key="refused")
    assert machine.count() == before + 2


def test_folds_on_a_full_disk_are_made_up_for(machine: Machine) -> None:
    machine.control.always(Kind.OPEN)
    machine.control.writes_only()
    checkpoint = machine.data / "checkpoint.json"
    before = checkpoint.read_bytes() if checkpoint.exists() else b""

    def more(start: int) -> None:
        machine.transact("[" + " ".join(f"{{:n {n}}}" for n in range(start, start + 60)) + "]")

    more(1000)
    until(lambda: "no checkpoint was made" in machine.gateway.log.text)
    assert machine.count() > 60
    machine.control.well()
    more(2000)
    until(lambda: checkpoint.exists() and checkpoint.read_bytes() != before)
