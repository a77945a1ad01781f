"""Data patterns over a database at two moments, and the rows of a pattern that came and went between them.

A row of a pattern is a binding of its variables. It came if the pattern holds for it at the second moment alone,
and went if at the first alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adalog.executor.extenders.patterns import Bound, Patterns, Terms, selected
from adalog.executor.join.batch import Batch, Column
from adalog.planner.model.logical import DatomAtom
from adalog.planner.model.version import Version
from adalog.store.snapshot.difference import Difference, rows_between
from adalog.store.snapshot.snapshot import TX_BASE, Snapshot
from adalog.store.values.attribute import Attribute
from adalog.store.values.layout import FALSE, TRUE


@dataclass(frozen=True, slots=True)
class Moments:
    """A database at two moments."""

    old: Snapshot
    new: Snapshot

    def at(self, version: Version) -> Snapshot:
        """The database as it is for OLD, what went, NEW or what came."""
        return self.old if version in (Version.OLD, Version.WENT) else self.new

    def extender(self, atom: DatomAtom, rank: dict[str, int], strict: bool) -> Bound:
        """The extender of a pattern over the version that it names, or what is decided already."""
        return Patterns(self.at(atom.version), rank, strict).extender(atom)

    def rows(self, atom: DatomAtom, strict: bool, between: Callable[[int], Difference]) -> tuple[Batch, Batch]:
        """Rows of a pattern's variables that hold at the second moment, and rows that hold at the first: all that
        hold at one of the two alone are among them. `between`: what came and went of an attribute."""
        rank: dict[str, int] = {}
        return _Change(atom, Patterns(self.old, rank, strict), Patterns(self.new, rank, strict)).rows(between)


@dataclass(frozen=True, slots=True)
class _Side:
    """An attribute of one moment, its ident's code, and the pattern's terms there with constants as codes."""

    attribute: Attribute
    terms: Terms

    @property
    def means(self) -> tuple[int, Terms]:
        """What has to be the same at both moments for their difference to be that of their datoms."""
        return (self.attribute.ident_code, self.terms)


class _Change:
    """One pattern at two moments."""

    def __init__(self, atom: DatomAtom, old: Patterns, new: Patterns) -> None:
        self.atom = atom
        self.old = old
        self.new = new
        self.names = list(dict.fromkeys(term for term in atom.terms if isinstance(term, str)))

    def rows(self, between: Callable[[int], Difference]) -> tuple[Batch, Batch]:
        """Rows that hold at the second moment and rows that hold at the first, all that differ among them."""
        if not self.names:
            came, went = (int(each.extender(self.atom) is True) for each in (self.new, self.old))
            return Batch(came - came * went, {}), Batch(went - came * went, {})
        came_parts: list[list[Column]] = []
        went_parts: list[list[Column]] = []
        for old, new in self._sides():
            if old is not None and new is not None and old.means == new.means:
                id_ = old.attribute.id
                found = rows_between(self.old.snapshot, self.new.snapshot, id_) if self._stamped else between(id_)
                came_parts.append(self._named(new, found.added))
                went_parts.append(self._named(old, found.removed))
            else:
                if new is not None:
                    came_parts.append(self._named(new, self._all(self.new.snapshot, new.attribute)))
                if old is not None:
                    went_parts.append(self._named(old, self._all(self.old.snapshot, old.attribute)))
        return self._batch(came_parts), self._batch(went_parts)

    def _batch(self, parts: list[list[Column]]) -> Batch:
        columns = [np.concatenate([part[i] for part in parts] or [_NONE]) for i in range(len(self.names))]
        return Batch(len(columns[0]), dict(zip(self.names, columns, strict=True)))

    @property
    def _stamped(self) -> bool:
        return self.atom.tx is not None or self.atom.added is not None

    def _sides(self) -> list[tuple[_Side | None, _Side | None]]:
        """Of each attribute that the pattern may be about what it is at both moments."""
        old, new = self.old.sides(self.atom), self.new.sides(self.atom)
        sides = [{each.id: _Side(each, terms) for each, terms in found} for found in (old, new)]
        return [(sides[0].get(id_), sides[1].get(id_)) for id_ in dict.fromkeys((*sides[0], *sides[1]))]

    def _all(self, snapshot: Snapshot, attribute: Attribute) -> tuple[Column, ...]:
        columns = snapshot.columns(attribute)
        return (columns.e, columns.v, columns.t, columns.added.astype(np.int64))

    def _named(self, side: _Side, rows: tuple[Column, ...]) -> list[Column]:
        """The columns of the variables, of the rows that the constants and repeated variables leave."""
        e, v, *stamp = rows
        columns = [e, np.full(len(e), side.attribute.ident_code), v]
        if stamp:
            columns += [stamp[0] + TX_BASE, np.where(stamp[1] == 1, TRUE, FALSE)]
        named, _ = selected(side.terms, columns)
        return [named[name] for name in self.names]


_NONE = np.empty(0, np.int64)
