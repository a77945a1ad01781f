"""`adalog import --propose`: a mapping with a schema for files, and where it is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adalog.datalog.errors import invalid_argument
from adalog.gateway.cli.output.console import err, out
from adalog.pipeline.importing.propose.proposal import proposed_mapping


def write_proposal(paths: Sequence[str], output: str | None) -> None:
    """Raises ARG_INVALID for files that cannot be read, and an output that exists or cannot be written."""
    if output is None:
        out.out(proposed_mapping(paths, Path()), highlight=False, end="")
        return
    to = Path(output)
    if to.exists():
        # Said before the files are read, which may take long.
        raise invalid_argument(f"{to} exists; --output names a new file")
    text = proposed_mapping(paths, to.parent)
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise invalid_argument(f"{to} cannot be written: {error.strerror}") from None
    err.tell(f"adalog: read {to}, and import with `adalog import --mapping {to}`")
