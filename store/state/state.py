"""A state of the database that a transaction is resolved against: the writer's newest, or one made for `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from adalog.datalog.values import Keyword
from adalog.store.snapshot.free_ids import FreeIds
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import MERGED
from adalog.store.values.codes import Codes
from adalog.store.values.schema import Schema


class AttributeRows(Protocol):
    """What holds of one attribute, row by row."""

    def holds(self, e: int, v: int) -> bool:
        """Whether the entity has the value."""

    def values(self, e: int) -> list[int]:
        """The entity's value codes."""

    def entities(self, v: int) -> list[int]:
        """The entities that have the value."""


class DatabaseState(ABC):
    """What holds after transaction t. instant: its milliseconds since 1970. free: the ids that new entities get."""

    def __init__(self, codes: Codes, t: int, instant: int, free: FreeIds, next_ident: int) -> None:
        self.codes = codes
        self.t = t
        self.instant = instant
        self.free = free
        self.next_ident = next_ident
        self.schema = Schema(())

    @property
    def whole(self) -> DatabaseState:
        """The state itself, where this one shows a part of it."""
        return self

    @abstractmethod
    def live(self, attribute: int) -> AttributeRows:
        """What holds of one attribute."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The state as everybody may see it."""

    def holder(self, attribute: int, code: int) -> int | None:
        """The entity that has a unique attribute's value."""
        entities = self.live(attribute).entities(code)
        return entities[0] if entities else None

    def values(self, attribute: int, e: int) -> list[Any]:
        return [self.codes.decode(code) for code in self.live(attribute).values(e)]

    def ident_holder(self, ident: Keyword) -> int | None:
        """The entity with this ident."""
        code = self.codes.lookup(ident)
        return None if code is None else self.holder(bootstrap.IDENT, code)

    def has_merged(self) -> bool:
        """Whether an entity holds what was said of several new ones."""
        return any(self.live(each.id).values(MERGED) for each in self.schema.all())

    def name_of(self, attribute: int) -> Keyword:
        """An attribute's ident, or the last one it had."""
        declared = self.schema.get(attribute)
        return self.snapshot().name_of(attribute) if declared is None else declared.ident
