"""Random clients of three gateways on one PostgreSQL server, with Redis: gateways are killed and paused for longer
than a turn lasts, PostgreSQL is restarted, Redis is emptied. The history is strictly serializable."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests import postgres_servers
from tests.gateways.clients import Address
from tests.gateways.fleet import Said
from tests.gateways.storm import storm
from tests.postgres_servers import PostgresServer
from tests.redis_servers import RedisServer
from tests.redis_servers import running as running_redis

# A turn is taken from a gateway that is silent for 5 seconds.
_LONG = 7.0


class Gateway:
    """One gateway on a port of its own, which it keeps when it is started again."""

    def __init__(self, data: str, redis: str) -> None:
        self._environment = {
            "ADALOG_DATA": data,
            "ADALOG_REDIS_URL": redis,
            "ADALOG_REDIS_SECRET": "x" * 40,
            "ADALOG_SPARK": "off",
            "NO_COLOR": "1",
        }
        self.address: Address = ("127.0.0.1", 0)
        self.said = ""
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from gateway.cli import main; main()", "serve", "--port", str(self.address[1])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self._environment},
        )
        assert self.process.stderr is not None
        self._log = Said(self.process.stderr)

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
        self.said += self._log.whole()

    def begin_again(self, stopped: threading.Event) -> None:
        """As an orchestrator does: until it serves."""
        self.kill()
        for _ in range(20):
            self.start()
            if self.wait():
                return
            # PostgreSQL may be away.
            self.kill()
            stopped.wait(0.2)
        raise AssertionError(self.said)


def trouble(
    gateways: list[Gateway],
    postgres: PostgresServer,
    redis: RedisServer,
    chance: random.Random,
    stopped: threading.Event,
) -> None:
    """Everything that is named above, each at least once and then by chance."""
    todo = ["kill", "pause", "restart", "flush"]
    while not stopped.wait(chance.uniform(0.3, 1.0)) or todo:
        what = todo.pop() if todo else chance.choice(("kill", "pause", "blink", "restart", "flush"))
        gateway = chance.choice(gateways)
        if what == "flush":
            with redis.client() as client:
                client.flushall()
        elif what == "restart":
            postgres.stop(chance.choice((signal.SIGINT, signal.SIGQUIT)))
            stopped.wait(0.3)
            postgres.start()
        elif what == "kill":
            gateway.begin_again(stopped)
        else:
            gateway.process.send_signal(signal.SIGSTOP)
            try:
                threading.Event().wait(_LONG if what == "pause" else 0.4)
            finally:
                gateway.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running(data: str, redis: str, count: int) -> Iterator[list[Gateway]]:
    gateways: list[Gateway] = []
    try:
        # All at once: the tables are made once.
        gateways += [Gateway(data, redis) for _ in range(count)]
        assert all(gateway.wait() for gateway in gateways)
        yield gateways
    finally:
        for gateway in gateways:
            with suppress(OSError):
                gateway.process.send_signal(signal.SIGCONT)
            gateway.kill()


def test_gateways_that_are_killed_and_paused_are_one_database(tmp_path: Path) -> None:
    with (
        postgres_servers.running() as postgres,
        running_redis("valkey") as redis,
        running(postgres.new_database(), redis.url, 3) as gateways,
    ):
        addresses = [gateway.address for gateway in gateways]
        seen = storm(
            addresses,
            lambda chance, stopped: trouble(gateways, postgres, redis, chance, stopped),
            fresh=False,
            clients=5,
        )
        print(seen)
        assert seen["done"] > 10
        for gateway in gateways:
            gateway.kill()
            assert "Traceback" not in gateway.said
