"""The database as a value: what was known after some transaction, for ever.

For everybody who reads. A snapshot is a transaction number over data shared with all its neighbours; tries are made
when first asked for and kept. `as_of`, `since` and `history` give other snapshots of the same data.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from datalog.edn_writer import write
from datalog.errors import AdalogError, Code
from datalog.values import Keyword
from store import bootstrap, index, layout
from store.attribute import FIRST_OWN_IDENT, SCHEMA_BASE, TX_BASE, Attribute
from store.attribute_data import AttributeData, AttributeStatistics, count_of, rows_of
from store.codes import Codes
from store.coercion import coerced
from store.datom import Datom
from store.delta import Delta
from store.manifest import Manifest, manifest_of, received
from store.relation import Columns, Int64s, Relation
from store.schema import Schema
from store.trie import Csr, Trie, distinct
from store.wire import milliseconds

_NO_DATA = AttributeData(Relation(), Delta())


class Snapshot:
    """The datoms with `since` < t <= `t`; with `history` those that no longer hold, too."""

    def __init__(
        self,
        data: Mapping[int, AttributeData],
        codes: Codes,
        schema: Schema,
        t: int,
        since: int = 0,
        history: bool = False,
    ) -> None:
        self.t = t
        self.codes = codes
        self.is_history = history
        self.since_t = since
        self._data = data
        self._schema = schema
        self._tries: dict[tuple[int, bool], Trie] = {}
        self._columns: dict[int, Columns] = {}
        self._lock = threading.RLock()

    @property
    def key(self) -> tuple[int, int, bool]:
        """What tells this view from every other of the same database."""
        return (self.t, self.since_t, self.is_history)

    # Other moments

    def as_of(self, t: int) -> Snapshot:
        """What was known after transaction t; a later t than this snapshot's is this snapshot's."""
        if t >= self.t:
            return self
        past = Snapshot(self._data, self.codes, self._schema, max(t, 0), self.since_t, self.is_history)
        past._schema = self._schema_at(past)
        return past

    def since(self, t: int) -> Snapshot:
        """Only what was asserted after transaction t."""
        return Snapshot(self._data, self.codes, self._schema, self.t, max(t, self.since_t), self.is_history)

    def history(self) -> Snapshot:
        """All that was ever asserted or retracted."""
        return Snapshot(self._data, self.codes, self._schema, self.t, self.since_t, history=True)

    def as_of_instant(self, moment: datetime) -> int:
        """The last transaction at or before an instant; 0 before the first."""
        instants = self._plain._columns_of(bootstrap.TX_INSTANT)
        code = layout.code_of(layout.TAG_INSTANT, milliseconds(moment) + layout.INSTANT_BIAS)
        return int(np.searchsorted(instants.v, code, side="right"))

    def _schema_at(self, past: Snapshot) -> Schema:
        touched = (self._of(id_).last_touched(self.t) for id_ in bootstrap.SCHEMA_ATTRIBUTES)
        return self._schema if max(touched) <= past.t else past._plain._read_schema()

    def _read_schema(self) -> Schema:
        declaring = (bootstrap.VALUE_TYPE, bootstrap.CARDINALITY, bootstrap.UNIQUE, bootstrap.IS_COMPONENT)
        entities = {int(e) for id_ in declaring for e in self._trie(id_, inverse=False).keys}

        def read(attribute: int, entity: int) -> list[Any]:
            return self.codes.decode_many(self._trie(attribute, inverse=False).row(entity))

        return Schema(()).updated(entities, read, self.codes)

    # Schema

    def attribute(self, key: Keyword | int) -> Attribute | None:
        """The attribute of an ident or an entity id."""
        return self._schema.get(key)

    def attributes(self) -> tuple[Attribute, ...]:
        """Every attribute, in the order of their declaration."""
        return self._schema.all()

    # Tries and columns

    def data(self) -> Mapping[int, AttributeData]:
        """What all snapshots of this time share, by attribute; it goes on growing. For folding and shipping."""
        return dict(self._data)

    def _of(self, attribute: int) -> AttributeData:
        return self._data.get(attribute, _NO_DATA)

    @cached_property
    def _plain(self) -> Snapshot:
        """The same moment without `since` and `history`: where names are looked up."""
        if self.since_t == 0 and not self.is_history:
            return self
        return Snapshot(self._data, self.codes, self._schema, self.t)

    def _trie(self, attribute: int, *, inverse: bool) -> Trie:
        trie = self._tries.get((attribute, inverse))
        if trie is not None:
            return trie
        with self._lock:
            trie = self._tries.get((attribute, inverse))
            if trie is None:
                trie = self._tries[attribute, inverse] = self._make_trie(attribute, inverse=inverse)
            return trie

    def _make_trie(self, attribute: int, *, inverse: bool) -> Trie:
        data = self._of(attribute)
        if self._plain is self:
            return data.ve(self.t) if inverse else data.ev(self.t)
        rows = self._columns_of(attribute)
        return Trie(Csr.from_pairs(rows.v, rows.e) if inverse else Csr.from_pairs(rows.e, rows.v))

    def ev(self, attribute: Attribute) -> Trie:
        """Entity to values."""
        return self._trie(attribute.id, inverse=False)

    def ve(self, attribute: Attribute) -> Trie:
        """Value to entities."""
        return self._trie(attribute.id, inverse=True)

    def columns(self, attribute: Attribute) -> Columns:
        """The datoms of this view, sorted by (e, v, t)."""
        return self._columns_of(attribute.id)

    def _columns_of(self, attribute: int) -> Columns:
        with self._lock:
            columns = self._columns.get(attribute)
            if columns is None:
                columns = self._columns[attribute] = self._make_columns(attribute)
            return columns

    def _make_columns(self, attribute: int) -> Columns:
        data = self._of(attribute)
        if self.is_history:
            # t = 0 is what is built in, which every view but one that asks for a later `since` sees.
            return data.events(self.since_t or -1, self.t)
        columns = data.columns(self.t)
        return columns.take(columns.t > self.since_t) if self.since_t else columns

    def statistics(self, attribute: Attribute) -> AttributeStatistics:
        """Counts, at most at the cost of what was written since the last fold."""
        if self._plain is self:
            return self._of(attribute.id).statistics(self.t)
        ev, ve = self.ev(attribute), self.ve(attribute)
        most_values, most_entities = (int(np.diff(trie.base.offsets).max(initial=0)) for trie in (ev, ve))
        return AttributeStatistics(
            len(self.columns(attribute)), rows_of(ev), rows_of(ve), most_values, most_entities
        )

    @cached_property
    def statistics_epoch(self) -> tuple[int, int]:
        """Changes when attributes may have grown or shrunk by a factor: what query plans are kept under."""
        folded = sum(len(data.relation.ev.values) for data in self._data.values())
        return (self.t.bit_length(), folded.bit_length())

    def last_touched(self, attribute: Attribute) -> int:
        """The last transaction that asserted or retracted a datom of it; 0 where none did."""
        return self._of(attribute.id).last_touched(self.t)

    # Entities

    def entid(self, value: Any) -> int | None:
        """The entity that a number, an ident or a lookup ref means; None where there is none.

        Raises ARG_INVALID for anything else, and for a lookup ref through an attribute that is not unique.
        """
        if type(value) is int:
            return value
        if isinstance(value, Keyword):
            return self._plain._only(bootstrap.IDENT, self.codes.lookup(value))
        if type(value) is not tuple or len(value) != 2:
            raise AdalogError(
                Code.ARG_INVALID,
                f"{write(value)} is no entity; one is named by a number, an ident or a lookup ref such as "
                '[:person/email "ada@example.org"]',
            )
        attribute = self.attribute(value[0]) if isinstance(value[0], Keyword | int) else None
        if attribute is None:
            return None
        if attribute.unique is None:
            raise AdalogError(
                Code.ARG_INVALID, f"{attribute.ident} is not unique, so it cannot name an entity in a lookup ref"
            )
        return self._plain._only(attribute.id, self.value_code(attribute, value[1]))

    def value_code(self, attribute: Attribute, value: Any) -> int | None:
        """The code of a value as the attribute's type; None where no datom can hold it."""
        if attribute.is_ref:
            return self.entid(value)
        if attribute.value_type not in (None, "tuple"):
            value = coerced(attribute.value_type, value)
            if value is None:
                return None
        return self.codes.lookup(value)

    def _only(self, attribute: int, code: int | None) -> int | None:
        if code is None:
            return None
        row = self._trie(attribute, inverse=True).row(code)
        return int(row[0]) if len(row) else None

    def ident(self, e: int) -> Keyword | None:
        """The entity's ident, where it has one."""
        row = self._plain._trie(bootstrap.IDENT, inverse=False).row(e)
        return self.codes.decode(int(row[0])) if len(row) else None

    def name_of(self, attribute: int) -> Keyword:
        """An attribute's ident, or the last one it had."""
        found = self._schema.get(attribute)
        if found is not None:
            return found.ident
        names = self._of(bootstrap.IDENT).events(-1, self.t)
        mine = names.take(names.e == attribute)
        name: Keyword = self.codes.decode(int(mine.v[mine.t.argmax()]))
        return name

    # Everything

    def datoms(self, index_name: str, components: Sequence[Any] = (), start: int = 0) -> Iterator[Datom]:
        """Datoms of EAVT, AEVT, AVET or VAET in its order that begin with the components, but the first `start`.

        Raises ARG_INVALID for another index or a component that is none, UNKNOWN_ATTRIBUTE for no attribute.
        """
        return index.datoms(self, index_name, components, start)

    @cached_property
    def datom_count(self) -> int:
        """Datoms that hold, without what is built in."""
        tries = [self._trie(attribute.id, inverse=False) for attribute in self.attributes()]
        return sum(map(count_of, tries)) - (len(bootstrap.datoms()) if self._plain is self else 0)

    @cached_property
    def entity_count(self) -> int:
        """Entities with a datom, without those built in."""
        keys = [self._trie(attribute.id, inverse=False).keys for attribute in self.attributes()]
        return sum(
            _count_between(keys, low, high)
            for low, high in ((0, SCHEMA_BASE), (FIRST_OWN_IDENT, TX_BASE), (TX_BASE, 2 * TX_BASE))
        )

    def manifest(self) -> Manifest:
        """What another process needs to open this snapshot; it pickles."""
        return manifest_of(self.data(), self.codes, self._schema, self.key)

    @staticmethod
    def from_manifest(manifest: Manifest) -> Snapshot:
        """The snapshot of a manifest. Raises INTERNAL where a segment file is gone or damaged."""
        data, codes, schema = received(manifest)
        return Snapshot(data, codes, schema, manifest.t, manifest.since, manifest.history)

    def nbytes(self) -> int:
        """Bytes of the tries and dictionaries behind this snapshot, those of mapped files included."""
        return self.codes.nbytes() + sum(data.nbytes() for data in tuple(self._data.values()))


def _count_between(sorted_ids: Sequence[Int64s], low: int, high: int) -> int:
    """How many distinct ids there are with low <= id < high."""
    parts = [ids[ids.searchsorted(low) : ids.searchsorted(high)] for ids in sorted_ids]
    parts = [ids for ids in parts if len(ids)]
    if not parts:
        return 0
    first, last = min(int(ids[0]) for ids in parts), max(int(ids[-1]) for ids in parts)
    if last - first > 8 * sum(map(len, parts)):
        return len(distinct(np.concatenate(parts)))
    seen = np.zeros(last - first + 1, np.bool_)
    for ids in parts:
        seen[ids - first] = True
    return int(np.count_nonzero(seen))


__all__ = ["TX_BASE", "Snapshot"]
