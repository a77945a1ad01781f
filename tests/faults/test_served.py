"""Clients of a server whose disk fails at random calls, which is killed, and whose power is cut: what they were
answered stays, and what they were not is there whole or not at all."""

from __future__ import annotations

import random
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tests.faults.disk import ALL, RUNS, Control, Kind, contents, cut_power
from tests.gateways.clients import TRANSACT, Caller, log_of, patiently, text_of, until
from tests.gateways.gateway import SERVE, Gateway
from tests.gateways.history import History
from tests.gateways.storm import storm

# Small runs, so that there are folds and checkpoints in seconds; the disk is looked at soon after it failed.
_PROGRAM = f"""
from store import compactor, relation, replay, writer
compactor._LEAST = compactor._ENOUGH = relation._LEAST = 40
replay._APART_SECONDS = 0.02
writer._REST = 0.05
{SERVE}
"""
# `ADALOG_FAULTS=300` runs as many in a process, and one in ten of them as a server.
KILLS = 2
# A server takes as long as a hundred lives of the writers.
SEEDS = range(RUNS.start, RUNS.start + max(1, len(RUNS) // 20))


class Machine:
    """A server, its disk, and its power."""

    def __init__(self, shim: Path, folder: Path, program: str = _PROGRAM, **settings: str) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        self.control = Control(folder / "control")
        self._journal = folder / "journal"
        self._before = contents(self.data)
        faults = {
            "LD_PRELOAD": str(shim),
            "FAULTS_UNDER": str(self.data),
            "FAULTS_CONTROL": str(self.control.path),
            "FAULTS_JOURNAL": str(self._journal),
        }
        self.gateway = Gateway({"ADALOG_DATA": str(self.data), **settings, **faults}, program)
        assert self.gateway.wait(), self.gateway.log.whole()

    def die(self, chance: random.Random, *, power: bool) -> None:
        """Ends the server as by SIGKILL; with `power` the disk forgets what it may."""
        self.gateway.kill()
        if power:
            cut_power(self._before, self._journal, chance)

    def live(self) -> None:
        """Starts the server again, on whatever disk there is."""
        self._before = contents(self.data)
        self._journal.unlink(missing_ok=True)
        self.gateway.environment["FAULTS_SEED"] = str(random.getrandbits(32))
        for _ in range(40):
            self.gateway.start()
            if self.gateway.wait():
                return
            self.gateway.kill()
            self.control.well()
        raise AssertionError(self.gateway.said)


def trouble(machine: Machine, history: History, chance: random.Random) -> None:
    """The disk fails now and then, and the server is killed, sometimes with the power: so many times each."""
    control, kills = machine.control, 0
    while kills < KILLS:
        kinds = chance.choice(
            [ALL, ALL, Kind.SYNC_EIO, Kind.WRITE_EIO | Kind.WRITE_ENOSPC | Kind.WRITE_SHORT, Kind.OPEN]
        )
        control.fails(chance.choice([0.002, 0.02, 0.1, 0.5]), kinds)
        time.sleep(chance.uniform(0.0, 0.5))
        if chance.random() < 0.3:
            machine.die(chance, power=chance.random() < 0.6)
            machine.live()
            kills += 1
        if chance.random() < 0.8:
            # Well again, it writes again, by itself.
            control.well()
            more = history.answered + chance.randrange(1, 20)
            until(partial(history.has_answered, more))
    control.well()


@pytest.mark.parametrize("seed", SEEDS)
def test_clients_of_a_server_on_a_failing_disk(shim: Path, tmp_path: Path, seed: int) -> None:
    machine = Machine(shim, tmp_path)
    history = History()
    try:
        address = machine.gateway.address
        seen = storm(
            [address],
            lambda chance, _: trouble(machine, history, chance),
            fresh=True,
            clients=4,
            seed=seed,
            seconds=threading.TIMEOUT_MAX,
            history=history,
        )
        machine.die(random.Random(seed), power=True)
        machine.live()
        caller = Caller([address], random.Random(seed))
        for write in history.writes:
            if write.answers and write.key is not None:
                ask = partial(caller.ask, TRANSACT, tx=text_of(write), key=write.key, basis=write.expected)
                assert patiently(ask)["transact"]["t"] == write.answers[0], write
        caller.close()
        assert len(log_of(address)) == seen["log"]
        print(seen)
        assert seen["done"] > 10
    finally:
        machine.gateway.kill()
    assert "Traceback" not in machine.gateway.said
