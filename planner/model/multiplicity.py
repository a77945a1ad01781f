"""Rows that an aggregate leaves out as equal: how to count them by what a run counts, and their number.

Made by `planner.order.duplicates`, as plain data for plans and results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adalog.datalog.values import Keyword
from adalog.planner.model.logical import DatomAtom
from adalog.store.snapshot.snapshot import Snapshot


class DroppedRows(NamedTuple):
    """The number of rows left out, each equal to another but for the owners; `exact`: no more than that."""

    number: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Single:
    """What the data has to keep to: an attribute with one value for each entity, or one entity for each value."""

    source: str
    attribute: Keyword
    inverse: bool

    def holds(self, databases: Mapping[str, Snapshot]) -> bool:
        """Whether it does, by what the indexes count."""
        snapshot = databases.get(self.source)
        attribute = None if snapshot is None or snapshot.is_history else snapshot.attribute(self.attribute)
        if snapshot is None or attribute is None:
            return False
        found = snapshot.statistics(attribute)
        return found.count == (found.values if self.inverse else found.entities)


@dataclass(frozen=True, slots=True)
class Multiplicity:
    """How to count. `level`: the first of the join whose rows are merged; the rows there are the tuples with the
    owners, if each leads to one row of every later level. `singles`: what else has to hold. `blank`: the pattern
    whose owner the plan does not bind, in place of all that; its value tells how many owners there are."""

    level: int
    singles: tuple[Single, ...] = ()
    blank: DatomAtom | None = None
