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
from rich.cells import cell_len
from rich.text import Text

from adalog.datalog import edn, values
from adalog.datalog.errors import AdalogError
from adalog.gateway.cli.output import tables
from adalog.gateway.cli.output.console import Terminal
from adalog.gateway.cli.output.texts import Text as EdnText
from adalog.schema.writing.encoding import Encoding, encode

# Rows of a table on a terminal, unless --show says otherwise.
SHOWN = 500
_KINDS = dict.fromkeys(
    ("long", "ref", "bigint", "double", "float", "bigdec"), tables.CellKind.NUMBER
) | dict.fromkeys(("keyword", "symbol"), tables.CellKind.NAME)
_CONTROL = {code: f"\\x{code:02x}" for code in [*range(32), *range(127, 160)]} | {9: "\\t", 10: "\\n", 13: "\\r"}


@dataclass(frozen=True, slots=True)
class ShownWarning:
    """A warning: what is probably not meant, and where in the query's or transaction's text, if that is known."""

    code: str
    message: str
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class TableHints:
    """How one sees what a table leaves out: values that are cut, rows, and attributes of adalog's own."""

    values: str = "--format expanded shows all"
    rows: str = "--show 0 shows all"
    attributes: str = "--all lists them"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A query's answer: its columns' names and types, its rows, and the value in the find spec's shape. Everything
    is an EDN value, except that for JSON `value` is plain JSON already. `notes`: what else to say below a table.
    `warnings`: what is allowed and probably not meant."""

    names: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    value: Any
    summary: str
    notes: Sequence[str] = ()
    warnings: Sequence[ShownWarning] = ()
    hints: TableHints = TableHints()


def print_table(relation: ResultTable, console: Terminal, show: int | None, *, expanded: bool = False) -> None:
    """The first `show` rows (0: all; None: all, or 500 on a terminal), and below them what is not shown. A terminal
    that the columns do not fit gets them one below the other, as `expanded` has them everywhere."""
    room = console.room
    if show is None:
        show = 0 if room is None else SHOWN
    shown = relation.rows[:show] if show else relation.rows
    columns = [
        tables.TextColumn(
            name.translate(_CONTROL),
            _KINDS.get(type_name, tables.CellKind.TEXT),
            [cell(row[index]) for row in shown],
        )
        for index, (name, type_name) in enumerate(zip(relation.names, relation.types, strict=True))
    ]
    layout = None if expanded else tables.side_by_side(columns, room, console.mark)
    notes = []
    if layout is None:
        layout = tables.one_below_the_other(columns, room)
        if not expanded:
            notes.append(f"{len(columns)} columns do not fit in {room} characters, so they stand below each other")
    if layout.head:
        console.out("\n".join(layout.head), style="bold", highlight=False)
    if layout.lines:
        console.out("\n".join(layout.lines), highlight=False)
    if layout.where:
        values = "1 value" if layout.cut == 1 else f"{layout.cut:,} values" if layout.cut else "names"
        where = ", ".join(layout.where)
        notes.append(f"{values} cut to fit in {room} characters, in {where}; {relation.hints.values}")
    if len(shown) < len(relation.rows):
        notes.append(f"the first {len(shown):,} of {len(relation.rows):,} rows; {relation.hints.rows}")
    for note in [*notes, *relation.notes, relation.summary]:
        console.tell(note, "dim")


def cell(value: Any) -> str:
    """A value as people read it, on one line, with control characters made visible."""
    if isinstance(value, str) and values.type_name(value) == "string":
        return value.translate(_CONTROL)
    plain = encode(value, Encoding.PLAIN)
    return str(plain).translate(_CONTROL) if isinstance(plain, str) else edn.write(value)


def json_text(relation: ResultTable) -> bytes:
    """The value as JSON, a relation's rows one a line."""
    if not isinstance(relation.value, list):
        text: bytes = orjson.dumps(relation.value)
        return text + b"\n"
    return b"[" + b",\n ".join(orjson.dumps(item) for item in relation.value) + b"]\n"


