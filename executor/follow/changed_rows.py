"""The rows of an atom that came or went between two moments: the first batch of a reaction's join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adalog.datalog.ast import Const
from adalog.executor.extenders.patterns import Patterns, Terms, selected
from adalog.executor.follow.view import Tick
from adalog.executor.join.batch import Batch, Column
from adalog.planner.model.logical import DatomAtom, RelationAtom
from adalog.planner.model.version import Version
from adalog.planner.scope.resolve import attribute_of
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.layout import FALSE, TRUE


def changed_rows(atom: DatomAtom, tick: Tick, strict: bool) -> Batch | None:
    """The bindings of the atom's variables by datoms that came or went, as its version says; None: there are none.

    Where a place is a blank, a binding may hold at the other moment by another datom.
    """
    came = atom.version is Version.CAME
    if _is_plain(atom):
        return _pairs(atom, tick, came)
    snapshot = tick.new if came else tick.old
    if isinstance(atom.attribute, Const):
        attribute = attribute_of(snapshot, atom.attribute)
        if attribute is not None and not tick.touches(attribute.id):
            return None
    patterns = Patterns(snapshot, {}, strict)
    sides = [side for side in patterns.sides(atom) if tick.touches(side[0].id)]
    parts = [_of_attribute(atom, tick, attribute, terms, came) for attribute, terms in sides]
    parts = [part for part in parts if part.size]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0].distinct() if None in atom.terms[:3] else parts[0]
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Batch(sum(part.size for part in parts), columns).distinct()


def changed_facts(atom: RelationAtom, columns: Sequence[Column]) -> Batch | None:
    """The bindings of the atom's variables by some rows of what it reads; None: there are none."""
    if not len(columns[0]):
        return None
    terms = [term if isinstance(term, str) else None for term in atom.terms]
    named, size = selected(terms, columns)
    return Batch(size, named).distinct() if size else None


def _is_plain(atom: DatomAtom) -> bool:
    """Whether it binds two variables to the pairs of one attribute."""
    return (
        isinstance(atom.entity, str)
        and isinstance(atom.value, str)
        and atom.entity != atom.value
        and isinstance(atom.attribute, Const)
        and atom.tx is None
        and atom.added is None
    )


def _pairs(atom: DatomAtom, tick: Tick, came: bool) -> Batch | None:
    assert isinstance(atom.attribute, Const)
    attribute = tick.new.attribute(atom.attribute.value)
    if attribute is None:
        return None
    between = tick.changed(attribute.id)
    e, v = between.added if came else between.removed
    return Batch(len(e), {str(atom.entity): e, str(atom.value): v}) if len(e) else None


def _of_attribute(atom: DatomAtom, tick: Tick, attribute: Attribute, terms: Terms, came: bool) -> Batch:
    if atom.tx is None and atom.added is None:
        between = tick.changed(attribute.id)
        e, v = between.added if came else between.removed
        columns: list[Column] = [e, np.full(len(e), attribute.ident_code, np.int64), v]
    else:
        between = tick.restamped(attribute.id)
        e, v, t, added = between.added if came else between.removed
        ident = np.full(len(e), attribute.ident_code, np.int64)
        columns = [e, ident, v, t + TX_BASE, np.where(added == 1, TRUE, FALSE)]
    named, size = selected(terms, columns)
    return Batch(size, named)
