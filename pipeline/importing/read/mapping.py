"""A mapping: which columns of which files become which attributes. `mapping_reader` reads it from YAML."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from adalog.datalog.errors import invalid_argument
from adalog.datalog.values import Keyword
from adalog.pipeline.importing.files.notation import PLAIN, Notation
from adalog.pipeline.importing.sql.table import SqlTable
from adalog.store.files.addresses import check_name

FORMATS: Final = {
    "csv": "csv",
    "tsv": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "parquet": "parquet",
    "edn": "edn",
}
ROWS: Final = ("csv", "jsonl", "parquet")
DATOMS: Final = ("edn", "adalog")
KAFKA: Final = "kafka"
"""The format of a topic whose values are JSON, which only `adalog stream` reads."""
SQL: Final = "sql"
"""The format of a table of a SQL database."""
TAKING: Final = frozenset(
    {
        *("maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage", "cleansource"),
        *("sourcearchivedir", "filenameonly"),
    }
)
"""Options, in lower case, that say when a stream takes which files, not how they are read."""


@dataclass(frozen=True, slots=True)
class StructMapping:
    """What becomes of the structs in a column: entities of their own. entity: what names them, or NEW. entries: the
    column is a map, and its entries are the structs, with the columns key and value."""

    entity: ColumnMapping
    columns: tuple[ColumnMapping, ...]
    entries: bool = False


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """One attribute's values: of a column, of several `columns` whose texts are joined, or `value` for every row.

    type: what text is read as; None: the attribute's type. split: the separator of several values. ref: the unique
    attribute whose value names an entity; create: a missing one is created. replaces: a row's values are all that
    its entity has. retracts: a row without a value retracts those that its entity has. round: instants and
    durations are rounded to milliseconds. notation: how texts are written. structs: the values are entities that
    the column's structs describe. place: the file, line and column of the mapping.
    """

    attribute: Keyword
    column: str | None = None
    value: Any = None
    type: str | None = None
    split: str | None = None
    ref: Keyword | None = None
    create: bool = False
    replaces: bool = False
    retracts: bool = False
    place: str = field(default="", compare=False, repr=False)
    columns: tuple[str, ...] = ()
    round: bool = False
    notation: Notation = PLAIN
    structs: StructMapping | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is read from; none for a constant."""
        return self.columns if self.column is None else (self.column,)


NEW: Final = ColumnMapping(Keyword("db/id"))
"""In place of what names a source's entities: each row is a new entity."""


@dataclass(frozen=True, slots=True)
class DeleteRule:
    """The rows that retract their entities: those whose column has a value; without a column all."""

    column: str | None = None
    equals: Any = None
    place: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SyncRule:
    """The rows are a whole table: its other entities are retracted. most: the share of them that may be."""

    most: float = 0.2


@dataclass(frozen=True, slots=True)
class PlacedColumn:
    """A column of a source or of structs. number: its place among all. outer: the column of the entity that has its
    values; 0 for the row's. within: what comes before its name in a survey."""

    mapping: ColumnMapping
    number: int
    outer: int = 0
    within: str = ""


@dataclass(frozen=True, slots=True)
class RowSource:
    """Rows of files, each an entity; `entity` gives its value of an identity attribute. files: those of the path,
    if they were looked up. part: they are some of many, and may lack keys of JSON. sql: where the rows are that are
    in no files."""

    name: str
    path: str
    format: str
    options: Mapping[str, str]
    entity: ColumnMapping
    columns: tuple[ColumnMapping, ...]
    files: tuple[str, ...] = ()
    part: bool = False
    delete: DeleteRule | None = None
    sync: SyncRule | None = None
    sql: SqlTable | None = None

    @property
    def names(self) -> frozenset[str]:
        """The columns that it is read from."""
        names = {name for column in (self.entity, *self.columns) for name in column.names}
        deciding = self.delete.column if self.delete is not None else None
        return frozenset(names if deciding is None else {*names, deciding})

    @property
    def placed(self) -> list[PlacedColumn]:
        """The columns and those of structs: that of the entity, then each one before those of its structs."""
        found = [PlacedColumn(self.entity, 0)]

        def add(columns: Sequence[ColumnMapping], outer: int, within: str) -> None:
            for column in columns:
                found.append(PlacedColumn(column, len(found), outer, within))
                if column.structs is not None:
                    add(column.structs.columns, len(found) - 1, f"{within}{column.column}[].")

        add(self.columns, 0, "")
        return found

    def without(self, columns: Collection[PlacedColumn]) -> RowSource:
        """The same without some columns, and those of their structs."""
        places = {each.mapping.place for each in columns}

        def left(columns: Sequence[ColumnMapping]) -> tuple[ColumnMapping, ...]:
            own = (column for column in columns if column.place not in places)
            return tuple(
                column
                if column.structs is None
                else replace(column, structs=replace(column.structs, columns=left(column.structs.columns)))
                for column in own
            )

        return replace(self, columns=left(self.columns)) if places else self

    def of_files(self, files: Sequence[str]) -> RowSource:
        """The same of files that a stream has found."""
        if self.format == KAFKA:
            return replace(self, format="jsonl", options={}, files=tuple(files), part=True)
        options = {name: value for name, value in self.options.items() if name.lower() not in TAKING}
        return replace(self, options=options, files=tuple(files), part=True)


@dataclass(frozen=True, slots=True)
class DatomSource:
    """Datoms: lines of EDN, or the folder of an export. keep: entities keep their ids; otherwise they get new ones.
    files: those of the path, if they were looked up."""

    name: str
    path: str
    format: str
    options: Mapping[str, str]
    keep: bool
    files: tuple[str, ...] = ()


AnySource = RowSource | DatomSource


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """schema: the file with transaction data that comes first. sent: its text, if the mapping has it or a client
    sent it. Sources are all of one kind, rows or datoms."""

    schema: Path | None
    sources: tuple[RowSource, ...]
    datoms: tuple[DatomSource, ...] = ()
    sent: str | None = None

    def schema_text(self) -> str | None:
        """The transaction data that comes first, if any. Raises ARG_INVALID for an unreadable file."""
        if self.sent is not None or self.schema is None:
            return self.sent
        return mapping_text(self.schema, "the mapping's schema")

    def of_files(self, files: Mapping[str, Sequence[str]]) -> ImportPlan:
        """The named sources with these files, which a stream found; those of a topic are lines of JSON."""
        kept = [each.of_files(files[each.name]) for each in self.sources if each.name in files]
        return replace(self, sources=tuple(kept))


def mapping_text(file: Path, what: str = "the mapping") -> str:
    """The text of a file. Raises ARG_INVALID where it cannot be read."""
    check_name(str(file))
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise invalid_argument(f"{what} {file} cannot be read: {why}") from None
