"""Terminals, pipes and signals: processes of their own, except where a signal would have to be timed."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
from fcntl import ioctl
from termios import TIOCSWINSZ

import pytest
from click.testing import CliRunner, Result

from adalog.gateway.cli import backend, main
from tests.gateway.cli.command_line import adalog, command, environ

NAMES = "[:find ?n ?b :where [?p :person/name ?n] [?p :person/born ?b]]"
# Where the database is, in the tests of each form: a process that only asks a server needs a third of the time.
PLACES = {"table": ("--url", "address"), "json": ("--data", "folder")}
# 100,000 rows: more than a pipe holds.
MANY = "[:find ?x ?y :in $ [?x ...] [?y ...]]"
NUMBERS = "[" + ",".join(map(str, range(320))) + "]"


@pytest.fixture
def place(request: pytest.FixtureRequest, form: str) -> tuple[str, str]:
    """The option that names the database, and its value."""
    option, fixture = PLACES[form]
    return option, request.getfixturevalue(fixture)


def on_terminal(columns: int, *arguments: str) -> list[str]:
    """What a terminal of that width shows."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    clean = environ(TERM="xterm")
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        clean.pop(name, None)
    shown = bytearray()
    with subprocess.Popen(command(*arguments), stdin=theirs, stdout=theirs, stderr=theirs, env=clean) as process:
        os.close(theirs)
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            # Linux's way to say that the other side is closed.
            pass
        finally:
            os.close(ours)
        assert process.wait(60) == 0, shown
    return re.sub("\x1b\\[[0-9;]*m", "", shown.decode()).splitlines()


def test_a_narrow_terminal(folder: str) -> None:
    head, *_, note, hidden, _ = on_terminal(70, "attributes", "--data", folder)
    assert head.split()[-1] == "doc"
    assert len(head.split()) == 8
    assert "cut to fit in 70 characters, in " in note
    assert "--all" in hidden
    lines = on_terminal(50, "attributes", "--data", folder)
    names = ["ident", "type", "cardinality", "unique", "component", "count", "past", "doc"]
    assert [line.split()[0] for line in lines[1:9]] == names


def test_arrow_is_not_for_terminals(address: str) -> None:
    ours, theirs = pty.openpty()
    arguments = command("query", "--url", address, "--format", "arrow", NAMES)
    done = subprocess.run(arguments, stdout=theirs, stderr=subprocess.PIPE, env=environ(), timeout=60, check=False)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert b"binary" in done.stderr


@pytest.mark.parametrize(("form", "unbuffered"), [("table", ""), ("json", "1")])
def test_a_reader_that_goes_away(place: tuple[str, str], form: str, unbuffered: str) -> None:
    arguments = command("query", *place, "--format", form, "--arg", NUMBERS, "--arg", NUMBERS, MANY)
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ(PYTHONUNBUFFERED=unbuffered)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.parametrize("form", ["table", "json"])
def test_output_that_cannot_be_written(place: tuple[str, str], form: str) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("query", *place, "--format", form, NAMES),
            stdout=full,
            stderr=subprocess.PIPE,
            env=environ(),
            timeout=60,
            check=False,
        )
    assert done.stderr == b"adalog: the output cannot be written: No space left on device\n"
    assert done.returncode == 1


def test_streams_that_are_closed(folder: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&-', "sh", *command("query", "--data", folder, NAMES)],
        stderr=subprocess.PIPE,
        env=environ(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *command("query", "--data", folder, "-")],
        stdout=subprocess.PIPE,
        env=environ(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")


def test_an_interrupted_command_says_nothing(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(backend.LocalBackend, "execute", interrupted)
    result = adalog("query", "--data", folder, NAMES)
    assert (result.exit_code, result.output) == (130, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_that_is_not_utf8(folder: str, encoding: str) -> None:
    adalog("transact", "--data", folder, '[{:person/name "Zoë 日" :person/born 1}]')

    def said(*words: str) -> Result:
        return CliRunner(charset=encoding).invoke(main, [words[0], "--data", folder, *words[1:]])

    table = said("query", NAMES)
    assert table.exit_code == 0, table.output
    assert ("Zo\\xeb \\u65e5" if encoding == "ascii" else "Zoë \\u65e5") in table.stdout
    assert "\n------" in table.stdout
    assert "Zoë 日" in said("query", "--format", "json", NAMES).stdout_bytes.decode("utf-8")
    assert " -> " in said("transact", '[{:db/id "x" :person/name "é"}]').stdout
    wrong = said("query", "[:find ?n :where\n [(日 ?n)]]")
    assert (wrong.exit_code, "^" in wrong.stderr) == (1, True)
    assert said("explain", NAMES).exit_code == 0
    assert said("pull", "[:person/name]", '[:person/name "Zoë 日"]').exit_code == 0


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adalog.gateway.cli", "--version"], capture_output=True, check=True
    )
    assert done.stdout.startswith(b"adalog, version ")


@pytest.mark.parametrize("name", ["serve", "query", "pull", "attributes", "transact", "explain", "sample"])
def test_help_has_an_example(name: str) -> None:
    assert f"      adalog {name} " in adalog(name, "--help").stdout
