"""A snapshot of which only some datoms are visible: the database that an identity may see, as a value.

It is a `Snapshot`, so that whatever reads one reads no more than is visible. Look-ups cost what they read; whole
tries and columns of an attribute whose datoms are visible in part are made when first asked for. Such tries are
kept for other snapshots of which the same is visible.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NoReturn, Protocol

import numpy as np

from adalog.datalog.values import Keyword
from adalog.store.snapshot.manifest import Manifest
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.attribute_data import AttributeStatistics, statistics_of
from adalog.store.tries.columns import Columns
from adalog.store.tries.trie import Csr, Trie, distinct
from adalog.store.tries.value_index import IndexedValues
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Bools, CodeColumn
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE, TX_BASE, Attribute
from adalog.store.values.schema import Schema

_USUAL: Final = AttributeStatistics(count=100_000, entities=50_000, values=20_000)
_OWN: Final = ((0, SCHEMA_BASE), (FIRST_OWN_IDENT, TX_BASE), (TX_BASE, 2 * TX_BASE))
"""The ids of entities that are not built in."""


class Visibility(Protocol):
    """What is visible of one snapshot. Attributes are named by their entities; `e` and `v` are int64 columns of one
    length. `key`: equal for filters of the same snapshot that show the same. `newest`: the last transaction that
    what is visible depends on. `schema`: the attributes that there are for the viewer. `is_certain`: nothing was
    hidden so far for want of time or memory; what is read of others must not be kept."""

    @property
    def key(self) -> str: ...

    @property
    def newest(self) -> int: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def is_certain(self) -> bool: ...

    def of(self, snapshot: Snapshot) -> Visibility:
        """The filter of another snapshot of the same database."""

    def shows_all(self, attribute: int) -> bool:
        """Whether all datoms of the attribute are visible."""

    def is_by_entity(self, attribute: int) -> bool:
        """Whether the datoms of one entity are visible together, so that `entities` says which."""

    def decision(self, attribute: int) -> Hashable:
        """Equal for attributes of which the same entities' datoms are visible, where entities decide."""

    def entities(self, attribute: int, e: CodeColumn) -> Bools:
        """Whose datoms of an attribute are visible."""

    def datoms(self, attribute: int, e: CodeColumn, v: CodeColumn) -> Bools:
        """Which datoms of an attribute are visible."""

    def kept_trie(self, attribute: int, *, inverse: bool) -> Trie | None:
        """The trie of what is visible of the attribute, if an earlier filter kept it that shows the same."""

    def keep_trie(self, attribute: int, trie: Trie, *, inverse: bool) -> None:
        """Keeps a trie for later filters. None of its entities are transactions, of which other attributes decide
        what is visible."""


