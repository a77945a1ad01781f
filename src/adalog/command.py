"""The command `adalog`, also as `python -m adalog`: the command line, or what to install for it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

# Of the extra, and needed before anything can be said in another way.
_LIBRARIES = ("click", "rich", "pydantic_settings", "strawberry", "starlette")


def main() -> None:
    """Runs the command line. Without the libraries of the extra `server` it says so, and ends with 2."""
    if not all(map(find_spec, _LIBRARIES)):
        print("adalog: the command needs more libraries: pip install 'adalog[server]'", file=sys.stderr)
        sys.exit(2)
    from adalog.gateway.cli import main as run

    run()

