"""How a command prints its answer: relations in every format, entities one after the other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import orjson

from adalog.gateway.cli.output.console import binary, err, out

if TYPE_CHECKING:
    from adalog.gateway.cli.output.formats import ResultTable, ShownWarning

# How wide a pulled entity is written where no terminal says.
_PAGE_WIDTH = 100


def check_binary(form: str) -> None:
    """Raises click.UsageError where bytes would be written to a terminal."""
    if form == "arrow" and sys.stdout.isatty():
        raise click.UsageError("--format arrow writes binary data: send it to a file or a pipe")


def print_relation(relation: ResultTable, form: str, show: int | None) -> None:
    """Prints the rows in one of the formats, and below them, on standard error, what is suspicious."""
    from adalog.gateway.cli.output import formats as output

    if form in ("table", "expanded"):
        output.print_table(relation, out, show, expanded=form == "expanded")
    elif form == "arrow":
        with binary() as stream:
            output.write_arrow(relation, stream)
    else:
        write = {"json": output.json_text, "edn": output.edn_text, "csv": output.csv_text}[form]
        with binary() as stream:
            stream.write(write(relation))
    sys.stdout.flush()
    output.print_warnings(relation.warnings, err)


def print_warnings(warnings: Sequence[ShownWarning]) -> None:
    from adalog.gateway.cli.output import formats as output

    output.print_warnings(warnings, err)


def print_entities(found: list[Any], form: str) -> None:
    """Prints entities one after the other: a value each, or as JSON one value, a list where there are several."""
    if form == "json":
        with binary() as stream:
            stream.write(orjson.dumps(found[0] if len(found) == 1 else found) + b"\n")
        return
    from adalog.datalog import edn
    from adalog.gateway.cli.output.pretty import pretty

    width = out.room or _PAGE_WIDTH
    texts = [pretty(each, width) if form == "text" else edn.write(each) for each in found]
    if form == "text":
        out.out("\n".join(texts), highlight=False)
    else:
        with binary() as stream:
            stream.write(("\n".join(texts) + "\n").encode())


def say(what: str) -> None:
    """Prints a line about the answer, or about what is going on, on standard error."""
    err.tell(what, "dim")