class GuardedSnapshot(Snapshot):
    """The visible datoms of the snapshot `raw`."""

    def __init__(self, raw: Snapshot, visible: Visibility) -> None:
        data = raw.data()
        super().__init__(
            data, raw.codes, visible.schema, raw.t, raw.since_t, raw.is_history, raw.origin, raw.mentions
        )
        self.raw = raw
        self.visible = visible

    def _guarded(self, raw: Snapshot) -> GuardedSnapshot:
        return self if raw is self.raw else GuardedSnapshot(raw, self.visible.of(raw))

    # Other moments

    def as_of(self, t: int) -> Snapshot:
        return self._guarded(self.raw.as_of(t))

    def since(self, t: int) -> Snapshot:
        return self._guarded(self.raw.since(t))

    def history(self) -> Snapshot:
        return self._guarded(self.raw.history())

    @cached_property
    def _plain(self) -> Snapshot:
        return self._guarded(self.raw.plain)

    # Tries and columns

    def data(self) -> NoReturn:
        raise AssertionError("a guarded snapshot does not hand out its data")

    def manifest(self) -> Manifest:
        raise AssertionError("a guarded snapshot is not shipped")

    def has_data(self, attribute: object) -> bool:
        found = self.schema.get(attribute) if isinstance(attribute, int) else None
        return found is not None and self.count(found) > 0

    def attributes_of(self, entities: CodeColumn) -> tuple[Attribute, ...]:
        found = (self.schema.get(each.id) for each in self.raw.attributes_of(entities))
        return tuple(each for each in found if each is not None)

    def pairs_of(self, attribute: Attribute, keys: CodeColumn, *, inverse: bool) -> tuple[CodeColumn, CodeColumn]:
        own, others = self.raw.pairs_of(attribute, keys, inverse=inverse)
        if self.visible.shows_all(attribute.id) or not len(own):
            return own, others
        e, v = (others, own) if inverse else (own, others)
        shown = self.visible.datoms(attribute.id, e, v)
        return own[shown], others[shown]

    def values_of(self, attribute: Attribute, entity: int) -> CodeColumn:
        return self.pairs_of(attribute, np.array([entity], np.int64), inverse=False)[1]

    def _make_trie(self, attribute: int, *, inverse: bool) -> Trie:
        if self.visible.shows_all(attribute):
            return self.raw.trie(attribute, inverse=inverse)
        visible = self.visible
        kept = visible.kept_trie(attribute, inverse=inverse)
        if kept is None:
            kept = Trie(Csr.from_pairs(*self._trie_pairs(attribute, inverse=inverse)))
            whole = self.raw.columns_of(attribute).e
            if len(whole) and whole[-1] < TX_BASE:
                visible.keep_trie(attribute, kept, inverse=inverse)
        return kept

    def _trie_pairs(self, attribute: int, *, inverse: bool) -> tuple[CodeColumn, CodeColumn]:
        """(keys, values) of what is visible of an attribute, in any order."""
        other = self._tries.get((attribute, not inverse)) or self.visible.kept_trie(attribute, inverse=not inverse)
        if other is not None:
            values, keys = other.merged.pairs()
            return keys, values
        rows = self.columns_of(attribute)
        return (rows.v, rows.e) if inverse else (rows.e, rows.v)

    def has_trie(self, attribute: int) -> bool:
        """Whether a trie of what is visible of an attribute is at hand."""
        return any(
            (attribute, inverse) in self._tries or self.visible.kept_trie(attribute, inverse=inverse) is not None
            for inverse in (False, True)
        )

    def _make_columns(self, attribute: int) -> Columns:
        return self._shown(attribute, self.raw.columns_of(attribute))

    def columns_of_entities(self, attribute: int, entities: CodeColumn) -> Columns:
        return self._shown(attribute, self.raw.columns_of_entities(attribute, entities))

    def columns_between(self, attribute: int, low: int, high: int) -> Columns:
        return self._shown(attribute, self.raw.columns_between(attribute, low, high))

    def _shown(self, attribute: int, columns: Columns) -> Columns:
        if self.visible.shows_all(attribute) or not len(columns):
            return columns
        return columns.take(self.visible.datoms(attribute, columns.e, columns.v))

    def prepare(self) -> None:
        """Nothing: what is visible is found when it is asked for."""

    # Counts

    def statistics(self, attribute: Attribute) -> AttributeStatistics:
        if self.visible.shows_all(attribute.id):
            return self.raw.statistics(attribute)
        return replace(statistics_of(self.ev(attribute), self.ve(attribute)), count=len(self.columns(attribute)))

    def row_estimate(self, attribute: Attribute, key: int, *, inverse: bool) -> int:
        return self.raw.row_estimate(attribute, key, inverse=inverse)

    def range_estimate(self, attribute: Attribute, low: int | None, high: int | None) -> float | None:
        return self.raw.range_estimate(attribute, low, high)

    def indexed_values(self, attribute: Attribute) -> IndexedValues | None:
        return self.raw.indexed_values(attribute)

    def estimates(self, attribute: Attribute) -> AttributeStatistics:
        return self.raw.statistics(attribute)

    def count(self, attribute: Attribute) -> int:
        if self.visible.shows_all(attribute.id):
            return self.raw.count(attribute)
        return len(self.columns(attribute))

    @cached_property
    def totals(self) -> tuple[int, int, int]:
        return self.raw.totals

    @cached_property
    def entity_count(self) -> int:
        found = [self.columns(attribute).e for attribute in self.attributes()]
        entities = distinct(np.concatenate(found)) if found else np.empty(0, np.int64)
        return sum(int(entities.searchsorted(high) - entities.searchsorted(low)) for low, high in _OWN)

    # Entities

    def as_of_instant(self, moment: datetime) -> int:
        return self.raw.as_of_instant(moment)

    def is_older_than(self, moment: datetime) -> bool:
        return self.raw.is_older_than(moment)

    def _only(self, attribute: int, code: int | None) -> int | None:
        if code is None:
            return None
        row = self.raw.trie(attribute, inverse=True).row(code)
        shown = row[self.visible.datoms(attribute, row, np.full(len(row), code, np.int64))]
        return int(shown[0]) if len(shown) else None

    def ident(self, e: int) -> Keyword | None:
        plain = self.plain
        _, codes = plain.pairs_of(_ident_of(plain), np.array([e], np.int64), inverse=False)
        return self.codes.decode(int(codes[0])) if len(codes) else None


class UnmeasuredSnapshot(GuardedSnapshot):
    """The same with sizes that say nothing of the data: for plans that are shown to the viewer."""

    statistics_epoch = (-1, -1)
    totals = (1_000_000, 100_000, 100_000)

    def row_estimate(self, attribute: Attribute, key: int, *, inverse: bool) -> int:
        alone = attribute.kind.unique is not None if inverse else not attribute.is_many
        return 1 if alone else 10

    def range_estimate(self, attribute: Attribute, low: int | None, high: int | None) -> float | None:
        return None

    def indexed_values(self, attribute: Attribute) -> IndexedValues | None:
        return None

    def estimates(self, attribute: Attribute) -> AttributeStatistics:
        return _USUAL

    def entid(self, value: Any) -> int:
        """Some number: whether there is such an entity is not told by a plan."""
        return value if type(value) is int else 0

    def value_code(self, attribute: Attribute, value: Any) -> int:
        """Likewise."""
        return 0


def _ident_of(snapshot: Snapshot) -> Attribute:
    found = snapshot.attribute(bootstrap.IDENT)
    assert found is not None
    return found
