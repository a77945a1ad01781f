"""Data patterns over the change of a database between two moments: rows that came and went, as a signed extender.

A row of a pattern is a binding of its variables: it came if the pattern holds for it at the second moment alone,
and went if at the first alone. So blanks, lookup refs and idents that mean something else by then need no care
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adalog.executor.extenders.patterns import DEAD, Bound, Patterns, Terms, selected
from adalog.executor.extenders.relation import Levels, RelationExtender, sorted_columns
from adalog.executor.join.batch import Batch, Column, Mask
from adalog.executor.join.extender import START
from adalog.executor.kernels import range_kernels
from adalog.planner.model.logical import WEIGHT, DatomAtom
from adalog.planner.model.version import Version
from adalog.store.snapshot.difference import Difference, pairs_between, rows_between
from adalog.store.snapshot.snapshot import TX_BASE, Snapshot
from adalog.store.values.attribute import Attribute
from adalog.store.values.layout import FALSE, TRUE

_ROW = "#row"


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
        if atom.version is Version.DELTA:
            return _Change(atom, Patterns(self.old, rank, strict), Patterns(self.new, rank, strict)).extender()
        return Patterns(self.at(atom.version), rank, strict).extender(atom)

    def rows(self, atom: DatomAtom, strict: bool, between: Callable[[int], Difference]) -> tuple[Batch, Batch]:
        """Rows of a pattern's variables that hold at the second moment, and rows that hold at the first: all that
        hold at one of the two alone are among them. `between`: what came and went of an attribute."""
        rank: dict[str, int] = {}
        return _Change(atom, Patterns(self.old, rank, strict), Patterns(self.new, rank, strict)).rows(between)


class SignedExtender:
    """Distinct rows, each with a weight by which it multiplies that of the rows it is joined with.

    columns: one for each of `names`. weights: int64[n].
    """

    def __init__(
        self, names: Sequence[str], columns: Sequence[Column], weights: Column, rank: dict[str, int]
    ) -> None:
        order = sorted(range(len(names)), key=lambda i: rank[names[i]])
        *rows, self._weights = sorted_columns([*(columns[i] for i in order), weights])
        self._rows = RelationExtender([names[i] for i in order], Levels(rows), rank) if names else None
        self.variables = frozenset(names)
        # The weight counts once: where the last variable is bound, or else in the first batch.
        last = names[order[-1]] if names else START
        self._last = last if names and rank[last] >= 0 else START

    def participates(self, variable: str) -> bool:
        return variable == self._last if self._rows is None else self._rows.participates(variable)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        assert self._rows is not None, "nothing is asked of a level without a variable"
        return self._rows.count(batch, variable)

    def propose(self, batch: Batch, variable: str) -> Batch:
        assert self._rows is not None
        extended = self._rows.propose(batch, variable)
        return self._weighed(extended) if variable == self._last else extended

    def intersect(self, batch: Batch, variable: str) -> Batch:
        if self._rows is not None:
            batch = self._rows.intersect(batch, variable)
        return self._weighed(batch) if variable == self._last else batch

    def _weighed(self, batch: Batch) -> Batch:
        weight = self._weights[self._places(batch)]
        return batch.having(WEIGHT, batch.columns[WEIGHT] * weight)

    def _places(self, batch: Batch) -> NDArray[np.int64]:
        """The number of each row of a batch, all of which are among these: that of its node in the last level."""
        if self._rows is None:
            return np.zeros(batch.size, np.int64)
        lo, hi = self._rows.under(batch, len(self._rows.order) - 1)
        return range_kernels.find_in(self._rows.levels.values[-1], lo, hi, batch.columns[self._rows.order[-1]])


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

    def extender(self) -> Bound:
        if not self.names:
            weight = np.array(
                [int(self.new.extender(self.atom) is True) - int(self.old.extender(self.atom) is True)]
            )
            return SignedExtender((), (), weight, self.new.rank) if weight.any() else DEAD
        columns, weights = self._signed()
        rows = np.flatnonzero(weights)
        if not len(rows):
            return DEAD
        return SignedExtender(self.names, [column[rows] for column in columns], weights[rows], self.new.rank)

    def rows(self, between: Callable[[int], Difference]) -> tuple[Batch, Batch]:
        """Rows that hold at the second moment and rows that hold at the first, all that differ among them."""
        if not self.names:
            came, went = (int(each.extender(self.atom) is True) for each in (self.new, self.old))
            return Batch(came - came * went, {}), Batch(went - came * went, {})
        came_parts: list[list[Column]] = []
        went_parts: list[list[Column]] = []
        for old, new in self._sides():
            if old is not None and new is not None and old.means == new.means:
                if self._stamped:
                    added, removed = self._different(old.attribute)
                else:
                    found = between(old.attribute.id)
                    added, removed = found.added, found.removed
                came_parts.append(self._named(new, added))
                went_parts.append(self._named(old, removed))
            else:
                if new is not None:
                    came_parts.append(self._named(new, self._all(self.new.snapshot, new.attribute)))
                if old is not None:
                    went_parts.append(self._named(old, self._all(self.old.snapshot, old.attribute)))
        return self._batch(came_parts), self._batch(went_parts)

    def _batch(self, parts: list[list[Column]]) -> Batch:
        columns = self._together(parts)
        return Batch(len(columns[0]), dict(zip(self.names, columns, strict=True)))

    def _together(self, parts: list[list[Column]]) -> list[Column]:
        return [np.concatenate([part[i] for part in parts] or [_NONE]) for i in range(len(self.names))]

    def _signed(self) -> tuple[list[Column], Column]:
        """Rows, each that is different among them, with 1 if it came, -1 if it went, 0 if neither."""
        added: list[list[Column]] = []
        removed: list[list[Column]] = []
        exact = None not in self.atom.terms[:3]
        for old, new in self._sides():
            if old is not None and new is not None and old.means == new.means:
                came, went = self._different(old.attribute)
                added.append(self._named(new, came))
                removed.append(self._named(old, went))
            else:
                # The pattern does not mean the same at both moments.
                exact = False
                if new is not None:
                    added.append(self._named(new, self._all(self.new.snapshot, new.attribute)))
                if old is not None:
                    removed.append(self._named(old, self._all(self.old.snapshot, old.attribute)))
        parts = [*added, *removed]
        columns = self._together(parts)
        if exact and not self._stamped:
            came_rows = sum(len(part[0]) for part in added)
            return columns, np.where(np.arange(len(columns[0])) < came_rows, 1, -1)
        distinct = Batch(len(columns[0]), dict(zip(self.names, columns, strict=True))).distinct()
        weights = self._holds(self.new, distinct).astype(np.int64) - self._holds(self.old, distinct)
        return [distinct.columns[name] for name in self.names], weights

    @property
    def _stamped(self) -> bool:
        return self.atom.tx is not None or self.atom.added is not None

    def _sides(self) -> list[tuple[_Side | None, _Side | None]]:
        """Of each attribute that the pattern may be about what it is at both moments."""
        old, new = self.old.sides(self.atom), self.new.sides(self.atom)
        sides = [{each.id: _Side(each, terms) for each, terms in found} for found in (old, new)]
        return [(sides[0].get(id_), sides[1].get(id_)) for id_ in dict.fromkeys((*sides[0], *sides[1]))]

    def _different(self, attribute: Attribute) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
        between = rows_between if self._stamped else pairs_between
        found = between(self.old.snapshot, self.new.snapshot, attribute.id)
        return found.added, found.removed

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

    def _holds(self, patterns: Patterns, rows: Batch) -> Mask:
        """For which rows the pattern holds at a moment."""
        bound = patterns.extender(self.atom)
        if isinstance(bound, bool):
            return np.full(rows.size, bound)
        mask = np.zeros(rows.size, np.bool_)
        mask[bound.intersect(rows.having(_ROW, np.arange(rows.size)), START).columns[_ROW]] = True
        return mask


_NONE = np.empty(0, np.int64)
