"""Data patterns as extenders: over an attribute's tries, over all attributes, or over rows with their transactions.

For `executor.evaluation.bind`. Constants become codes here, and a pattern that cannot hold, or has no variable, is
decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from adalog.datalog.ast import Const, LookupRef
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.extenders.attributes import AttributesExtender
from adalog.executor.extenders.functions import FunctionExtender
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.relation import RelationExtender
from adalog.executor.extenders.visible_entities import VisibleEntities
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.protocol import Extender
from adalog.executor.kernels import range_kernels
from adalog.planner.model.logical import DatomAtom, Term
from adalog.planner.scope.resolve import attribute_of, entity_code, unknown_attribute, value_code
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.columns import Columns
from adalog.store.tries.trie import distinct
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.layout import FALSE, NIL, TRUE

DEAD = False
HOLDS = True
Bound = Extender | bool
"""An extender, or what is already decided."""

Terms = tuple[str | int | None, ...]
"""Of each place of a pattern a variable, the code of a constant, or None."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """When each pair of an attribute was asserted, as a function of its ends."""

    snapshot: Snapshot
    attribute: Attribute
    first: str
    second: str

    @property
    def variables(self) -> frozenset[str]:
        return frozenset((self.first, self.second))

    def results(self, batch: Batch) -> Column:
        """int64[n]: the entity of the transaction; NIL where the pair does not hold."""
        e, v = batch.columns[self.first], batch.columns[self.second]
        if not batch.size:
            return e
        held = self.snapshot.columns_of_entities(self.attribute.id, distinct(e))
        at = range_kernels.find_in(held.v, held.e.searchsorted(e), held.e.searchsorted(e, side="right"), v)
        return np.where(at >= 0, held.t[at] + TX_BASE, NIL) if len(held) else np.full(batch.size, NIL, np.int64)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns over one snapshot. `rank`: the level at which each variable is bound. `strict`: an attribute that is
    not declared is refused."""

    snapshot: Snapshot
    rank: dict[str, int]
    strict: bool

    def extender(self, atom: DatomAtom) -> Bound:
        """The extender of a pattern, or what is decided already."""
        if not isinstance(atom.attribute, Const):
            return self._any_attribute(atom)
        attribute = self._named(atom.attribute)
        if attribute is None:
            return DEAD
        first = self._entity(atom.entity)
        second = self._value(attribute, atom.value)
        if first is DEAD or second is DEAD:
            return DEAD
        if atom.tx is not None or atom.added is not None:
            found = self._with_transaction(attribute, atom, first, second)
            if found is not None:
                return found
            columns = self._columns(attribute, first, second)
            places = columns.e, columns.v, columns.t + TX_BASE, np.where(columns.added, TRUE, FALSE)
            return rows_extender((first, second, _transaction(atom.tx), _added(atom.added)), places, self.rank)
        if isinstance(self.snapshot, GuardedSnapshot):
            return self._visible_pair(self.snapshot, attribute, first, second)
        return self._pair(attribute, first, second)

    def _named(self, ident: Const) -> Attribute | None:
        attribute = attribute_of(self.snapshot, ident)
        if attribute is None and self.strict:
            raise unknown_attribute(self.snapshot, ident)
        return attribute

    def _with_transaction(
        self, attribute: Attribute, atom: DatomAtom, first: str | int | None, second: str | int | None
    ) -> Bound | None:
        """The pattern as its pair and, bound after both of its ends, the pair's transaction; None for others."""
        tx = atom.tx
        if not (isinstance(first, str) and isinstance(second, str) and isinstance(tx, str)):
            return None
        if _added(atom.added) not in (None, TRUE) or not self.snapshot.is_plain or len({first, second, tx}) < 3:
            return None
        if self.rank[tx] < max(self.rank[first], self.rank[second]):
            return None
        stamps = Stamps(self.snapshot, attribute, first, second)
        return Conjunction([self.named_pair(attribute, first, second), FunctionExtender(stamps, tx, self.rank)])

    def _visible_pair(
        self, snapshot: GuardedSnapshot, attribute: Attribute, first: str | int | None, second: str | int | None
    ) -> Bound:
        """The pair without what is hidden. Where entities decide, only those that the join meets are looked at,
        unless the visible pairs are at hand."""
        visible = snapshot.visible
        if isinstance(first, int):
            e, v = snapshot.pairs_of(attribute, np.array([first], np.int64), inverse=False)
            return rows_extender((first, second), (e, v), self.rank)
        if first is None or visible.shows_all(attribute.id) or not visible.is_by_entity(attribute.id):
            return self._pair(attribute, first, second)
        if snapshot.has_trie(attribute.id):
            return self._pair(attribute, first, second)
        pair = replace(self, snapshot=snapshot.raw)._pair(attribute, first, second)
        if isinstance(pair, bool):
            return pair
        return Conjunction([pair, VisibleEntities(snapshot, attribute.id, first, self.rank)])

    def _columns(self, attribute: Attribute, first: str | int | None, second: str | int | None) -> Columns:
        """The attribute's datoms, those of a constant's entities where there is one."""
        snapshot = self.snapshot
        if isinstance(first, int):
            return snapshot.columns_of_entities(attribute.id, np.array([first], np.int64))
        if isinstance(second, int) and snapshot.is_plain:
            return snapshot.columns_of_entities(attribute.id, snapshot.ve(attribute).row(second))
        return snapshot.columns(attribute)

    def _pair(self, attribute: Attribute, first: str | int | None, second: str | int | None) -> PairExtender | bool:
        snapshot = self.snapshot
        pair = self.named_pair(attribute, first, second)
        if pair.variables:
            return pair
        if isinstance(first, int):
            forward = snapshot.ev(attribute)
            return forward.count(first) > 0 if second is None else forward.holds(first, int(second))
        if isinstance(second, int):
            return snapshot.ve(attribute).count(second) > 0
        return snapshot.ev(attribute).rows > 0

    def named_pair(self, attribute: Attribute, first: str | int | None, second: str | int | None) -> PairExtender:
        """The pairs of an attribute between two ends: variables, codes of constants, or blanks."""
        ev, ve = self.snapshot.ev, self.snapshot.ve
        return PairExtender(first, second, lambda: ev(attribute), lambda: ve(attribute), self.rank)

    def _any_attribute(self, atom: DatomAtom) -> Bound:
        snapshot = self.snapshot
        first = self._entity(atom.entity)
        if first is DEAD or (first is not None and first == atom.attribute):
            return DEAD  # an attribute is bound as its ident, which is no entity
        value = atom.value
        if (
            isinstance(first, str)
            and (value is None or (isinstance(value, str) and value != atom.attribute))
            and atom.tx is None
            and atom.added is None
        ):
            if not snapshot.attributes():
                return DEAD
            return self._united(atom, first, _Pairs(snapshot.schema.by_ident_code, self, first, value))
        attributes = snapshot.attributes()
        if isinstance(first, int):
            attributes = snapshot.attributes_of(np.array([first], np.int64))
        seconds = {a.id: self._value_if_any(a, atom.value) for a in attributes}
        attributes = tuple(a for a in attributes if seconds[a.id] is not DEAD)
        if atom.tx is not None or atom.added is not None:
            return self._all_rows(atom, attributes, first, seconds)
        pairs = {}
        for each in attributes:
            second = each.ident_code if atom.attribute == atom.value is not None else seconds[each.id]
            pair = self._pair(each, first, second)
            if pair is not DEAD:
                pairs[each.ident_code] = pair
        if not pairs:
            return DEAD
        if any(pair is HOLDS for pair in pairs.values()):
            if not isinstance(atom.attribute, str):
                return HOLDS
            codes = np.array([code for code, pair in pairs.items() if pair is HOLDS], np.int64)
            return rows_extender((atom.attribute,), (codes,), self.rank)
        return self._united(atom, first, pairs)  # type: ignore[arg-type]

    def _united(
        self, atom: DatomAtom, first: str | int | bool | None, pairs: Mapping[int, PairExtender]
    ) -> AttributesExtender:
        attribute = atom.attribute if isinstance(atom.attribute, str) else None
        names = tuple(x for x in (first, atom.value) if isinstance(x, str) and x != attribute)
        entity = first if isinstance(first, str) else None
        return AttributesExtender(attribute, frozenset(names), pairs, self.rank, entity, self._near)

    def _near(self, entities: Column) -> Iterator[int]:
        """The codes of the idents of attributes that may have datoms of the entities."""
        return (each.ident_code for each in self.snapshot.attributes_of(entities))

    def _all_rows(
        self,
        atom: DatomAtom,
        attributes: Sequence[Attribute],
        first: str | int | None,
        seconds: Mapping[int, str | int | None],
    ) -> Bound:
        """A pattern with a transaction place over every attribute: one relation of five columns."""
        parts: list[list[Column]] = [[np.empty(0, np.int64)] * 5]
        for each in attributes:
            if isinstance(first, int):
                columns = self.snapshot.columns_of_entities(each.id, np.array([first], np.int64))
            else:
                columns = self.snapshot.columns(each)
            second = seconds[each.id]
            if isinstance(second, int):
                columns = columns.take(np.flatnonzero(columns.v == second))
            named, added = np.full(len(columns), each.ident_code), np.where(columns.added, TRUE, FALSE)
            parts.append([columns.e, named, columns.v, columns.t + TX_BASE, added])
        places = (atom.entity, atom.attribute, atom.value)
        names = [place if isinstance(place, str) else None for place in places]
        whole = [np.concatenate(part) for part in zip(*parts, strict=True)]
        return rows_extender([*names, _transaction(atom.tx), _added(atom.added)], whole, self.rank)

    def sides(self, atom: DatomAtom) -> list[tuple[Attribute, Terms]]:
        """The attributes that a pattern may be about, each with the pattern's terms for datoms of it."""
        if isinstance(atom.attribute, Const):
            found = self._named(atom.attribute)
            attributes: tuple[Attribute, ...] = () if found is None else (found,)
            value = self._value
        else:
            attributes = self.snapshot.attributes()
            value = self._value_if_any
        first = self._entity(atom.entity)
        sides: list[tuple[Attribute, Terms]] = []
        for each in attributes:
            second = value(each, atom.value)
            if first is DEAD or second is DEAD:
                continue
            named = atom.attribute if isinstance(atom.attribute, str) else each.ident_code
            sides.append((each, (first, named, second, _transaction(atom.tx), _added(atom.added))))
        return sides

    def _entity(self, term: Term) -> str | int | bool | None:
        if isinstance(term, Const | LookupRef):
            code = entity_code(self.snapshot, term)
            return DEAD if code is None else code
        return term

    def _value(self, attribute: Attribute, term: Term) -> str | int | bool | None:
        if isinstance(term, Const | LookupRef):
            code = value_code(self.snapshot, attribute, term)
            return DEAD if code is None else code
        return term

    def _value_if_any(self, attribute: Attribute, term: Term) -> str | int | bool | None:
        """The same for an attribute that the query does not name: a value it cannot have is no mistake."""
        try:
            return self._value(attribute, term)
        except AdalogError:
            return DEAD


