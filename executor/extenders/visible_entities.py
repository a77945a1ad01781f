"""The guard of a pattern: keeps the rows whose entity's datoms of an attribute are visible."""

from __future__ import annotations

from adalog.executor.join.batch import Batch
from adalog.executor.join.protocol import AtLevel, Check, level_of
from adalog.store.snapshot.guarded import GuardedSnapshot


class VisibleEntities(AtLevel, Check):
    """Looks at the entities that a join meets, and at no others."""

    def __init__(self, snapshot: GuardedSnapshot, attribute: int, entity: str, rank: dict[str, int]) -> None:
        self.snapshot = snapshot
        self.attribute = attribute
        self.entity = entity
        self.level = level_of(frozenset((entity,)), rank)

    def repeats(self, other: object) -> bool:
        """Whether it tests of the same entities what another one tests."""
        return (
            isinstance(other, VisibleEntities)
            and (other.snapshot, other.entity) == (self.snapshot, self.entity)
            and self.snapshot.visible.decision(other.attribute) == self.snapshot.visible.decision(self.attribute)
        )

    def intersect(self, batch: Batch, variable: str) -> Batch:
        return batch.keep(self.snapshot.visible.entities(self.attribute, batch.columns[self.entity]))
