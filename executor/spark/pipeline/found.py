"""What an import finds in the database, and what its sources mean there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from executor.spark.pipeline.chunks import Wanted
from executor.spark.pipeline.ids import Ids
from store.adoption import Prepared


@dataclass(frozen=True)
class Found:
    """identities: the attributes by whose values entities are meant, or IDS. columns: of each source, as the tasks
    want them. reading: what rows are read by, but which entities the attributes are. ids: what numbers mean, where
    these mean entities. upserts: the attributes whose values may show that what is meant by a number is there.
    """

    prepared: Prepared
    identities: Sequence[int]
    columns: Sequence[tuple[Wanted, ...]]
    reading: Any
    ids: Ids = field(default_factory=lambda: Ids(keep=False))
    upserts: Sequence[int] = ()

    def is_read_like(self, other: Found) -> bool:
        """Whether rows give the same values."""
        return bool(self.reading == other.reading)