class _Pairs(Mapping[int, PairExtender]):
    """The pairs of every attribute by the code of its ident, each made when it is asked for."""

    def __init__(
        self, attributes: Mapping[int, Attribute], patterns: Patterns, first: str, second: str | None
    ) -> None:
        self._attributes = attributes
        self._made = cache(lambda code: patterns.named_pair(attributes[code], first, second))

    def __getitem__(self, code: int) -> PairExtender:
        return self._made(code)

    def __contains__(self, code: object) -> bool:
        return code in self._attributes

    def __iter__(self) -> Iterator[int]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


def _transaction(term: Term) -> str | int | None:
    """A transaction is written as its number or its entity id."""
    if not isinstance(term, Const):
        assert not isinstance(term, LookupRef)
        return term
    if type(term.value) is not int:
        raise AdalogError(Code.QUERY_INVALID, "a transaction is a number or an entity id", term.position)
    return term.value if term.value >= TX_BASE else term.value + TX_BASE


def _added(term: Term) -> str | int | None:
    if not isinstance(term, Const):
        assert not isinstance(term, LookupRef)
        return term
    return TRUE if term.value is True else FALSE if term.value is False else NIL


def rows_extender(terms: Sequence[str | int | None], columns: Sequence[Column], rank: dict[str, int]) -> Bound:
    """A relation restricted by its constants and repeated variables, over its variables. terms: of each column a
    variable, the code of a constant, or None; columns past the terms are left out."""
    named, size = selected(terms, columns)
    if not named:
        return size > 0
    return RelationExtender.of(list(named), list(named.values()), rank)


def selected(terms: Sequence[str | int | None], columns: Sequence[Column]) -> tuple[dict[str, Column], int]:
    """(a column for each variable, how many rows): the rows that constants and repeated variables leave. Terms past
    the columns, and columns past the terms, are left out."""
    keep = np.ones(len(columns[0]) if columns else 0, np.bool_)
    named: dict[str, Column] = {}
    for term, column in zip(terms, columns, strict=False):
        if isinstance(term, str):
            if term in named:
                keep &= named[term] == column
            else:
                named[term] = column
        elif term is not None:
            keep &= column == term
    rows = np.flatnonzero(keep)
    return {name: column[rows] for name, column in named.items()}, len(rows)
