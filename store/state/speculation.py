"""`with`: a snapshot that has transaction data applied, which is never committed and stays private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adalog.datalog.values import Keyword
from adalog.store.files.packing import instant as instant_of
from adalog.store.snapshot.attribute_index import ExtendedAttributeIndex
from adalog.store.snapshot.free_ids import FreeIds, Interval, after, ids_in
from adalog.store.snapshot.overlay import Overlay
from adalog.store.snapshot.snapshot import Snapshot, SnapshotOrigin, SpeculationStart
from adalog.store.state.state import AttributeRows, DatabaseState
from adalog.store.tries.trie import Trie
from adalog.store.values import bootstrap, layout
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.changes import Effect, Resolved
from adalog.store.values.datom import Datom, TxReport


@dataclass(frozen=True, slots=True)
class _TrieRows:
    forward: Trie
    backward: Trie

    def holds(self, e: int, v: int) -> bool:
        return self.forward.holds(e, v)

    def values(self, e: int) -> list[int]:
        row: list[int] = self.forward.row(e).tolist()
        return row

    def entities(self, v: int) -> list[int]:
        row: list[int] = self.backward.row(v).tolist()
        return row


class SpeculativeState(DatabaseState):
    """A snapshot as a state; what it interns is its own."""

    def __init__(self, basis: Snapshot, start: SpeculationStart | None = None) -> None:
        self._basis = basis.plain
        origin = basis.origin
        free, next_ident = origin.free, origin.next_ident
        if start is not None:
            free, next_ident = FreeIds(Interval(start.next_entity, start.last_entity + 1)), start.next_ident
        super().__init__(basis.codes.fork(), basis.t, instant_at(basis, basis.t) or 0, free, next_ident)
        self.schema = self._basis.schema
        self._rows: dict[int, AttributeRows] = {}

    def live(self, attribute: int) -> AttributeRows:
        rows = self._rows.get(attribute)
        if rows is None:
            tries = (self._basis.trie(attribute, inverse=inverse) for inverse in (False, True))
            rows = self._rows[attribute] = _TrieRows(*tries)
        return rows

    def snapshot(self) -> Snapshot:
        return self._basis


def instant_at(basis: Snapshot, t: int) -> int | None:
    """When a transaction up to the basis was made, in milliseconds since 1970; None where there is none."""
    row = basis.trie(bootstrap.TX_INSTANT, inverse=False).row(TX_BASE + t)
    return (int(row[0]) & layout.PAYLOAD_MASK) - layout.INSTANT_BIAS if len(row) else None


def applied(
    state: DatabaseState, effects: Sequence[Effect], name: str = "", start: SpeculationStart | None = None
) -> Snapshot:
    """The state's snapshot after the effects of its next transaction. name: tells it from others like it."""
    basis = state.snapshot()
    data = Overlay(basis, effects)
    schema, t = state.schema, state.t + 1
    touched = {effect.e for effect in effects if effect.a in bootstrap.SCHEMA_ATTRIBUTES}
    if touched:
        schema = schema.updated(touched, ChangedValues(effects, state), state.codes)
    free, next_ident = after(state.free, state.next_ident, ids_in(effects, schema, state.codes))
    origin = SnapshotOrigin(
        *(t, schema.forgetful, free, next_ident, basis.origin.applied + name, start),
        folded=basis.origin.folded,
        durable=min(basis.origin.durable, basis.t),
        excised=basis.origin.excised,
    )
    mentions = (
        None if basis.mentions is None else ExtendedAttributeIndex(basis.mentions, {effect.a for effect in effects})
    )
    return Snapshot(data, state.codes, schema, t, origin=origin, mentions=mentions)


class ChangedValues:
    """An entity's values after the effects; called as `Schema` wants to read."""

    def __init__(self, effects: Sequence[Effect], state: DatabaseState) -> None:
        self._state = state
        self._changes: dict[tuple[int, int], list[Effect]] = {}
        for effect in effects:
            if effect.a in bootstrap.DECLARING:
                self._changes.setdefault((effect.a, effect.e), []).append(effect)

    def __call__(self, attribute: int, entity: int) -> list[Any]:
        changes = self._changes.get((attribute, entity), ())
        if self._state.next_ident <= entity < TX_BASE:
            # A new entity with an ident has no other values.
            return [self._state.codes.decode(change.v) for change in changes if change.added]
        codes = set(self._state.live(attribute).values(entity))
        codes -= {change.v for change in changes if not change.added}
        codes |= {change.v for change in changes if change.added}
        return [self._state.codes.decode(code) for code in codes]


def outcome(basis: Snapshot, fork: SpeculativeState, resolved: Resolved, name: str) -> tuple[Snapshot, TxReport]:
    """The view of the basis with the transaction, and its report. name: tells it from others on the basis."""
    first, end = resolved.new
    start = SpeculationStart(resolved.instant, first, fork.next_ident, end - 1)
    after = applied(fork, resolved.effects, name, start)
    effects, decode = resolved.effects, after.codes.decode
    names: dict[int, Keyword] = {effect.a: after.name_of(effect.a) for effect in effects}
    report = TxReport(
        t=after.t,
        basis_before=after.t - 1,
        tx_instant=instant_of(resolved.instant),
        tempids=resolved.tempids,
        datoms=[Datom(e, names[a], decode(v), after.t, added) for e, a, v, added in effects],
        diagnostics=resolved.diagnostics,
    )
    if resolved.shown is not None:
        report = report.of_parts(resolved.shown)
    after = after.since(basis.since_t) if basis.since_t else after
    return after.history() if basis.is_history else after, report
