"""The database as a value: what was known after some transaction, for ever.

A snapshot is a transaction number over data shared with all its neighbours; tries are made
when first asked for and kept. `as_of`, `since` and `history` give other snapshots of the same data.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import invalid_argument
from adalog.datalog.values import Keyword, Symbol
from adalog.store.files.packing import milliseconds
from adalog.store.snapshot import index
from adalog.store.snapshot.attribute_index import AttributeFinder
from adalog.store.snapshot.free_ids import FreeIds
from adalog.store.snapshot.manifest import Manifest, manifest_of, received
from adalog.store.tries.attribute_data import NO_DATA, AttributeData, AttributeStatistics, statistics_of
from adalog.store.tries.columns import Columns
from adalog.store.tries.signed import runs
from adalog.store.tries.trie import EMPTY, Csr, Trie, distinct
from adalog.store.tries.value_index import IndexedValues
from adalog.store.values import bootstrap, layout
from adalog.store.values.arrays import CodeColumn
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE, TX_BASE, Attribute
from adalog.store.values.codes import Codes
from adalog.store.values.coercion import coerced, coerced_tuple
from adalog.store.values.datom import Datom
from adalog.store.values.scalars import lookup_ref_meant
from adalog.store.values.schema import UNDECLARED, Schema, item_types

# So few are looked at one by one.
_FEW_ATTRIBUTES: Final = 64
_MOST_ATTACHED: Final = 1_000

# t, since, whether it is a history, the speculative transactions in it, and the last one that forgot something.
ViewKey = tuple[int, int, bool, str, int]


class SpeculationStart(NamedTuple):
    """Where speculation begins, so that it can be repeated: its instant, and the ids that new entities get."""

    instant: int
    next_entity: int
    next_ident: int
    last_entity: int = SCHEMA_BASE - 1


class SnapshotOrigin(NamedTuple):
    """The newest state that a snapshot was taken from: its transaction, the attributes with :db/noHistory, the ids
    that new entities would get. applied: what tells a speculative state from every other. start: where that began.
    folded: how many datoms the relations hold, where that is known. durable: the last transaction up to which it is
    as every other state of the database. excised: the last excision of which nothing is left in it, 0 for none."""

    t: int
    forgetful: frozenset[int] = frozenset()
    free: FreeIds = FreeIds()
    next_ident: int = FIRST_OWN_IDENT
    applied: str = ""
    start: SpeculationStart | None = None
    folded: int | None = None
    durable: int = 0
    excised: int = 0


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
        origin: SnapshotOrigin | None = None,
        mentions: AttributeFinder | None = None,
    ) -> None:
        """mentions: what finds attributes by entities, where there is an index of them. attached: what readers
        keep with it as long as it is there."""
        self.t = t
        self.origin = SnapshotOrigin(t) if origin is None else origin
        self.codes = codes
        self.is_history = history
        self.since_t = since
        self._data = data
        self.schema = schema
        self.mentions = mentions
        self._tries: dict[tuple[int, bool], Trie] = {}
        self._columns: dict[int, Columns] = {}
        self.attached: dict[object, Any] = {}
        self._lock = threading.RLock()

    def attach(self, key: object, value: Any) -> None:
        """Keeps something that a reader made from it; drops all that is kept where that is much."""
        if len(self.attached) >= _MOST_ATTACHED:
            self.attached.clear()
        self.attached[key] = value

    @property
    def key(self) -> ViewKey:
        """What tells this view from every other of the same database."""
        return self.key_of(self.t, self.since_t, history=self.is_history)

    def key_of(self, t: int, since: int, *, history: bool) -> ViewKey:
        """The key of another view of the state that this one was taken from."""
        forgot = self._forgot if history or t < self.origin.t else 0
        return (t, since, history, self.origin.applied, forgot)

    @cached_property
    def _forgot(self) -> int:
        """The last transaction that changed what views of the past show, as those of attributes with
        `:db/noHistory` alone do; 0 where none did."""
        forgetful = self.origin.forgetful
        if not forgetful:
            return 0
        # The transaction that sets `:db/noHistory` changes them, too.
        return max(self.data_of(id_).last_touched(self.origin.t) for id_ in (bootstrap.NO_HISTORY, *forgetful))

    def being_changed(self, codes: Codes) -> Snapshot:
        """The same for a transaction that is not durable yet: with its codes, and not taken for any other state."""
        origin = self.origin._replace(applied=f"{self.origin.applied} being changed")
        return Snapshot(
            self._data, codes, self.schema, self.t, self.since_t, self.is_history, origin, self.mentions
        )

    def decoded_by(self, codes: Codes) -> Snapshot:
        """The same with the codes that the database had before values left it."""
        return Snapshot(
            self._data, codes, self.schema, self.t, self.since_t, self.is_history, self.origin, self.mentions
        )

    @property
    def is_past(self) -> bool:
        """Whether more was known when it was taken."""
        return self.t < self.origin.t

    # Other moments

    def as_of(self, t: int) -> Snapshot:
        """What was known after transaction t; a later t than this snapshot's is this snapshot's."""
        if t >= self.t:
            return self
        past = self._view(max(t, 0), self.since_t, history=self.is_history)
        past.schema = self.schema if self.schema_touched <= past.t else past.plain._read_schema()
        return past

    def at_most(self, t: int) -> Snapshot:
        """The state after transaction t, or the one that this view was taken from if that is older; not limited to
        what this view shows."""
        return self._view(min(t, self.origin.t))

    def since(self, t: int) -> Snapshot:
        """Only what was asserted after transaction t."""
        return self._view(self.t, max(t, self.since_t), history=self.is_history)

    def history(self) -> Snapshot:
        """All that was ever asserted or retracted."""
        return self._view(self.t, self.since_t, history=True)

    def _view(self, t: int, since: int = 0, *, history: bool = False) -> Snapshot:
        return Snapshot(self._data, self.codes, self.schema, t, since, history, self.origin, self.mentions)

    def as_of_instant(self, moment: datetime) -> int:
        """The last transaction at or before an instant; 0 before the first."""
        instants = self.plain.columns_of(bootstrap.TX_INSTANT)
        return int(np.searchsorted(instants.v, _instant_code(moment), side="right"))

    def is_older_than(self, moment: datetime) -> bool:
        """Whether an instant is later than the last transaction's."""
        instants = self.plain.columns_of(bootstrap.TX_INSTANT).v
        return not len(instants) or _instant_code(moment) > int(instants[-1])

    @cached_property
    def schema_touched(self) -> int:
        """The last transaction that declared or named something; until then the schema may have been another one
        and have become the same again."""
        return max(self.data_of(id_).last_touched(self.t) for id_ in bootstrap.SCHEMA_ATTRIBUTES)

    @cached_property
    def policies_touched(self) -> int:
        """The last transaction that changed policies."""
        return max(self.data_of(id_).last_touched(self.t) for id_ in bootstrap.POLICY_ATTRIBUTES)

    def _read_schema(self) -> Schema:
        declaring = (bootstrap.VALUE_TYPE, bootstrap.CARDINALITY, bootstrap.UNIQUE, bootstrap.IS_COMPONENT)
        entities = {int(e) for id_ in declaring for e in self.trie(id_, inverse=False).keys}

        def read(attribute: int, entity: int) -> list[Any]:
            return self.codes.decode_many(self.trie(attribute, inverse=False).row(entity))

        return Schema(()).updated(entities, read, self.codes)

    # Schema

    def attribute(self, key: Keyword | int) -> Attribute | None:
        found = self.schema.get(key)
        return UNDECLARED.get(key) if found is None else found

    def attributes(self) -> tuple[Attribute, ...]:
        return self.schema.all()

    def attributes_of(self, entities: CodeColumn) -> tuple[Attribute, ...]:
        """Those attributes that may have datoms of some entities, or refer to one, in the order of declaration.

        Costs what these have and the attributes with many datoms, however many others there are. entities: sorted
        and distinct.
        """
        if self.mentions is None or self.schema.declared <= _FEW_ATTRIBUTES:
            return self.attributes()
        found = map(self.schema.get, self.mentions.of(entities))
        return tuple(each for each in found if each is not None)

    # Tries and columns

    def data(self) -> Mapping[int, AttributeData]:
        """What all snapshots of this time share, by attribute; it goes on growing. For folding and shipping."""
        return dict(self._data)

    def data_of(self, attribute: int) -> AttributeData:
        return self._data.get(attribute, NO_DATA)

    def has_data(self, attribute: object) -> bool:
        return attribute in self._data

    @property
    def plain(self) -> Snapshot:
        """The same moment without `since` and `history`: where names are looked up."""
        # Kept only where it is another one: a snapshot that holds itself would outlive its readers.
        return self if self.since_t == 0 and not self.is_history else self._plain

    @cached_property
    def _plain(self) -> Snapshot:
        return self._view(self.t)

    def trie(self, attribute: int, *, inverse: bool) -> Trie:
        """Entity to values, or with `inverse` value to entities, of an attribute's entity."""
        trie = self._tries.get((attribute, inverse))
        if trie is not None:
            return trie
        with self._lock:
            trie = self._tries.get((attribute, inverse))
            if trie is None:
                trie = self._tries[attribute, inverse] = self._make_trie(attribute, inverse=inverse)
            return trie

    def _make_trie(self, attribute: int, *, inverse: bool) -> Trie:
        data = self.data_of(attribute)
        if self.plain is self and not self._forgets(attribute):
            return data.ve(self.t) if inverse else data.ev(self.t)
        rows = self.columns_of(attribute)
        return Trie(Csr.from_pairs(rows.v, rows.e) if inverse else Csr.from_pairs(rows.e, rows.v))

    def ev(self, attribute: Attribute) -> Trie:
        return self.trie(attribute.id, inverse=False)

    def ve(self, attribute: Attribute) -> Trie:
        return self.trie(attribute.id, inverse=True)

    def pairs_of(self, attribute: Attribute, keys: CodeColumn, *, inverse: bool) -> tuple[CodeColumn, CodeColumn]:
        """(entities, values) of some entities, or with `inverse` (values, entities) of some values, both int64[n].
        keys: sorted and distinct; what is found is in their order."""
        trie = self.trie(attribute.id, inverse=inverse)
        return trie.pairs_of(keys) if trie.rows else (EMPTY.keys, EMPTY.values)

    def values_of(self, attribute: Attribute, entity: int) -> CodeColumn:
        """The values of one entity, sorted."""
        return self.ev(attribute).row(entity)

    def columns(self, attribute: Attribute) -> Columns:
        """The datoms of this view, sorted by (e, v, t)."""
        return self.columns_of(attribute.id)

    def columns_of(self, attribute: int) -> Columns:
        """The same of an attribute's entity."""
        with self._lock:
            columns = self._columns.get(attribute)
            if columns is None:
                columns = self._columns[attribute] = self._make_columns(attribute)
            return columns

    def columns_of_entities(self, attribute: int, entities: CodeColumn) -> Columns:
        """The datoms of this view of some entities, which are sorted and distinct; sorted by (e, v, t). Costs what
        these have, in a plain view."""
        if self.plain is self and not self._forgets(attribute) and attribute not in self._columns:
            return self.data_of(attribute).columns_of(entities, self.t)
        columns = self.columns_of(attribute)
        starts = columns.e.searchsorted(entities)
        return columns.take(runs(starts, columns.e.searchsorted(entities, side="right") - starts))

    def columns_between(self, attribute: int, low: int, high: int) -> Columns:
        """The datoms of this view of the entities from `low` to before `high`, of an attribute's entity; sorted by
        (e, v, t). Costs what these ever had, and keeps nothing."""
        forgets = self._forgets(attribute)
        until = self.origin.t if forgets else self.t
        columns = self.data_of(attribute).events_between(low, high, until)
        if forgets or not self.is_history:
            columns = columns.held()
        if forgets and until > self.t:
            columns = columns.take(columns.t <= self.t)
        return columns.take(columns.t > self.since_t) if self.since_t else columns

    @property
    def is_plain(self) -> bool:
        """Whether it shows what holds at one moment, and nothing of how that came to be."""
        return self.plain is self

    def _make_columns(self, attribute: int) -> Columns:
        data = self.data_of(attribute)
        if self._forgets(attribute):
            columns = data.columns(self.origin.t)
            return columns.take((columns.t <= self.t) & (columns.t > (self.since_t or -1)))
        if self.is_history:
            # t = 0 is what is built in, which every view but one that asks for a later `since` sees.
            return data.events(self.since_t or -1, self.t)
        columns = data.columns(self.t)
        return columns.take(columns.t > self.since_t) if self.since_t else columns

    def _forgets(self, attribute: int) -> bool:
        """Whether only what still holds is shown: of `:db/noHistory`, wherever there could be something older."""
        return (self.is_past or self.is_history) and attribute in self.origin.forgetful

    def prepare(self) -> None:
        """Makes what would be made when first asked for: every attribute's tries, their indexes, its statistics."""
        for attribute in self.attributes():
            # What is young and small is made as quickly by the first reader, and takes memory for each attribute.
            if self.has_data(attribute.id) and self.data_of(attribute.id).few(self.t) is None:
                for trie in (self.ev(attribute), self.ve(attribute)):
                    trie.base.prepare()
                self.statistics(attribute)

    def statistics(self, attribute: Attribute) -> AttributeStatistics:
        """Counts: of a history all its events, in a plain view what holds."""
        if self.plain is self and not self._forgets(attribute.id):
            return self.data_of(attribute.id).statistics(self.t)
        return replace(statistics_of(self.ev(attribute), self.ve(attribute)), count=len(self.columns(attribute)))

    def row_estimate(self, attribute: Attribute, key: int, *, inverse: bool) -> int:
        """About how many values an entity has, or with `inverse` how many entities a value."""
        return self.trie(attribute.id, inverse=inverse).count(key)

    def range_estimate(self, attribute: Attribute, low: int | None, high: int | None) -> float | None:
        """About which share of an attribute's values have codes between two, both included; None: not known."""
        trie = self.trie(attribute.id, inverse=True)
        keys = trie.base.keys if 2 * len(trie.base.keys) >= trie.rows else trie.keys
        if not len(keys):
            return None
        first = 0 if low is None else int(keys.searchsorted(low))
        end = len(keys) if high is None else int(keys.searchsorted(high, side="right"))
        return max(end - first, 0) / len(keys)

    def indexed_values(self, attribute: Attribute) -> IndexedValues | None:
        """Most of an attribute's values in their order, where there is an index of them."""
        trie = self.trie(attribute.id, inverse=True)
        keys, order = trie.base.keys, trie.base.order
        return None if order is None or 2 * len(keys) < trie.rows else IndexedValues(keys, order, self.codes)

    def estimates(self, attribute: Attribute) -> AttributeStatistics:
        """The same to choose between plans by, and never to decide."""
        return self.statistics(attribute)

    @cached_property
    def totals(self) -> tuple[int, int, int]:
        """(datoms, the most entities that have one attribute, values of each attribute together). Of thousands of
        attributes, those of small ones are estimated."""
        attributes = self.attributes()
        exact = len(attributes) <= _FEW_ATTRIBUTES or self.plain is not self
        rows = firsts = values = 0
        for attribute in attributes:
            few = None if exact else self.data_of(attribute.id).few(self.t)
            if few is None:
                counts = self.statistics(attribute)
                rows, values = rows + counts.count, values + counts.values
                firsts = max(firsts, counts.entities)
            else:
                rows, values = rows + len(few), values + len(few)
                firsts = max(firsts, len(few))
        return rows, firsts, values

    def count(self, attribute: Attribute) -> int:
        """How many datoms of it there are, as its statistics say, without an index by value."""
        if self.plain is self and not self._forgets(attribute.id):
            data = self.data_of(attribute.id)
            few = data.few(self.t)
            return data.ev(self.t).size.pairs if few is None else len(few)
        return len(self.columns(attribute))

    @property
    def statistics_epoch(self) -> tuple[int, int]:
        """Changes when attributes may have grown or shrunk by a factor: what query plans are kept under."""
        folded = self.origin.folded
        return (self.t.bit_length(), (self._folded if folded is None else folded).bit_length())

    @cached_property
    def _folded(self) -> int:
        return sum(data.relation.count for data in self._data.values())

    # Entities

    def entid(self, value: Any) -> int | None:
        """The entity that a number, an ident or a lookup ref means; None where there is none.

        Raises ARG_INVALID for anything else, and for a lookup ref through an attribute that is not unique.
        """
        if type(value) is int:
            return value
        if isinstance(value, Keyword):
            return self.plain._only(bootstrap.IDENT, self.codes.lookup(value))
        if type(value) is not tuple or len(value) != 2:
            raise invalid_argument(
                f"{write(value)} is no entity; one is named by a number, an ident or a lookup ref such as "
                f'[:person/email "ada@example.org"]{_unquoted(value)}'
            )
        attribute = self.attribute(value[0]) if isinstance(value[0], Keyword | int) else None
        if attribute is None:
            return None
        if attribute.kind.unique is None:
            raise invalid_argument(f"{attribute.ident} is not unique, so it cannot name an entity in a lookup ref")
        return self.plain._only(attribute.id, self.value_code(attribute, value[1]))

    def value_code(self, attribute: Attribute, value: Any) -> int | None:
        """The code of a value as the attribute's type; None where no datom can hold it."""
        if attribute.is_ref:
            return self.entid(value)
        if attribute.kind.value_type == "tuple":
            types = item_types(attribute, len(value), self.schema.by_ident) if type(value) is tuple else None
            if types is not None:
                refs = zip(types, value, strict=False)
                value = coerced_tuple(
                    types, tuple(self.entid(x) if kind == "ref" and x is not None else x for kind, x in refs)
                )
                if value is None:
                    return None
        elif attribute.kind.value_type is not None:
            value = coerced(attribute.kind.value_type, value)
            if value is None:
                return None
        return self.codes.lookup(value)

    def _only(self, attribute: int, code: int | None) -> int | None:
        if code is None:
            return None
        row = self.trie(attribute, inverse=True).row(code)
        return int(row[0]) if len(row) else None

    def ident(self, e: int) -> Keyword | None:
        row = self.plain.trie(bootstrap.IDENT, inverse=False).row(e)
        return self.codes.decode(int(row[0])) if len(row) else None

    def name_of(self, attribute: int) -> Keyword:
        """An attribute's ident, or the last one it had."""
        found = self.schema.get(attribute)
        if found is not None:
            return found.ident
        names = self.data_of(bootstrap.IDENT).events(-1, self.t)
        mine = names.take(names.e == attribute)
        name: Keyword = self.codes.decode(int(mine.v[mine.t.argmax()]))
        return name

    # Everything

    def datoms(self, index_name: str, components: Sequence[Any] = (), start: int = 0) -> Iterator[Datom]:
        """Datoms of EAVT, AEVT, AVET or VAET in its order that begin with the components, but the first `start`.
        Raises ARG_INVALID for another index or a component that is none, UNKNOWN_ATTRIBUTE for no attribute."""
        for span in index.datom_spans(self, index_name, components, start):
            yield from span.datoms()

    @cached_property
    def datom_count(self) -> int:
        """Datoms that hold, without what is built in."""
        if self.plain is self:
            built_in = len(bootstrap.datoms())
            # Built in from the first transaction on that needs them.
            for id_ in (bootstrap.IDENT, bootstrap.VALUE_TYPE, bootstrap.CARDINALITY, bootstrap.UNIQUE):
                trie = self.trie(id_, inverse=False)
                built_in += sum(len(trie.row(e)) for e in bootstrap.LATER)
            return sum(map(self.count, self.attributes())) - built_in
        return sum(self.trie(attribute.id, inverse=False).pairs for attribute in self.attributes())

    @cached_property
    def entity_count(self) -> int:
        """Entities with a datom, without those built in."""
        keys: list[CodeColumn] = []
        # Those of attributes with few datoms, together.
        others: list[int] = []
        for attribute in self.attributes():
            few = None
            if self.plain is self and not self._forgets(attribute.id):
                few = self.data_of(attribute.id).few(self.t)
            if few is None:
                keys.append(self.trie(attribute.id, inverse=False).keys)
            else:
                others += [e for e, _ in few]
        keys.append(distinct(np.array(others, np.int64)))
        return sum(
            _count_between(keys, low, high)
            for low, high in ((0, SCHEMA_BASE), (FIRST_OWN_IDENT, TX_BASE), (TX_BASE, 2 * TX_BASE))
        )

    def manifest(self) -> Manifest:
        """What another process needs to open this snapshot; it pickles."""
        view = (self.t, self.since_t, self.is_history)
        return manifest_of(self.data(), self.codes, self.schema, view, (self.origin.t, self.origin.forgetful))

    @staticmethod
    def from_manifest(manifest: Manifest) -> Snapshot:
        """The snapshot of a manifest. Raises INTERNAL where a segment file is gone or damaged."""
        data, codes, schema = received(manifest)
        origin = SnapshotOrigin(manifest.origin_t, manifest.forgetful)
        return Snapshot(data, codes, schema, manifest.t, manifest.since, manifest.history, origin)

    def nbytes(self) -> int:
        """Bytes of the tries and dictionaries behind this snapshot, those of mapped files included."""
        return self.codes.nbytes() + sum(data.nbytes() for data in tuple(self._data.values()))


def _instant_code(moment: datetime) -> int:
    return layout.code_of(layout.TAG_INSTANT, milliseconds(moment) + layout.INSTANT_BIAS)


def _count_between(sorted_ids: Sequence[CodeColumn], low: int, high: int) -> int:
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


def _unquoted(value: Any) -> str:
    """The proposal for a name that is not written as a keyword."""
    if (meant := lookup_ref_meant(value)) is not None:
        return f"; did you mean {write(meant)}?"
    if isinstance(value, Symbol):
        return f"; did you mean :{value.name}?"
    return f"; did you mean {value}, without quotes?" if type(value) is str and value.startswith(":") else ""
