"""A gateway in a process of its own, which is killed and begins again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Final

from tests.several.clients import Address
from tests.several.fleet import Said

SERVE: Final = "from adalog.gateway.cli import main; main()"


class Gateway:
    """One gateway on a port of its own, which it keeps when it is started again. program: what it runs, with the
    command line's arguments. `said`: what those that have ended wrote to their logs."""

    def __init__(self, environment: Mapping[str, str], program: str = SERVE) -> None:
        self.environment = {"ADALOG_SPARK": "off", "NO_COLOR": "1", **environment}
        self._program = program
        self.address: Address = ("127.0.0.1", 0)
        self.said = ""
        self.start()

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self._program, "serve", "--port", str(self.address[1])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
        )
        assert self.process.stderr is not None
        self.log = Said(self.process.stderr)

    def wait(self) -> bool:
        """Whether it serves; False where it ended."""
        assert self.process.stdout is not None
        found = re.search(r"http://(\S+?):(\d+)", self.process.stdout.readline())
        if found is None:
            return False
        self.address = found[1], int(found[2])
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.said += self.log.whole()

    def begin_again(self, stopped: threading.Event) -> None:
        """As an orchestrator does: until it serves."""
        self.kill()
        for _ in range(20):
            self.start()
            if self.wait():
                return
            # What it needs may be away.
            self.kill()
            stopped.wait(0.2)
        raise AssertionError(self.said)
