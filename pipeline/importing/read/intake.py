"""What an import reads: its sources, and what these mean in a state of the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnMap, Keyword
from adalog.pipeline.importing.read.chunks import ColumnPlan, RowChunk, SourceJob
from adalog.pipeline.importing.read.ids import Ids
from adalog.store.checkpoint.adoption import PreparedImport
from adalog.store.database import Database
from adalog.store.values.schema import Schema
from adalog.store.writer.exclusive import ExclusiveWriter

_IDENT: Final = Keyword("db/ident")


@dataclass(frozen=True)
class ImportBasis:
    """The sources of an import in one state of the database.

    identities: the attributes whose values name entities, or IDS. columns: of each source, for its tasks. reading:
    what the values of rows depend on. ids: the meaning of numbers that name entities. upserts: attributes whose
    values may identify an entity that a number names.
    """

    prepared: PreparedImport
    identities: Sequence[int]
    columns: Sequence[tuple[ColumnPlan, ...]]
    reading: Any
    ids: Ids = field(default_factory=lambda: Ids(keep=False))
    upserts: Sequence[int] = ()


class Intake(Protocol):
    """The kind of an import's sources, rows or datoms: which attributes they have, and how they are read."""

    def look(self) -> None:
        """Looks once at the columns of the sources, or at the attributes that they name."""

    def found(self, forms: Sequence[Any], hold: ExclusiveWriter | None) -> ImportBasis:
        """The basis of a transaction that begins with these forms, and declares what the schema lacks."""

    def jobs(self, found: ImportBasis, folder: str, database: ShippedSnapshot) -> list[SourceJob]:
        """The job of the tasks that read each source."""

    def chunks(self, found: ImportBasis, jobs: Sequence[SourceJob]) -> list[RowChunk]:
        """Reads the sources."""

    def files(self) -> Mapping[int, str]:
        """The files by their numbers in rows."""

    def check(self, found: ImportBasis, changed: Set[int], rejected: int) -> None:
        """Raises ARG_INVALID if the database would be inconsistent. changed: attributes."""

    def quarantine(
        self, found: ImportBasis, chunks: Sequence[RowChunk], rejected: Sequence[Sequence[str]], to: Path
    ) -> None:
        """Writes the rejected rows. rejected: of each chunk the files of its rejects."""


def prepare_declared(
    database: Database,
    forms: Sequence[Any],
    hold: ExclusiveWriter | None,
    declarations: Callable[[Schema], Sequence[EdnMap]],
    idents: int = 0,
) -> PreparedImport:
    """The transaction, with declarations of what the schema lacks. Raises UNKNOWN_ATTRIBUTE if it is strict."""
    prepared = database.prepare(forms, hold, idents)
    more = declarations(prepared.schema)
    if not more:
        return prepared
    if database.schema == "strict":
        names = ", ".join(str(form[_IDENT]) for form in more)
        raise AdalogError(
            Code.UNKNOWN_ATTRIBUTE, f"the schema does not declare {names}; declare it in the mapping's `schema`"
        )
    return database.prepare([*forms, *more], hold, idents)


def with_article(value_type: str) -> str:
    return f"an {value_type}" if value_type[0] in "aeiou" else f"a {value_type}"
