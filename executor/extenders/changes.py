"""A database at two moments: data patterns over either of them, and the rows of a pattern that came and went.

A row of a pattern is a binding of its variables. It came if the pattern holds for it at the second moment alone,
and went if at the first alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.datalog.ast import Const, LookupRef
from adalog.executor.extenders.patterns import Bound, Patterns, Terms, selected
from adalog.executor.join.batch import Batch, Column, concatenate
from adalog.planner.model.logical import DatomAtom, RelationAtom
from adalog.planner.model.version import Version
from adalog.store.snapshot.difference import Difference, pairs_between, rows_between
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.layout import FALSE, TRUE

_NO_ROWS: Final = Batch(0, {})


@dataclass(frozen=True, slots=True)
class Moments:
    """A database at two moments, and the differences between them, each computed once for all readers."""

    old: Snapshot
    new: Snapshot
    _differences: dict[tuple[int, bool], Difference] = field(default_factory=dict)

    def changed(self, attribute: int, *, stamped: bool = False) -> Difference:
        """The pairs of an attribute that came and went; `stamped`: its rows with their transactions."""
        difference = self._differences.get((attribute, stamped))
        if difference is None:
            between = rows_between if stamped else pairs_between
            difference = self._differences[attribute, stamped] = between(self.old, self.new, attribute)
        return difference

    def touches(self, attribute: int) -> bool:
        """Whether something of the attribute was written in between. Both moments are states of one database."""
        return self.new.data_of(attribute).last_touched(self.new.t) > self.old.t

    def at(self, version: Version) -> Snapshot:
        """The database as it is for OLD, what went, NEW or what came."""
        return self.old if version in (Version.OLD, Version.WENT) else self.new

    def extender(self, atom: DatomAtom, rank: dict[str, int], strict: bool) -> Bound:
        """The extender of a pattern over the version that it names, or what is decided already."""
        return Patterns(self.at(atom.version), rank, strict).extender(atom)

    def rows(self, atom: DatomAtom, strict: bool, version: Version) -> Batch:
        """Distinct rows of a pattern's variables, for CAME rows that hold at the second moment, for WENT rows that
        hold at the first. All that hold at that moment alone are among them."""
        came = version is Version.CAME
        attribute = self.attribute(atom)
        is_stamped = atom.tx is not None or atom.added is not None
        if attribute is not None and not is_stamped and not _names_an_entity(atom, attribute):
            between = self.changed(attribute.id)
            e, v = between.added if came else between.removed
            if not len(e):
                return _NO_ROWS
            if is_of_pairs(atom):
                return Batch(len(e), {str(atom.entity): e, str(atom.value): v})
        other = {each.id: (each.ident_code, terms) for each, terms in self._sides(atom, strict, not came)}
        parts: list[Batch] = []
        for attribute, terms in self._sides(atom, strict, came):
            # Where the pattern means something else at the other moment, all its rows may be new.
            if other.get(attribute.id) == (attribute.ident_code, terms):
                between = self.changed(attribute.id, stamped=is_stamped)
                e, v, *stamp = between.added if came else between.removed
            else:
                columns = (self.new if came else self.old).columns(attribute)
                e, v, stamp = columns.e, columns.v, [columns.t, columns.added.astype(np.int64)]
            if len(e):
                places = [e, np.full(len(e), attribute.ident_code, np.int64), v]
                if is_stamped:
                    places += [stamp[0] + TX_BASE, np.where(stamp[1] != 0, TRUE, FALSE)]
                named, size = selected(terms, places)
                if size:
                    parts.append(Batch(size, named))
        if not parts:
            return _NO_ROWS
        return concatenate(parts).distinct() if is_stamped or len(parts) > 1 or None in atom.terms[:3] else parts[0]

    def _sides(self, atom: DatomAtom, strict: bool, came: bool) -> Sequence[tuple[Attribute, Terms]]:
        return Patterns(self.new if came else self.old, {}, strict).sides(atom)

    def attribute(self, atom: DatomAtom) -> Attribute | None:
        """The attribute that a pattern names, if the name means the same attribute at both moments."""
        if not isinstance(atom.attribute, Const):
            return None
        new, old = (each.attribute(atom.attribute.value) for each in (self.new, self.old))
        return new if new is not None and old is not None and new.id == old.id else None


def is_of_pairs(atom: DatomAtom) -> bool:
    """Whether the rows of a pattern of one attribute are its pairs: its places are two variables, and no more."""
    first, second = atom.entity, atom.value
    is_open = isinstance(first, str) and isinstance(second, str) and first != second
    return is_open and atom.tx is None and atom.added is None


def _names_an_entity(atom: DatomAtom, attribute: Attribute) -> bool:
    """Whether a place has an ident or a lookup ref, which may mean another entity at the other moment."""
    may_name = attribute.is_ref or attribute.kind.value_type == "tuple"
    return any(
        isinstance(term, LookupRef) or (isinstance(term, Const) and type(term.value) is not int)
        for term in ((atom.entity, atom.value) if may_name else (atom.entity,))
    )


def fact_rows(atom: RelationAtom, columns: Sequence[Column]) -> Batch:
    """Distinct rows of an atom's variables, from some rows of the relation that it reads."""
    if not len(columns[0]):
        return _NO_ROWS
    named = {term: column for term, column in zip(atom.terms, columns, strict=True) if isinstance(term, str)}
    if len(named) == len(columns):
        return Batch(len(columns[0]), named).distinct()
    named, size = selected([term if isinstance(term, str) else None for term in atom.terms], columns)
    return Batch(size, named).distinct() if size else _NO_ROWS
