"""The options of each format, by name: checked where a mapping is read, and made into the format's reader."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from adalog.datalog.hints import nearest
from adalog.pipeline.importing.files.content import UTF8, FileSplit, SourceFile
from adalog.pipeline.importing.files.csv_files import CsvFiles
from adalog.pipeline.importing.files.edn_lines import EdnLines
from adalog.pipeline.importing.files.json_lines import JsonFiles
from adalog.pipeline.importing.files.parquet_files import ParquetFiles
from adalog.pipeline.importing.files.rows import FileRows, NestedColumns, Survey


class FileFormat(Protocol):
    """Reads splits of files. Pickles."""

    def starts(self, file: SourceFile, size: int) -> Iterator[int]:
        """Where a file may be divided, about every `size` bytes; the first place is 0."""

    def rows(
        self,
        split: FileSplit,
        wanted: Sequence[str],
        exact: Collection[str],
        nested: Sequence[NestedColumns] = (),
    ) -> Iterator[FileRows]:
        """The rows of a split, of which some columns are wanted, and some structs. exact: columns whose numbers a
        double might change."""

    def survey(self, split: FileSplit, wanted: Collection[str], nested: Sequence[NestedColumns] = ()) -> Survey:
        """The columns of a split, with the types of the wanted ones."""

    def told(self, split: FileSplit, wanted: Collection[int]) -> Iterator[tuple[int | None, Any]]:
        """Some rows as they stand in the file, by their numbers in the split: the line, if rows have one, and the
        row."""


def file_format(name: str, path: str, options: Mapping[str, str]) -> FileFormat:
    """The reader of a source's files. options: checked ones; others are not of the format."""
    named = [(_canonical(name, key), value) for key, value in options.items()]
    given = {key: _OPTIONS[key](value) for key, value in named if key is not None}
    encoding = given.get("encoding", UTF8)
    if name == "parquet":
        return ParquetFiles()
    if name == "jsonl":
        return JsonFiles(given.get("multiLine", False), encoding)
    if name == "edn":
        return EdnLines(encoding)
    quote = given.get("quote", '"')
    return CsvFiles(
        given.get("header", False),
        given.get("sep", "\t" if ".tsv" in path.lower().rsplit("/", 1)[-1] else ","),
        quote,
        given.get("escape", quote),
        given.get("comment", ""),
        given.get("nullValue", ""),
        given.get("ignoreLeadingWhiteSpace", False),
        given.get("ignoreTrailingWhiteSpace", False),
        encoding,
    )


def has_option(form: str, name: str) -> bool:
    return _canonical(form, name) is not None


def check_option(form: str, name: str, value: str) -> None:
    """Raises ValueError for an option that a format does not have, or a value that it does not take."""
    known = _canonical(form, name)
    if known is None:
        if name.lower() in _OF_COLUMNS:
            raise ValueError(f"{name} is no option of files: say `{_OF_COLUMNS[name.lower()]}` beside the column")
        hint = nearest(name, _NAMES[form])
        known_ones = "" if hint else f"; it has {', '.join(_NAMES[form])}"
        raise ValueError(f"the format {form} has no option {name}{hint}{known_ones}")
    try:
        _OPTIONS[known](value)
    except ValueError as error:
        raise ValueError(f"`{known}` {error}") from None


def _canonical(form: str, name: str) -> Any:
    name = _OTHER_NAMES.get(name.lower(), name).lower()
    return next((each for each in _NAMES[form] if each.lower() == name), None)


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"is true or false, and not {text}")
    return text.lower() == "true"


def _letter(text: str) -> str:
    text = "\t" if text == "\\t" else text
    if len(text) != 1 or not text.isascii() or text in "\r\n":
        raise ValueError(f"is one ASCII character, and not {text!r}")
    return text


def _letter_or_none(text: str) -> str:
    return "" if text in ("", "\0") else _letter(text)


def _encoding(text: str) -> str:
    try:
        name = codecs.lookup(text).name
        # Others, such as base64, are not encodings of text.
        if "x".encode(name).decode(name) != "x":
            raise LookupError(name)
    except (LookupError, UnicodeError):
        hint = nearest(text.lower(), _ENCODINGS) or "; as UTF-8, UTF-16, windows-1252 or latin1"
        raise ValueError(f"is the name of an encoding, and not {text}{hint}") from None
    # ASCII is UTF-8, too.
    return UTF8 if name in ("utf-8", "ascii", "utf-8-sig") else name


_ENCODINGS: Final = ("utf-8", "utf-16", "utf-16le", "utf-16be", "utf-32", "windows-1252", "windows-1250", "latin1")
_FILES: Final = ("pathGlobFilter", "recursiveFileLookup")
_OTHER_NAMES: Final = {"delimiter": "sep", "charset": "encoding"}
_OF_COLUMNS: Final = {
    **dict.fromkeys(("dateformat", "timestampformat", "timestampntzformat"), "format"),
    "timezone": "zone",
    "locale": "decimal",
    "inferschema": "type",
}
"""What other readers have as options of files, and a mapping says of columns."""
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (
        *("header", "sep", "quote", "escape", "comment", "nullValue", "encoding", "multiLine"),
        *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", *_FILES),
    ),
    "jsonl": ("multiLine", "encoding", *_FILES),
    "parquet": _FILES,
    "edn": ("encoding", *_FILES),
    "adalog": (),
}
_OPTIONS: Final[Mapping[str, Callable[[str], Any]]] = {
    "header": _flag,
    "sep": _letter,
    "quote": _letter_or_none,
    "escape": _letter_or_none,
    "comment": _letter_or_none,
    "nullValue": str,
    "encoding": _encoding,
    "multiLine": _flag,
    "ignoreLeadingWhiteSpace": _flag,
    "ignoreTrailingWhiteSpace": _flag,
    "pathGlobFilter": str,
    "recursiveFileLookup": _flag,
}
