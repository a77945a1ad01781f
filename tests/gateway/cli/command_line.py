"""The command line in this process, and in one of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from click.testing import CliRunner, Result

from adalog.gateway.cli import main


def adalog(*arguments: str, stdin: str | bytes | None = None, **environ: str) -> Result:
    """What a command prints and answers, with no ADALOG_ variables but these."""
    clean = {name: None for name in os.environ if name.startswith("ADALOG_")}
    return CliRunner().invoke(main, arguments, input=stdin, env={**clean, **environ})


def command(*arguments: str) -> Sequence[str]:
    """The words of a process of its own."""
    return [sys.executable, "-m", "adalog.gateway.cli", *arguments]


def environ(**more: str) -> dict[str, str]:
    """The variables for a process of its own: none of ADALOG_ but these."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ADALOG_")}
    return {**clean, **more}
