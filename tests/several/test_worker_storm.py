"""Random clients of three workers that are killed and paused: the history is strictly serializable."""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import suppress
from pathlib import Path

from adalog.store.database import Database
from tests.several.fleet import Fleet, serving
from tests.several.storm import storm

_WORKERS = 3
# A pause up to this long is forgiven, a longer one ends the worker.
_SECONDS = 2.0


def trouble(fleet: Fleet, chance: random.Random, stopped: threading.Event) -> None:
    """Kills one worker after the other, at least one, or stops it for a while: in a turn, sooner or later."""
    killed = False
    while not stopped.wait(chance.uniform(0.1, 0.8)) or not killed:
        workers = fleet.workers()
        if not workers:
            continue
        worker = chance.choice(workers)
        with suppress(ProcessLookupError):
            if chance.random() < 0.6:
                os.kill(worker, signal.SIGKILL)
                killed = True
                continue
            os.kill(worker, signal.SIGSTOP)
            try:
                stopped.wait(chance.choice((0.05, 0.3, _SECONDS + 1)))
            finally:
                os.kill(worker, signal.SIGCONT)


def test_workers_that_are_killed_and_paused_are_one_database(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder, _WORKERS, silent_seconds=_SECONDS) as fleet:
        fleet.until_ready(1)
        seen = storm(
            [fleet.address], lambda chance, stopped: trouble(fleet, chance, stopped), fresh=True, clients=5
        )
        fleet.until_ready(_WORKERS)
        print(seen)
        assert seen["done"] > 10
        assert fleet.stop() < 15
        assert fleet.process.returncode == 0
        said = fleet.said.whole()
        assert "was ended by SIGKILL" in said
        assert "Traceback" not in said
    # What is on disk is what was told.
    with Database.open(str(folder)) as database:
        assert database.snapshot().t == seen["log"]
