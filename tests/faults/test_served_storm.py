"""Clients of a server whose disk fails at random calls, which is killed, and whose power is cut: what they were
answered stays, and what they were not is there whole or not at all."""

from __future__ import annotations

import random
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tests.faults.disk import ALL, RUNS, Kind
from tests.faults.machine import Machine
from tests.several.clients import TRANSACT, Caller, log_of, patiently, text_of
from tests.several.history import History
from tests.several.storm import storm
from tests.waiting import until

KILLS = min(3, max(1, len(RUNS) // 16))
# A server takes as long as a hundred lives of the writers.
SEEDS = range(RUNS.start, RUNS.start + max(1, len(RUNS) // 20))


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
        assert seen["done"] > 0
    finally:
        machine.gateway.kill()
    assert "Traceback" not in machine.gateway.said
