"""CSV: every cell is text, exactly as it stands in the file.

The rules are those of `_Scanner`, which reads cell by cell. A piece of a file is read by PyArrow where both agree:
each quote begins or ends a cell or is doubled in one, and each row has as many cells as there are columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.files.content import (
    UTF8,
    FileSplit,
    SourceFile,
    is_divisible,
    line_ends,
    line_starts,
    lines_before,
    mark_length,
    pieces,
)
from adalog.pipeline.importing.files.rows import (
    NO_ROWS,
    FileColumn,
    FileRows,
    NestedColumns,
    Survey,
    no_column,
)

_LONGEST: Final = 1 << 28
"""Bytes of a row."""
_NEWLINE: Final = ord("\n")
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_ENDS: Final = (_NEWLINE, ord("\r"))


class _Row(NamedTuple):
    """cells: None for what is null. stop: where the next row begins. is_open: a quoted value does not end."""

    start: int
    stop: int
    cells: list[bytes | None]
    is_open: bool = False


@dataclass(frozen=True)
class CsvFiles:
    """quote, escape, comment: "" for none. nulls: what stands for no value besides nothing."""

    header: bool = False
    sep: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    null: str = ""
    trim_left: bool = False
    trim_right: bool = False
    encoding: str = UTF8

    def starts(self, file: SourceFile, size: int) -> Iterator[int]:
        """Starts of rows about `size` bytes apart; only 0 where a quote is in no usual place."""
        if file.size <= size or not is_divisible(file, self.encoding):
            return iter((0,))
        if not self.quote:
            return line_starts(file, size)
        return iter(self._row_starts(file, size))

    def rows(
        self,
        split: FileSplit,
        wanted: Sequence[str],
        exact: Collection[str],
        nested: Sequence[NestedColumns] = (),
    ) -> Iterator[FileRows]:
        names = self.names(split.file)
        own = [name for name in wanted if name in names]
        if not names:
            return
        if len(own) < len(wanted):
            missing = next(name for name in wanted if name not in names)
            raise no_column(split.file.name, missing, names)
        for name in own:
            if names.count(name) > 1:
                raise invalid_argument(
                    f"{split.file.name} has several columns {name}; give them names of their own"
                )
        for piece, regular in self._pieces(split):
            yield self._fast(piece, names, own) if regular else self._slow(piece, names, own)

    def survey(self, split: FileSplit, wanted: Collection[str], nested: Sequence[NestedColumns] = ()) -> Survey:
        found = Survey(rows=True)
        if split.start == 0:
            for name in self.names(split.file):
                found.add(name, "string")
        return found

    def told(self, split: FileSplit, wanted: Collection[int]) -> Iterator[tuple[int | None, Any]]:
        names, at, line = self.names(split.file), 0, lines_before(split) + 1
        first = split.start == 0 and self.header
        for piece, _ in self._pieces(split, head=True):
            counted = 0
            for row in self._scanner.rows(piece, len(names)):
                line, counted = line + line_ends(piece[counted : row.start]), row.start
                if first:
                    first = False
                    continue
                if at in wanted:
                    yield line, _told(names, row.cells)
                at += 1
            line += line_ends(piece[counted:])

    @cached_property
    def _scanner(self) -> _Scanner:
        return _Scanner(self)

    def names(self, file: SourceFile) -> list[str]:
        """The names of a file's columns; none of an empty file."""
        for piece, _ in self._pieces(FileSplit(file), head=True):
            for row in self._scanner.rows(piece, 2):
                if not self.header:
                    return [f"_c{number}" for number in range(len(row.cells))]
                return ["" if cell is None else cell.decode() for cell in row.cells]
        return []

    def _pieces(self, split: FileSplit, *, head: bool = False) -> Iterator[tuple[bytes, bool]]:
        """Whole rows, and whether their quotes are regular. head: with the header."""
        rest, after_header = b"", head or not self.header or split.start > 0
        for piece in pieces(split, self.encoding):
            rest += piece
            end, regular = self._row_end(rest)
            if not end and len(rest) > _LONGEST:
                raise invalid_argument(
                    f"{split.file.name} has a row of more than {_LONGEST:,} bytes; is a quote missing?"
                )
            if end:
                whole, rest = rest[:end], rest[end:]
                yield whole if after_header else self._without_header(whole), regular
                after_header = True
        if rest:
            yield rest if after_header else self._without_header(rest), self._is_regular(rest)

    def _without_header(self, piece: bytes) -> bytes:
        return next((piece[row.stop :] for row in self._scanner.rows(piece, 2)), b"")

    def _row_end(self, text: bytes) -> tuple[int, bool]:
        """Where the last whole row of a text ends, which begins with a row; and whether the quotes up to there are
        regular."""
        end = text.rfind(b"\n") + 1
        if not end:
            # A file of an old Macintosh; the last letter may be half a line's end.
            end = text.rfind(b"\r", 0, len(text) - 1) + 1
        if not self._is_special(text):
            return end, True
        if self._is_simple(text):
            letters = np.frombuffer(text, np.uint8)
            quotes = np.flatnonzero(letters == ord(self.quote))
            ends = np.flatnonzero(letters == _NEWLINE)
            ends = ends[quotes.searchsorted(ends) % 2 == 0]
            if not len(ends):
                return 0, True
            last = int(ends[-1])
            if self._are_regular(letters[: last + 1], quotes[: quotes.searchsorted(last)]):
                return last + 1, True
        stop = 0
        for row in self._scanner.rows(text, 0, whole=False):
            # What ends with the text may go on.
            stop = row.stop if row.stop < len(text) else stop
        return stop, False

    def _is_special(self, text: bytes) -> bool:
        """Whether a text has anything that the scanner reads in a way of its own."""
        if self.trim_left or self.trim_right or self._has_comment(text):
            return True
        marks = (self.quote, self.escape if self.quote else "")
        return any(mark and mark.encode() in text for mark in marks)

    def _is_simple(self, text: bytes) -> bool:
        """Whether quotes are all there is of this."""
        if self.trim_left or self.trim_right or self._has_comment(text) or not self.quote:
            return False
        return self.escape in ("", self.quote) or self.escape.encode() not in text

    def _has_comment(self, text: bytes) -> bool:
        mark = self.comment.encode()
        return bool(mark) and (text.startswith(mark) or b"\n" + mark in text or b"\r" + mark in text)

    def _is_regular(self, text: bytes) -> bool:
        if not self._is_special(text):
            return True
        if not self._is_simple(text):
            return False
        letters = np.frombuffer(text, np.uint8)
        return self._are_regular(letters, np.flatnonzero(letters == ord(self.quote)))

    def _are_regular(self, letters: NDArray[np.uint8], quotes: NDArray[np.int64]) -> bool:
        """Whether each quote of a text, which begins with a row, begins or ends a cell or is doubled within one."""
        if len(quotes) % 2:
            return False
        opening, closing = quotes[::2], quotes[1::2]
        around = np.concatenate(([_NEWLINE], letters, [_NEWLINE])).astype(np.uint8)
        ends = np.zeros(256, np.bool_)
        ends[[ord(self.sep), *_ENDS]] = True
        # A closing quote with an opening one right behind it is a quote within a cell.
        doubled = np.zeros(len(opening) + 1, np.bool_)
        doubled[1:-1] = opening[1:] == closing[:-1] + 1
        return bool(
            (ends[around[opening]] | doubled[:-1]).all() and (ends[around[closing + 2]] | doubled[1:]).all()
        )

    def _row_starts(self, file: SourceFile, size: int) -> list[int]:
        """Starts of rows by the number of quotes before them, if all quotes are regular."""
        starts, wanted, at = [0], size, mark_length(file)
        # Places are counted in the file's own bytes.
        for piece, regular in replace(self, encoding=UTF8)._pieces(FileSplit(file), head=True):
            if not regular:
                return [0]
            at += len(piece)
            if at >= wanted and at < file.size:
                starts.append(at)
                wanted = at + size
        return starts

    def _fast(self, piece: bytes, names: Sequence[str], wanted: Sequence[str]) -> FileRows:
        """The rows by PyArrow; row by row where one has not as many cells as the others."""
        ragged = []

        def handle(row: Any) -> str:
            ragged.append(row)
            return "skip"

        columns = [str(number) for number in range(len(names))]
        own = [str(names.index(name)) for name in wanted] or columns[:1]
        if not piece.strip(b"\r\n"):
            return self._slow(piece, names, wanted)
        # PyArrow takes an empty cell at the very end for quoted where the one before it is.
        piece = piece if piece.endswith((b"\n", b"\r")) else piece + b"\n"
        table = pyarrow.csv.read_csv(
            pa.BufferReader(piece),
            pyarrow.csv.ReadOptions(use_threads=False, block_size=len(piece) + 1, column_names=columns),
            pyarrow.csv.ParseOptions(
                delimiter=self.sep,
                quote_char=self.quote or False,
                double_quote=bool(self.quote),
                newlines_in_values=True,
                invalid_row_handler=handle,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                null_values=sorted({"", self.null}),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                include_columns=own,
            ),
        )
        if ragged:
            return self._slow(piece, names, wanted)
        table = table.combine_chunks()
        found = {name: FileColumn.of(_array(table.column(str(names.index(name))))) for name in wanted}
        return FileRows(found, table.num_rows)

    def _slow(self, piece: bytes, names: Sequence[str], wanted: Sequence[str]) -> FileRows:
        found_rows, count = list(self._scanner.rows(piece, len(names))), len(names)
        malformed = [at for at, row in enumerate(found_rows) if row.is_open or any(row.cells[count:])]
        rows = [row.cells for row in found_rows]
        found = {}
        for name in wanted:
            at = names.index(name)
            cells = [cells[at] if at < len(cells) else None for cells in rows]
            found[name] = FileColumn.of(pa.array(cells, pa.binary()).cast(pa.string()))
        return FileRows(found, len(rows), np.array(malformed, np.int32) if malformed else NO_ROWS)


