"""The tests' PostgreSQL starts wherever the checkout and TMPDIR are, also for root, which needs another account."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adalog.store.files.private_folder import PrivateFolder
from tests import postgres_servers

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another account")

START = """
import sys
from tests.postgres_servers import running
with running() as server:
    print(server.folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder that only its user can enter."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


def test_a_server_starts_from_a_checkout_in_a_folder_of_mode_0700(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs, too, can be the user's alone, as an installation under umask 077 leaves them."""
    package = postgres_servers._PACKAGE
    copied = postgres_servers._copied(home / "checkout")
    shutil.copy(package / postgres_servers._VERSION / "bin" / "pgbench", copied)
    for path in (home / "checkout").rglob("*"):
        path.chmod(0o700)
    monkeypatch.setattr(postgres_servers, "_PACKAGE", home / "checkout" / package.name)
    temporary = home / "temporary"
    temporary.mkdir()
    with postgres_servers.running(temporary) as server:
        assert server.ask("postgres", "SELECT 6 * 7") == [(42,)]
        assert server.new_database()
        # Root's is elsewhere, where the other account can enter.
        assert server.folder.is_relative_to(home) == (os.geteuid() != 0)
        made = server.folder.parent
        client = subprocess.run([postgres_servers.pgbench(), "--version"], capture_output=True, check=False)
        assert client.returncode == 0
    assert not made.exists()


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killed:
        assert killed.stdout is not None
        left = Path(killed.stdout.readline().strip())
        beside = PrivateFolder(postgres_servers._PREFIX, left.parents[1])
        assert left.exists(), "a run under way lost its server"
        server = int((left / "data" / "postmaster.pid").read_text().split()[0])
        killed.kill()
    try:
        later = PrivateFolder(postgres_servers._PREFIX, left.parents[1])
        assert not left.parent.exists()
        assert beside.path.exists()
        beside.remove()
        later.remove()
    finally:
        os.kill(server, 9)


@AS_ROOT
def test_root_needs_another_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = pwd.getpwnam
    gone = {"nobody"}

    def found(name: str) -> pwd.struct_passwd:
        if name in gone:
            raise KeyError(name)
        return known(name)

    monkeypatch.setattr(pwd, "getpwnam", found)
    other = postgres_servers._account()
    assert other.pw_uid not in (0, known("nobody").pw_uid)
    gone.update(postgres_servers._ACCOUNTS)
    with pytest.raises(RuntimeError, match=r"refuses to run as root.* no account nobody"):
        postgres_servers._account()


@AS_ROOT
def test_where_no_place_will_do_each_is_named(monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path) -> None:
    monkeypatch.setattr(postgres_servers, "_OPEN_TO_ALL", (tmp_path / "missing",))
    with pytest.raises(RuntimeError) as refused, postgres_servers.running(home):
        pass
    assert str(home) in str(refused.value)
    assert str(tmp_path / "missing") in str(refused.value)
    assert list(home.iterdir()) == []
