"""Derived relations within one call of `kernels.small_rules`, as a join that is written as a program reads them.

Their rows lie in the kernel's tables, and nothing but the kernel reads them: an extender here is a part of a
program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adalog.executor.extenders.relation import NO_LEVELS, RelationExtender
from adalog.executor.join.protocol import START
from adalog.executor.join.small.parts import Part, Slots
from adalog.executor.kernels.small_rules import MOST_COLUMNS
from adalog.planner.model.logical import Term
from adalog.planner.model.version import Version


@dataclass(frozen=True, slots=True)
class Sort:
    """The rows of a version of a relation, sorted by the columns at some places, the first one first."""

    relation: str
    version: Version
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A derived relation. `sorts`: those that joins read so far, with their numbers; it adds to them."""

    relation: str
    sorts: dict[Sort, int]

    def extender(
        self, terms: Sequence[Term | None], version: Version, rank: dict[str, int]
    ) -> SmallTableExtender | None:
        """The rows of a version over distinct variables; None where a term is none, or there are too many."""
        names = [term for term in terms if isinstance(term, str)]
        if not 0 < len(names) <= MOST_COLUMNS or len(set(names)) < len(names):
            return None
        if any(term is not None and not isinstance(term, str) for term in terms):
            return None
        order = sorted(names, key=rank.__getitem__)
        sort = Sort(self.relation, version, tuple(map(list(terms).index, order)))
        return SmallTableExtender(order, self.sorts.setdefault(sort, len(self.sorts)), rank)


class SmallTableExtender(RelationExtender):
    """A part of a program alone: as the levels of the relation with a number among the sorts of its program."""

    def __init__(self, order: Sequence[str], sort: int, rank: dict[str, int]) -> None:
        super().__init__(order, NO_LEVELS, rank)
        self._sort = sort

    def part(self, variable: str, slots: Slots) -> Part:
        depth = len(self.order) - 1 if variable == START else self.order.index(variable)
        above = [slots[name] for name in self.order[:depth]]
        return Part.derived(self._sort, slots[self.order[depth]], above)
