"""Random clients of three gateways on one PostgreSQL server, with Redis: gateways are killed and paused for longer
than a turn lasts, PostgreSQL is restarted, Redis is emptied. The history is strictly serializable."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

from tests import postgres_servers
from tests.postgres_servers import PostgresServer
from tests.redis_servers import RedisServer
from tests.redis_servers import running as running_redis
from tests.several.gateway import SERVE, Gateway
from tests.several.storm import storm

# A turn is taken from a gateway that is silent for 1.5 seconds, where it is 5 by default.
_PROGRAM = f"""
from adalog.store.log import server
server._SESSION = server._SESSION.replace(b"timeout = '5s'", b"timeout = '1500ms'")
server._SIGN_SECONDS = 0.3
{SERVE}
"""
_LONG = 2.5


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
        own = {"ADALOG_DATA": data, "ADALOG_REDIS_URL": redis, "ADALOG_REDIS_SECRET": "x" * 40}
        gateways += [Gateway(own, _PROGRAM) for _ in range(count)]
        assert all(gateway.wait() for gateway in gateways)
        yield gateways
    finally:
        for gateway in gateways:
            with suppress(OSError):
                gateway.process.send_signal(signal.SIGCONT)
            gateway.kill()


def test_gateways_that_are_killed_and_paused_are_one_database() -> None:
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