class _Scanner:
    """Reads rows cell by cell. A quote that does not begin a cell is a letter like any other."""

    def __init__(self, form: CsvFiles) -> None:
        self._form = form
        sep, quote, escape = (re.escape(each.encode()) for each in (form.sep, form.quote, form.escape))
        blanks = rb"[ \t]*+" if form.trim_left else b""
        plain = rb"([^%s\r\n]*+)" % sep
        end = rb"(%s|\r\n|\n|\r|\Z)" % sep
        if not form.quote:
            self._cell = re.compile(rb"%s()()%s%s" % (blanks, plain, end))
        else:
            inside = rb"[^%s]++|%s%s" % (quote, quote, quote)
            if form.escape not in ("", form.quote):
                inside = rb"[^%s%s]++|%s[\s\S]|%s%s" % (quote, escape, escape, quote, quote)
            pattern = rb"%s(?:%s((?:%s)*+)%s%s|%s)%s" % (blanks, quote, inside, quote, plain, plain, end)
            self._cell = re.compile(pattern)
        self._quote, self._sep = form.quote.encode(), form.sep.encode()
        self._nulls = {b"", form.null.encode()}
        self._comment = form.comment.encode()
        self._escaped = None
        if form.quote and form.escape not in ("", form.quote):
            self._escaped = re.compile(rb"%s([%s%s])" % (escape, quote, escape))

    def rows(self, text: bytes, columns: int, *, whole: bool = True) -> Iterator[_Row]:
        """The rows of a text. Blank lines and comments are no rows. columns: of the file; where there is one, a
        line of spaces is a row. whole: the text ends with a row."""
        at = 0
        while at < len(text):
            start = at
            cells: list[bytes | None] = []
            if self._comment and text.startswith(self._comment, at):
                at = self._line_end(text, at)
                continue
            while True:
                found = self._cell.match(text, at)
                assert found is not None
                inside, tail, plain, end = found.groups()
                at = found.end()
                if inside is not None and self._quote:
                    cells.append(self._unescaped(inside) + self._trimmed(tail))
                else:
                    plain = self._trimmed(plain)
                    if self._quote and plain.startswith(self._quote):
                        if whole:
                            yield _Row(start, len(text), [*cells, text[found.start() :]], is_open=True)
                        return
                    cells.append(None if plain in self._nulls else plain)
                if end != self._sep:
                    break
            line = text[start:at]
            if len(cells) > 1 or not (line.isspace() if columns != 1 else not line.strip(b"\r\n")):
                yield _Row(start, at, cells)

    def _line_end(self, text: bytes, at: int) -> int:
        found = _LINE_END.search(text, at)
        return len(text) if found is None else found.end()

    def _unescaped(self, inside: bytes) -> bytes:
        inside = inside.replace(self._quote * 2, self._quote)
        return inside if self._escaped is None else self._escaped.sub(rb"\1", inside)

    def _trimmed(self, cell: bytes) -> bytes:
        return cell.rstrip(b" \t") if self._form.trim_right else cell


def _text(cell: bytes | None) -> str:
    return "" if cell is None else cell.decode("utf-8", "replace")


def _told(names: Sequence[str], cells: Sequence[bytes | None]) -> Any:
    """A row by its columns' names; as a list where it has more cells than these, or names are not distinct."""
    if len(cells) > len(names) or len(set(names)) < len(names):
        return [None if cell is None else _text(cell) for cell in cells]
    return {name: _text(cell) for name, cell in zip(names, cells, strict=False) if cell is not None}


def _array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
