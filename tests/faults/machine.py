"""A server on a disk that fails when it is told to: it is asked over HTTP, killed, and its power is cut."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import httpx

from tests.faults.disk import Control, contents, cut_power
from tests.several.clients import TRANSACT, Caller
from tests.several.gateway import SERVE, Gateway

# Small runs, so that there are folds and checkpoints in seconds; the disk is looked at soon after it failed.
_PROGRAM = f"""
from adalog.store.checkpoint import compactor, replay
from adalog.store.writer import in_doubt
from adalog.store.tries import relation
compactor._LEAST = compactor._ENOUGH = relation._LEAST = 40
replay._APART_SECONDS = 0.02
in_doubt._REST = 0.05
{SERVE}
"""
NUMBERS = "[:find (count ?e) . :where [?e :n _]]"


class Machine:
    """A server, its disk, and its power."""

    def __init__(self, shim: Path, folder: Path, program: str = _PROGRAM, **settings: str) -> None:
        self.disk = folder / "disk"
        self.data = self.disk / "data"
        self.data.mkdir(parents=True)
        self.control = Control(folder / "control")
        self._journal = folder / "journal"
        self._before = contents(self.data)
        faults = {
            "LD_PRELOAD": str(shim),
            "FAULTS_UNDER": str(self.disk),
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

    def ask(self, document: str, **variables: Any) -> Any:
        """The answer's data. Raises Refused."""
        caller = Caller([self.gateway.address], random.Random(0))
        try:
            return caller.ask(document, patience=60.0, **variables)
        finally:
            caller.close()

    def transact(self, tx: str, key: str | None = None) -> int:
        """The transaction's t."""
        t: int = self.ask(TRANSACT, tx=tx, key=key)["transact"]["t"]
        return t

    def count(self) -> int:
        """How many numbers there are."""
        found: int = self.ask("query($q: EDN!) { q(query: $q) { value } }", q=NUMBERS)["q"]["value"]
        return found

    def is_ready(self) -> bool:
        return httpx.get(f"{self.gateway.url}/readyz", timeout=60).status_code == 200

    def backup(self) -> httpx.Response:
        to = {"to": str(self.disk / "backups")}
        return httpx.post(f"{self.gateway.url}/backup", json=to, timeout=60)
