"""`.ci/run` checks a clone in a folder of mode 0700 and removes it; here of a repository with quick checks."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.spark_processes import alive
from tests.waiting import until

ROOT = Path(__file__).parents[2]
MAKEFILE = """
check:
\t@echo checked
test:
\t@stat -c '%a alone: ' .. && ls -A ..
\t@cat told
\t@$(TEST)
"""

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GNU's stat says the mode"),
    pytest.mark.skipif(not (shutil.which("git") and shutil.which("make")), reason="needs git and make"),
]


def git(folder: Path, *words: str) -> None:
    """Runs git as an author, whatever settings the user has."""
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "safe.directory=*")
    subprocess.run(["git", *author, "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with two commits, whose Makefile does what TEST says."""
    made = tmp_path / "checkout"
    (made / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", made / ".ci")
    (made / "Makefile").write_text(MAKEFILE)
    (made / ".gitignore").write_text("build/\n")
    (made / "told").write_text("the first\n")
    git(made, "init", "--quiet")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message", "The first")
    (made / "told").write_text("the second\n")
    git(made, "commit", "--quiet", "--all", "--message", "The second")
    return made


@contextmanager
def running(checkout: Path, test: str = "true", **environment: str) -> Iterator[subprocess.Popen[str]]:
    """`.ci/run` as a service starts it: without input."""
    with subprocess.Popen(
        ["bash", checkout / ".ci" / "run"],
        env={**os.environ, "TEST": test, "CI": "true", **environment},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ran(checkout: Path, test: str = "true", **environment: str) -> tuple[int, str]:
    """The exit code and what is printed; nothing is left of the clone."""
    with running(checkout, test, **environment) as process:
        said, complaint = process.communicate(timeout=60)
    assert list((checkout / "build").glob("*")) == [], complaint
    return process.returncode, said


def test_a_clone_in_a_folder_of_its_own_is_checked(checkout: Path) -> None:
    code, said = ran(checkout)
    assert code == 0
    assert "The second in a clone" in said
    assert "checked\n700 alone: \nadalog\nthe second\n" in said


def test_what_a_make_that_started_it_was_told_is_not_for_the_checks(checkout: Path) -> None:
    code, said = ran(checkout, MAKEFLAGS="n", MAKELEVEL="1")
    assert code == 0
    assert "checked\n700 alone: \nadalog\nthe second\n" in said


def test_a_test_that_fails_is_told_by_the_exit_code(checkout: Path) -> None:
    code, said = ran(checkout, "echo 3 failed; exit 3")
    assert code == 2, "make's own"
    assert "3 failed\n" in said


def test_a_check_that_fails_is_told_by_the_exit_code(checkout: Path) -> None:
    (checkout / "Makefile").write_text(MAKEFILE.replace("@echo checked", "@echo unchecked; false"))
    git(checkout, "commit", "--quiet", "--all", "--message", "Worse")
    code, said = ran(checkout)
    assert code == 2
    assert "unchecked" in said
    assert "alone" not in said


def test_what_is_not_committed_is_named_and_left_out(checkout: Path) -> None:
    (checkout / "told").write_text("the third\n")
    (checkout / "new").touch()
    code, said = ran(checkout)
    assert code == 0
    assert "not committed, so not part of what is checked:\n M told\n?? new\n" in said
    assert "the second\n" in said


def test_a_shallow_clone_a_worktree_and_no_branch(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "clone", "--quiet", "--depth", "1", f"file://{checkout}", str(tmp_path / "shallow"))
    git(checkout, "worktree", "add", "--detach", str(tmp_path / "worktree"), "HEAD~1")
    assert "the second\n" in ran(tmp_path / "shallow")[1]
    assert "the first\n" in ran(tmp_path / "worktree")[1]
    git(checkout, "checkout", "--quiet", "HEAD~1")
    assert "the first\n" in ran(checkout)[1]
    # As in a hook, which git starts with variables of its own.
    assert "the second\n" in ran(tmp_path / "shallow", GIT_DIR=str(checkout / ".git"), GIT_INDEX_FILE="index")[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files another user's")
def test_a_checkout_of_another_user(checkout: Path) -> None:
    account = pwd.getpwnam("nobody")
    for path in (checkout, *checkout.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid)
    code, said = ran(checkout, HOME="/nonexistent")
    assert code == 0
    assert "the second\n" in said


def test_where_there_is_no_repository_the_files_themselves_are_checked(checkout: Path) -> None:
    shutil.rmtree(checkout / ".git")
    code, said = ran(checkout)
    assert code == 0
    assert f"checking {checkout} itself" in said
    assert "the second\n" in said


def test_a_checkout_that_cannot_be_written_to(checkout: Path, tmp_path: Path) -> None:
    """The clone goes below TMPDIR."""
    (checkout / "build").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code, said = ran(checkout, TMPDIR=str(temporary))
    assert code == 0
    assert f"in a clone, {temporary}/" in said
    assert list(temporary.iterdir()) == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Signals end processes that a test starts, also where the tests run in a shell's background or under nohup."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGHUP, before[1])


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_all_that_it_started(checkout: Path, sent: signal.Signals) -> None:
    with running(checkout, "echo process $$$$; exec sleep 600") as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("process"))
        (folder,) = (checkout / "build").iterdir()
        process.send_signal(sent)
        assert process.wait(60) == 128 + sent
        assert not folder.exists()
        until(lambda: not alive(int(line.split()[1])))


def test_what_a_killed_run_left_is_removed_by_the_next(checkout: Path) -> None:
    with running(checkout, "echo process $$$$; exec sleep 600") as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("process"))
        (left,) = (checkout / "build").iterdir()
        process.kill()
        process.wait()
        os.kill(int(line.split()[1]), signal.SIGKILL)
    assert re.fullmatch(r"ci\.\d+", left.name)
    assert left.exists()
    assert ran(checkout)[0] == 0