def edn_text(relation: ResultTable) -> bytes:
    """The value as EDN, a relation's rows one a line."""
    if isinstance(relation.value, tuple):
        return ("[" + "\n ".join(edn.write(item) for item in relation.value) + "]\n").encode()
    return (edn.write(relation.value) + "\n").encode()


def csv_text(relation: ResultTable) -> bytes:
    """RFC 4180 with a header of the columns' names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(relation.names)
    writer.writerows([_csv_cell(value) for value in row] for row in relation.rows)
    return out.getvalue().encode()


def _csv_cell(value: Any) -> Any:
    plain = encode(value, Encoding.PLAIN)
    return edn.write(value) if isinstance(plain, (list, dict, bool)) else plain


def write_arrow(relation: ResultTable, out: BinaryIO) -> None:
    """An Arrow IPC stream; types without an Arrow equivalent, and bigdecs of too many digits, travel as text."""
    import pyarrow as pa

    from adalog.pipeline.exporting.value_columns import TYPES
    from adalog.store.values.decimals import decimal_column

    columns = list(zip(*relation.rows, strict=True)) or [()] * len(relation.names)
    arrays = []
    for column, kind in zip(columns, relation.types, strict=True):
        types = {values.type_name(each) for each in column if each is not None} if kind == "any" else {kind}
        # Nil beside values of one type is null.
        kind = types.pop() if len(types) == 1 else kind
        arrow = TYPES.get(kind)
        made = decimal_column(column) if kind == "bigdec" else None
        if made is None and arrow is not None:
            made = pa.array(column, arrow)
        elif made is None:
            made = pa.array((None if each is None else cell(each) for each in column), pa.string())
        arrays.append(made)
    table = pa.table(arrays, names=list(relation.names))
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)


def print_error(error: AdalogError, text: EdnText | None, console: Terminal) -> None:
    """The message, and where a position is known, the file, the line at fault and a caret under the place."""
    message = "\n".join(line.translate(_CONTROL) for line in error.message.split("\n"))
    console.print(Text.assemble((error.code.value, "bold red"), f" {message}"), soft_wrap=True)
    position = error.position
    if position is None or position.origin or text is None:
        return
    if text.name is not None:
        console.print(
            Text(f"  at {text.name.translate(_CONTROL)}:{position.line}:{position.column}", "dim"), soft_wrap=True
        )
    # As the reader counts them: str.splitlines would also end a line at form feeds and the like.
    lines = text.text.split("\n")
    if position.line > len(lines):
        return
    number = f"{position.line:>4} │ "
    line, column = _window(lines[position.line - 1].rstrip("\r"), position.column, console.width - len(number) - 1)
    console.print(Text.assemble((number, "dim"), line), soft_wrap=True)
    console.print(Text(" " * (len(number) + cell_len(line[: column - 1])) + "^", "bold red"), soft_wrap=True)


def print_warnings(warnings: Sequence[ShownWarning], console: Terminal) -> None:
    """A line for each warning, with its place where that is known."""
    for warning in warnings:
        place = f" ({warning.line}:{warning.column})" if warning.line is not None else ""
        said = f" {warning.code} {warning.message}{place}".translate(_CONTROL)
        console.print(Text.assemble(("warning", "yellow"), said), soft_wrap=True)


def _window(line: str, column: int, width: int) -> tuple[str, int]:
    """The part of a long line around the column, and the column within it."""
    line = line.replace("\t", " ")
    width = max(width, 20)
    start = 0 if len(line) <= width else max(0, min(column - width // 2, len(line) - width))
    before, after = line[start : column - 1], line[column - 1 : start + width]
    return (before.translate(_CONTROL) + after.translate(_CONTROL)), len(before.translate(_CONTROL)) + 1


@contextmanager
def working(what: str, console: Terminal) -> Iterator[None]:
    """A spinner for work that takes more than a second; nothing for less."""
    plain = not console.encoding.lower().startswith("utf")
    status = console.status(what, spinner="line" if plain else "dots")
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
