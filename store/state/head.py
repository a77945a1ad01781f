"""The newest state as the writer sees it: what holds, the schema, the counters; and how a transaction changes it.

Only the writer's thread touches a Head. Readers get snapshots, which share its data but never look past their own
transaction; `rolled_back` undoes transactions that the log then refused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from adalog.store.excision.remainder import Remainder, remainder
from adalog.store.log.imported import LoggedFile, intern_together
from adalog.store.log.payload import Logged
from adalog.store.snapshot.attribute_index import MANY, AttributeIndex
from adalog.store.snapshot.free_ids import FreeIds, after, ids_in, ids_in_columns
from adalog.store.snapshot.snapshot import Snapshot, SnapshotOrigin
from adalog.store.state.state import DatabaseState
from adalog.store.tries.attribute_data import NO_DATA, AttributeData
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import NO_RELATION, Relation
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import FIRST_OWN_IDENT, MERGED
from adalog.store.values.blocks.block import Block
from adalog.store.values.changes import BulkColumn, Effect, Excision
from adalog.store.values.codes import Codes
from adalog.store.values.draft import Draft, Waiting
from adalog.store.values.schema import Reader, Schema

# Of the schema, entities that are read together rather than one by one.
_MANY_ENTITIES: Final = 32
_TOGETHER: Final = 1024
# Later than any transaction.
_NEWEST: Final = 1 << 60
_NO_VALUES: Final[list[Any]] = []


class Counters(NamedTuple):
    """The last transaction with its instant, and the ids that new entities get. excised: the last excision, 0 for
    none."""

    t: int
    instant: int
    free: FreeIds
    next_ident: int
    excised: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """What `rolled_back` needs to return to a moment."""

    counters: Counters
    schema: Schema
    codes: Waiting
    # Of the attributes written since, the deltas as they were.
    lengths: Mapping[int, int]


class Head(DatabaseState):
    """The newest state. What it interns waits in its codes until `settle`."""

    codes: Draft

    def __init__(self, codes: Codes) -> None:
        super().__init__(Draft(codes), t=0, instant=0, free=FreeIds(), next_ident=FIRST_OWN_IDENT)
        self.data: dict[int, AttributeData] = {}
        self._mentions = AttributeIndex()
        self._lengths: dict[int, int] = {}
        # Datoms in relations.
        self._folded = 0
        # The last transaction that was.
        self._durable = 0
        # The last excision of which nothing is left here.
        self.excised = 0
        # The last transaction that the log had when this state began to be read from its first one; 0 where that is
        # not known.
        self.read_from = 0

    @staticmethod
    def empty(secret: bytes | None = None) -> Head:
        """Before the first transaction. secret: of its dictionaries, as there."""
        head = Head(Codes(secret=secret))
        effects = head._begin()
        head.schema = _built_in()
        head._mention(effects)
        head.settle()
        return head

    def _begin(self) -> list[Effect]:
        """Writes what every database knows, of which it returns the effects."""
        effects = [Effect(e, a, self.codes.intern(v), True) for e, a, v in bootstrap.datoms()]
        self._write(effects, 0)
        return effects

    @staticmethod
    def restored(codes: Codes, data: Mapping[int, tuple[Relation, Delta]], counters: Counters) -> Head:
        """As it was when its data was saved."""
        head = Head(codes)
        for id_, (relation, delta) in data.items():
            head._put(id_, relation, delta)
        head.t, head.instant, head.free, head.next_ident, head.excised = counters
        head._durable = head.t
        named = head.live(bootstrap.IDENT)
        entities = {*named.relation.ev.keys.tolist(), *named.delta.events(0, len(named.delta)).e.tolist()}
        head._read_schema(entities)
        for id_, live in head.data.items():
            if not head._mentions.has_left(id_):
                head._mention_all(id_, live.delta.events(0, len(live.delta)))
        return head

    @property
    def counters(self) -> Counters:
        return Counters(self.t, self.instant, self.free, self.next_ident, self.excised)

    def live(self, attribute: int) -> AttributeData:
        return self.data.get(attribute, NO_DATA)

    def _written(self, attribute: int) -> Delta:
        """The attribute's delta, to be appended to."""
        found = self.data.get(attribute)
        if found is None:
            found = self.data[attribute] = AttributeData(NO_RELATION, Delta())
        return found.delta

    def has_merged(self) -> bool:
        # Asked whenever a database is opened: nothing is made for it that may stay unused.
        return any(live.mentions(MERGED) for live in self.data.values()) and super().has_merged()

    def snapshot(self) -> Snapshot:
        return self._snapshot(self.codes)

    def published(self) -> Snapshot:
        """The snapshot for everybody, of a moment at which all is settled."""
        return self._snapshot(self.codes.durable)

    def _snapshot(self, codes: Codes) -> Snapshot:
        origin = SnapshotOrigin(
            *(self.t, self.schema.forgetful, self.free, self.next_ident),
            folded=self._folded,
            durable=self._durable,
            excised=self.excised,
        )
        return Snapshot(self.data, codes, self.schema, self.t, origin=origin, mentions=self._mentions)

    def apply(self, effects: Iterable[Effect], t: int, instant: int, ids: Collection[int] = ()) -> None:
        """The next transaction's effects, each of which changes something. ids: entities that it named besides."""
        effects = list(effects)
        self._write(effects, t)
        self.t, self.instant = t, instant
        touched = {effect.e for effect in effects if effect.a in bootstrap.SCHEMA_ATTRIBUTES}
        if touched:
            self._read_schema(touched)
        self._mention(effects)
        used = ids_in(effects, self.schema, self.codes)
        if ids:
            used.update(ids)
        self.use(used)

    def replay(self, t: int, instant: int, logged: Logged) -> None:
        """The next transaction as the log has it."""
        self.apply(logged.effects(self.codes), t, instant, logged.excised.ids.tolist())
        if logged.columns or logged.slots:
            files = [each for each in logged.columns if isinstance(each, LoggedFile)]
            together = [
                (slot.tag, number, slot.key_of(number))
                for slot in logged.together
                for number in range(slot.number, slot.stop)
            ]
            intern_together(files, self.codes, together)
            bulk = [
                BulkColumn(each.attribute, each.e, self._column_codes(logged, number), each.added)
                for number, each in enumerate(logged.columns)
            ]
            end = len(logged.datoms) + 1 + len(bulk)
            logged.slots_at(range(end, end + 1)).close(self.codes)
            self.use(ids_in_columns(bulk, self.schema, self.codes))
            self.replace({column.attribute: self.with_column(column) for column in _one_for_each(bulk)})
        self.settle()

    def _column_codes(self, logged: Logged, number: int) -> Int64s:
        """The codes of one of an entry's columns, which are interned."""
        column, place = logged.columns[number], len(logged.datoms) + 1 + number
        if not logged.slots or isinstance(column, LoggedFile):
            return column.codes(self.codes)
        slots = logged.slots_at(range(place, place + 1))
        codes = column.codes_among(self.codes, slots)
        slots.close(self.codes)
        return codes

    def settle(self) -> None:
        """What was applied is durable."""
        self.codes.settle()
        self._durable = self.t

    def remainders(self, excision: Excision) -> dict[int, Remainder]:
        """What an excision would leave of each attribute of which it takes something."""
        found = {}
        for id_, live in self.data.items():
            left = remainder(live, self.schema.get(id_), id_, excision, self.t)
            if left is not None:
                found[id_] = left
        return found

    def excise(self, excision: Excision, remainders: Mapping[int, Remainder] | None = None) -> None:
        """Takes away what an excision takes, while all is settled: nothing that is made from now on has it.
        Snapshots given out before keep what they have. remainders: its own, where they are known."""
        remainders = self.remainders(excision) if remainders is None else remainders
        # First, as it reads files: nothing is changed where that fails.
        codes = self.codes.durable.renamed(excision.renamed, excision.seed)
        self.data = dict(self.data)
        for id_, left in remainders.items():
            self._put(id_, left.relation, Delta())
        self.codes = Draft(codes)
        describing = [left.entities for id_, left in remainders.items() if id_ in bootstrap.SCHEMA_ATTRIBUTES]
        if describing:
            self._read_schema(distinct(np.sort(np.concatenate(describing))).tolist())
        self.excised = max(self.excised, excision.t)

    def become(self, other: Head) -> None:
        """Takes over all of another state, which is not used afterwards. Snapshots given out before keep what they
        have."""
        self.__dict__.update(other.__dict__)

    def with_column(self, column: BulkColumn) -> Relation:
        """The attribute's relation with its delta and the column's datoms, changed by the current transaction."""
        live, attribute = self.live(column.attribute), self.schema.get(column.attribute)
        added = np.ones(len(column.e), np.bool_) if column.added is None else column.added
        new = Columns(column.e, column.v, np.full(len(column.e), self.t, np.int64), added)
        events = Columns.concat([live.delta.events(0, len(live.delta)), new])
        keep_history = attribute is None or not attribute.kind.no_history
        return live.relation.folded(events, self.t, keep_history=keep_history)

    def _write(self, effects: Iterable[Effect], t: int) -> None:
        # Within one transaction a delta wants retractions before assertions.
        by_attribute: dict[int, list[Effect]] = {}
        lengths = self._lengths
        for effect in effects:
            if effect.a not in lengths:
                lengths[effect.a] = len(self.live(effect.a).delta)
            if effect.added:
                by_attribute.setdefault(effect.a, []).append(effect)
            else:
                self._written(effect.a).append(effect.e, effect.v, t, False)
        for a, own in by_attribute.items():
            append = self._written(a).append
            for e, _, v, _ in own:
                append(e, v, t, True)

    def _mention(self, effects: Iterable[Effect]) -> None:
        """Enters the effects, which were written, into the index of attributes by entity."""
        mentions, schema = self._mentions, self.schema
        for e, a, v, added in effects:
            if mentions.has_left(a):
                continue
            if len(self.data[a].delta) > MANY:
                mentions.leave(a)
            elif added:
                mentions.add(e, a)
                attribute = schema.get(a)
                if attribute is not None and attribute.is_ref:
                    mentions.add(v, a)

    def _mention_all(self, attribute: int, events: Columns) -> None:
        declared = self.schema.get(attribute)
        ids = [events.e, events.v] if declared is not None and declared.is_ref else [events.e]
        for id_ in distinct(np.concatenate(ids)).tolist():
            self._mentions.add(id_, attribute)

    def use(self, ids: Collection[int] | Int64s) -> None:
        """Give none of these ids to a new entity; an array has them in order, each once."""
        if isinstance(ids, np.ndarray):
            self.free = self.free.without(ids)
        else:
            self.free, self.next_ident = after(self.free, self.next_ident, ids)

    def _read_schema(self, touched: Collection[int]) -> None:
        if len(touched) < _MANY_ENTITIES:
            self.schema = self.schema.updated(touched, self.values, self.codes)
        else:
            entities = sorted(touched)
            self.schema = self.schema.updated(entities, self._values_of(entities), self.codes)

    def _values_of(self, entities: list[int]) -> Reader:
        """What reads values for the schema, of many entities that are sorted and asked for in order: an attribute
        is read once for a thousand of them."""
        ids, last = np.empty(0, np.int64), -1
        found: dict[int, dict[int, list[Any]]] = {}

        def read(attribute: int, entity: int) -> list[Any]:
            nonlocal ids, last
            if entity > last:
                start = bisect_left(entities, entity)
                ids = np.array(entities[start : start + _TOGETHER], np.int64)
                last = int(ids[-1])
                found.clear()
            known = found.get(attribute)
            if known is None:
                known = found[attribute] = {}
                held = self.live(attribute).columns_of(ids, _NEWEST)
                for e, value in zip(held.e.tolist(), self.codes.decode_many(held.v), strict=True):
                    known.setdefault(e, []).append(value)
            return known.get(entity, _NO_VALUES)

        return read

    def _put(self, attribute: int, relation: Relation, delta: Delta) -> None:
        known = self.data.get(attribute)
        self._folded += relation.count - (0 if known is None else known.relation.count)
        self.data[attribute] = AttributeData(relation, delta)
        if relation is not NO_RELATION or len(delta) > MANY:
            self._mentions.leave(attribute)

    def replace(self, relations: Mapping[int, Relation]) -> None:
        """Put folded relations under what came since; snapshots made before keep the old ones."""
        self.data = dict(self.data)
        for id_, relation in relations.items():
            delta = self.live(id_).delta
            self._put(id_, relation, delta.copy(delta.length_at(relation.t), len(delta)))

    def take_over(
        self, blocks: Mapping[int, tuple[Block, ...]], folds: Mapping[int, tuple[Relation, Relation]]
    ) -> None:
        """Put what a fold made in the place of what it was made from: dictionary blocks by tag, and by attribute
        the relation that was folded, with the new one."""
        self.codes.durable.adopt(blocks)
        # A bulk load may have replaced a relation meanwhile; its own is newer.
        self.replace({id_: new for id_, (old, new) in folds.items() if self.live(id_).relation is old})

    def mark(self) -> Mark:
        """This moment, to return to; the last such one counts."""
        self._lengths = {}
        return Mark(self.counters, self.schema, self.codes.mark(), self._lengths)

    def rolled_back(self, mark: Mark) -> None:
        """Return to a moment after which no relation was replaced. Snapshots given out since must be dropped."""
        self.undo(mark)
        self.codes.rolled_back(mark.codes)

    def undo(self, mark: Mark) -> None:
        """The same, but for the values: their codes stay."""
        self.data = dict(self.data)
        for id_, length in mark.lengths.items():
            live = self.live(id_)
            if not length and live.relation is NO_RELATION:
                self.data.pop(id_, None)
            elif len(live.delta) > length:
                self._put(id_, live.relation, live.delta.copy(0, length))
        self.t, self.instant, self.free, self.next_ident, self.excised = mark.counters
        self.schema = mark.schema


def _one_for_each(columns: Sequence[BulkColumn]) -> list[BulkColumn]:
    """One column for each attribute; those of one attribute are of different entities."""
    by_attribute: dict[int, list[BulkColumn]] = {}
    for column in columns:
        by_attribute.setdefault(column.attribute, []).append(column)
    return [own[0] if len(own) == 1 else _joined(own) for own in by_attribute.values()]


def _joined(columns: Sequence[BulkColumn]) -> BulkColumn:
    own = sorted(columns, key=lambda column: int(column.e[0]) if len(column.e) else 0)
    added = [np.ones(len(each.e), np.bool_) if each.added is None else each.added for each in own]
    e, v = (np.concatenate([getattr(each, name) for each in own]) for name in ("e", "v"))
    return BulkColumn(own[0].attribute, e, v, np.concatenate(added))


@cache
def _built_in() -> Schema:
    """The schema of every empty database: it is read once, as its idents have the same codes in all of them."""
    head = Head(Codes())
    head._read_schema({effect.e for effect in head._begin()})
    return head.schema
