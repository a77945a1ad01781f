"""The blocks of a page, and its commands, run as a reader types them."""

from __future__ import annotations

import math
import re
import shlex
import subprocess
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from adalog.gateway.cli.output import stages
from tests.documentation.conftest import ROOT
from tests.gateway.cli.command_line import adalog

_BLOCK = re.compile(r"^```([\w-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What differs from run to run.
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z")
_DURATION = re.compile(r"[\d,]+(?:\.\d+)? m?s\b")
_FOLDER = re.compile(r"\(/[^)]*/(?=\w+/data\))")
_SECONDS = re.compile(r'"seconds": ?[\d.]+')
PROMPT = "$ "
SERVER = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Block:
    """One fenced block; `before` is the text between it and the block above."""

    language: str
    text: str
    before: str

    @property
    def file(self) -> str | None:
        """The file as which the text above the block asks to save it."""
        named = re.findall(r"[Ss]ave this as `([^`]+)`", self.before)
        return named[-1] if named else None


def blocks(name: str) -> list[Block]:
    """The fenced blocks of a page of docs, in order."""
    text = ROOT.joinpath("docs", name).read_text(encoding="utf-8")
    found, at = [], 0
    for match in _BLOCK.finditer(text):
        found.append(Block(match[1], match[2], text[at : match.start()]))
        at = match.end()
    return found


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console, each with what it printed."""
    found = []
    for part in re.split(rf"^{re.escape(PROMPT)}", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        count = next(count for count in range(1, len(lines) + 1) if _is_whole("".join(lines[:count])))
        found.append(("".join(lines[:count]).strip(), "".join(lines[count:])))
    return found


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.rstrip().endswith("\\")


def printed(command: str, folder: Path, server: str = SERVER) -> str:
    """What a command prints in `folder`, on both streams; adalog runs in this process, and asks `server`."""
    name, *words = shlex.split(command.replace(SERVER, server))
    # The lines that tell of a long job depend on the machine.
    with chdir(folder), patch.object(stages, "_LINE_SECONDS", math.inf):
        if name == ".venv/bin/adalog":
            done = adalog(*words, ADALOG_SPARK="off")
            assert done.exit_code == 0, done.output
            return done.output
        return subprocess.run([name, *words], capture_output=True, text=True, check=True).stdout


def settled(text: str) -> str:
    """What is printed, without what differs from run to run."""
    text = _DURATION.sub("0 ms", _INSTANT.sub("NOW", text))
    return _FOLDER.sub("(/…/", _SECONDS.sub('"seconds": 0', text))
