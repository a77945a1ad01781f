"""What the command line prints: results as a table, JSON, EDN, CSV or Arrow, and errors with the line at fault."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datalog import edn, values
from datalog.errors import AdalogError
from schema.encoding import Encoding, encode

_NUMBERS = frozenset({"long", "ref", "bigint", "double", "float", "bigdec"})
_CONTROL = {code: f"\\x{code:02x}" for code in [*range(32), *range(127, 160)]} | {9: "\\t", 10: "\\n", 13: "\\r"}


@dataclass(frozen=True, slots=True)
class Relation:
    """A query's answer: its columns' names and types, its rows, and the value in the find spec's shape.

    Everything is an EDN value, except that for JSON `value` is plain JSON already.
    """

    names: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    value: Any
    summary: str


def print_table(relation: Relation, console: Console, show: int) -> None:
    """A table no wider than the terminal; long values are cut, and rows after the first `show`."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, kind in zip(relation.names, relation.types, strict=True):
        right = kind in _NUMBERS
        table.add_column(Text(name), justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
    shown = relation.rows[:show] if show else relation.rows
    for row in shown:
        table.add_row(*(Text(cell(value)) for value in row))
    console.print(table)
    if len(shown) < len(relation.rows):
        console.print(f"… the first {len(shown):,} rows; --show 0 shows all", style="dim", highlight=False)
    console.print(relation.summary, style="dim", highlight=False)


def cell(value: Any) -> str:
    """A value as people read it, on one line, with control characters made visible."""
    if isinstance(value, str) and values.type_name(value) == "string":
        return value.translate(_CONTROL)
    plain = encode(value, Encoding.PLAIN)
    return str(plain).translate(_CONTROL) if isinstance(plain, str) else edn.write(value)


def json_text(relation: Relation) -> bytes:
    """The value as JSON, a relation's rows one a line."""
    if not isinstance(relation.value, list):
        text: bytes = orjson.dumps(relation.value)
        return text + b"\n"
    return b"[" + b",\n ".join(orjson.dumps(item) for item in relation.value) + b"]\n"


def edn_text(relation: Relation) -> bytes:
    """The value as EDN, a relation's rows one a line."""
    if isinstance(relation.value, tuple):
        return ("[" + "\n ".join(edn.write(item) for item in relation.value) + "]\n").encode()
    return (edn.write(relation.value) + "\n").encode()


def csv_text(relation: Relation) -> bytes:
    """RFC 4180 with a header of the columns' names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(relation.names)
    writer.writerows([_csv_cell(value) for value in row] for row in relation.rows)
    return out.getvalue().encode()


def _csv_cell(value: Any) -> Any:
    plain = encode(value, Encoding.PLAIN)
    return edn.write(value) if isinstance(plain, (list, dict)) else plain


def write_arrow(relation: Relation, out: BinaryIO) -> None:
    """An Arrow IPC stream; types without an Arrow equivalent travel as text."""
    import pyarrow as pa

    types = {
        "long": pa.int64(),
        "ref": pa.int64(),
        "double": pa.float64(),
        "float": pa.float32(),
        "boolean": pa.bool_(),
        "instant": pa.timestamp("ms", "UTC"),
        "bytes": pa.binary(),
    }
    columns = list(zip(*relation.rows, strict=True)) or [()] * len(relation.names)
    arrays = []
    for column, kind in zip(columns, relation.types, strict=True):
        arrow = types.get(kind)
        arrays.append(pa.array(column, arrow) if arrow is not None else pa.array(map(cell, column), pa.string()))
    table = pa.table(arrays, names=list(relation.names))
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)


def print_error(error: AdalogError, text: str | None, console: Console) -> None:
    """The message, and where a position is known, the line at fault with a caret under the place."""
    console.print(Text.assemble((f"{error.code.value}", "bold red"), f" {error.message}"), soft_wrap=True)
    if error.position is None or error.position.origin or not text:
        return
    lines = text.splitlines()
    if error.position.line > len(lines):
        return
    number = f"{error.position.line:>4} │ "
    line, column = _window(lines[error.position.line - 1], error.position.column, console.width - len(number) - 1)
    console.print(Text.assemble((number, "dim"), line), soft_wrap=True)
    console.print(Text(" " * (len(number) + column - 1) + "^", "bold red"), soft_wrap=True)


def _window(line: str, column: int, width: int) -> tuple[str, int]:
    """The part of a long line around the column, and the column within it."""
    line = line.replace("\t", " ")
    width = max(width, 20)
    start = 0 if len(line) <= width else max(0, min(column - width // 2, len(line) - width))
    return line[start : start + width].translate(_CONTROL), column - start


@contextmanager
def working(what: str, console: Console) -> Iterator[None]:
    """A spinner for work that takes more than a second; nothing for less."""
    status = console.status(what)
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
