"""What an import reads: its sources, and what these mean in a state of the database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnMap, Keyword
from adalog.pipeline.importing.files.rows import NestedColumns
from adalog.pipeline.importing.read.chunks import ColumnPlan, RowChunk, RowReader, SourceJob
from adalog.pipeline.importing.read.ids import Ids
from adalog.pipeline.importing.read.mapping import AnySource
from adalog.pipeline.importing.read.runner import ImportRunner, Reasons, RejectedParts, rejected_rows
from adalog.pipeline.importing.read.source_files import SourceFiles
from adalog.store.checkpoint.adoption import PreparedImport
from adalog.store.database import Database
from adalog.store.transact.suspicions import misspelling
from adalog.store.values.attribute import Attribute
from adalog.store.values.schema import Schema
from adalog.store.writer.exclusive import ExclusiveWriter

IDENT: Final = Keyword("db/ident")

S = TypeVar("S", bound=AnySource)


@dataclass(frozen=True, slots=True)
class SyncedTable:
    """The entities that a source has all of: those with its identity attribute, given by its number, and with the
    constants: (attribute, domain, code or key, the attribute by whose value it means an entity or None). most: the
    share of them that may go."""

    source: str
    identity: int
    constants: tuple[tuple[int, int, int | bytes, int | None], ...]
    most: float


@dataclass(frozen=True)
class ImportBasis:
    """The sources of an import in one state of the database.

    identities: the attributes whose values name entities, or IDS. columns: of each source, for its tasks. reading:
    what the values of rows depend on. ids: the meaning of numbers that name entities. upserts: attributes whose
    values may identify an entity that a number names. tables: those of which missing entities go.
    """

    prepared: PreparedImport
    identities: Sequence[int]
    columns: Sequence[tuple[ColumnPlan, ...]]
    reading: Any
    ids: Ids = field(default_factory=lambda: Ids(keep=False))
    upserts: Sequence[int] = ()
    tables: Sequence[SyncedTable] = ()

    @property
    def removes(self) -> bool:
        """Whether rows may retract entities."""
        return any(column.removal or column.owns for columns in self.columns for column in columns)

    @property
    def unnamed(self) -> Sequence[tuple[int, int]]:
        """The structs without a key, as source and column, that no other such structs hold."""
        return [
            (source, number)
            for source, columns in enumerate(self.columns)
            for number, column in enumerate(columns)
            if column.is_unnamed and not columns[column.outer].is_unnamed
        ]

    @property
    def decisive(self) -> set[int]:
        """The attributes by which it is decided which entities go, and which ones structs without a key mean."""
        found = {
            own.attribute
            for columns in self.columns
            for own in columns
            if own.removal or own.owns or own.is_unnamed or columns[own.outer].is_unnamed
        }
        return found | {attribute for table in self.tables for attribute, *_ in table.constants}


class Intake(ABC, Generic[S]):
    """The kind of an import's sources, rows or datoms: which attributes they have, and how they are read."""

    def __init__(
        self,
        database: Database,
        runner: ImportRunner,
        sources: Sequence[S],
        folder: Path,
        principal: str | None = None,
    ) -> None:
        """folder: for copies of files. principal: of the import's transaction."""
        self._database = database
        self._principal = principal
        self._runner = runner
        self._sources = sources
        self._folder = folder
        self._opened: list[SourceFiles] = []
        self.warnings: tuple[str, ...] = ()
        # The types of `LATER_TYPES` within the tuples of rows; known once the rows are read.
        self.types: Collection[Keyword] = ()

    def look(self) -> None:
        """Finds the files of the sources, and looks at what is needed of them before rows are read."""
        first = 0
        for source in self._sources:
            self._opened.append(SourceFiles.of(source, self._runner, self._folder, first))
            first += len(self._opened[-1].files)

    def forms(self) -> list[Any]:
        """Transaction data that goes with the rows; after `look`."""
        return []

    @abstractmethod
    def found(self, forms: Sequence[Any], hold: ExclusiveWriter | None) -> ImportBasis:
        """The basis of a transaction that begins with these forms, and declares what the schema lacks."""

    @abstractmethod
    def _names(self, number: int) -> Mapping[str, str]:
        """The columns of a source's files by the names of their plans."""

    def _exact(self, job: SourceJob) -> Collection[str]:
        """The columns of files whose numbers a double might change."""
        return ()

    def _nested(self, job: SourceJob) -> Sequence[NestedColumns]:
        """The columns of structs."""
        return ()

    @abstractmethod
    def reasons(self, number: int, found: ImportBasis) -> Reasons:
        """What is said of a source's rejected rows."""

    @abstractmethod
    def _reader(self, found: ImportBasis, database: ShippedSnapshot) -> RowReader:
        """Reads the rows of a source."""

    def jobs(self, found: ImportBasis, folder: str, database: ShippedSnapshot) -> list[SourceJob]:
        """The job of the tasks that read each source."""
        buckets, secrets = self._runner.buckets, found.prepared.secrets
        return [
            SourceJob(
                number,
                columns,
                folder,
                buckets,
                secrets,
                self._reader(found, database),
                self._runner.chunk_rows,
            )
            for number, columns in enumerate(found.columns)
        ]

    def chunks(self, jobs: Sequence[SourceJob]) -> list[RowChunk]:
        """Reads the sources."""
        return [
            chunk
            for files, job in zip(self._opened, jobs, strict=True)
            for chunk in files.read(self._runner, self._names(job.number), self._exact(job), job, self._nested(job))
        ]

    def files(self) -> Mapping[int, str]:
        """The files by their numbers in rows."""
        return {file.number: file.name for files in self._opened for file in files.files}

    def check(self, found: ImportBasis, changed: Set[int], rejected: int) -> None:
        """Raises ARG_INVALID if the database would be inconsistent. changed: attributes."""

    def quarantine(
        self, found: ImportBasis, chunks: Sequence[RowChunk], rejected: Sequence[Sequence[str]], to: Path
    ) -> None:
        """Writes the rejected rows. rejected: of each chunk the files of its rejects."""
        for number in range(len(self._sources)):
            rows = rejected_rows(number, chunks, rejected)
            if rows:
                self._write_rejected(number, rows, self.reasons(number, found), to)

    def _write_rejected(self, number: int, rows: RejectedParts, reasons: Reasons, to: Path) -> None:
        self._opened[number].quarantine(self._runner, rows, reasons, to)

    def _declared(
        self,
        forms: Sequence[Any],
        hold: ExclusiveWriter | None,
        declarations: Callable[[Schema], Sequence[EdnMap]],
        idents: int = 0,
    ) -> PreparedImport:
        """The transaction, with declarations of what the schema lacks. Raises UNKNOWN_ATTRIBUTE if it is strict."""
        prepared = self._database.prepare(forms, hold, idents, self._principal, self.types)
        more = declarations(prepared.schema)
        if not more:
            return prepared
        if self._database.schema == "strict":
            names = ", ".join(f"{form[IDENT]}{misspelling(form[IDENT], prepared.schema.names)}" for form in more)
            raise AdalogError(
                Code.UNKNOWN_ATTRIBUTE, f"the schema does not declare {names}; declare it in the mapping's `schema`"
            )
        return self._database.prepare([*forms, *more], hold, idents, self._principal, self.types)


def declaration(
    ident: Keyword, value_type: str, known: Attribute | None, *, many: bool = False, is_component: bool = False
) -> EdnMap:
    """The form that gives an attribute its type, and one that is not known its cardinality."""
    entries: list[tuple[Any, Any]] = [(IDENT, ident), (Keyword("db/valueType"), Keyword(f"db.type/{value_type}"))]
    if known is None:
        cardinality = Keyword("db.cardinality/many" if many else "db.cardinality/one")
        entries.append((Keyword("db/cardinality"), cardinality))
        if is_component:
            entries.append((Keyword("db/isComponent"), True))
    return EdnMap(entries)


def contested(ident: Keyword) -> list[str]:
    """What is said of values of an attribute that cannot all be granted: `SECOND_VALUE` and `TAKEN`."""
    return [
        f"{ident} has cardinality one, and an earlier row gives this entity another value",
        f"{ident} is unique, and another entity has this value",
    ]


def with_article(value_type: str) -> str:
    return f"an {value_type}" if value_type[0] in "aeiou" else f"a {value_type}"
