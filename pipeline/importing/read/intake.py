"""What an import begins with: its sources, and what these mean in the database that it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from adalog.cluster.shipping import ShippedSnapshot
from adalog.pipeline.importing.read.chunks import ColumnPlan, RowChunk, SourceJob
from adalog.pipeline.importing.read.ids import Ids
from adalog.store.checkpoint.adoption import PreparedImport
from adalog.store.writer.exclusive import ExclusiveWriter


@dataclass(frozen=True)
class ImportBasis:
    """identities: the attributes by whose values entities are meant, or IDS. columns: of each source, as the tasks
    want them. reading: what rows are read by, but which entities the attributes are. ids: what numbers mean, where
    these mean entities. upserts: the attributes whose values may show that what is meant by a number is there.
    """

    prepared: PreparedImport
    identities: Sequence[int]
    columns: Sequence[tuple[ColumnPlan, ...]]
    reading: Any
    ids: Ids = field(default_factory=lambda: Ids(keep=False))
    upserts: Sequence[int] = ()

    def is_read_like(self, other: ImportBasis) -> bool:
        """Whether rows give the same values."""
        return bool(self.reading == other.reading)


class Intake(Protocol):
    """What an import begins with: which attributes its sources give, and how their rows are read."""

    def look(self) -> None:
        """Looks at the sources, once: what columns they have, what they name."""

    def found(self, forms: Sequence[Any], hold: ExclusiveWriter | None) -> ImportBasis:
        """What the transaction finds that begins with these forms, and declares what is used first."""

    def jobs(self, found: ImportBasis, folder: str, database: ShippedSnapshot) -> list[SourceJob]:
        """What the tasks that read each source are told."""

    def chunks(self, found: ImportBasis, jobs: Sequence[SourceJob]) -> list[RowChunk]:
        """Reads the sources."""

    def files(self) -> Mapping[int, str]:
        """The files by the number that rows tell them by."""

    def check(self, found: ImportBasis, changed: Set[int], rejected: int) -> None:
        """Raises ARG_INVALID where the database would not be consistent after it. changed: attributes."""

    def quarantine(
        self, found: ImportBasis, chunks: Sequence[RowChunk], rejected: Sequence[Sequence[str]], to: Path
    ) -> None:
        """Writes the rejected rows. rejected: of each chunk the files that name them."""
