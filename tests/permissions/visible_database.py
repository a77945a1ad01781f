"""The database that an identity may see, made of the datoms that policies show it: what answers are compared with.

Nothing here goes through the engine's guards. Conditions are evaluated in Python, datom by datom, and an ordinary
snapshot is made of what they leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from adalog.datalog.values import Keyword
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import NO_RELATION
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.datom import Datom
from adalog.store.values.schema import Schema
from tests.permissions.conditions import RandomPolicy, State, ValueRule

_OF_TRANSACTIONS = (bootstrap.TX_INSTANT, bootstrap.PRINCIPAL)


@dataclass
class VisibleDatabase:
    """What one identity sees of a database, by the policies and facts of `now`."""

    now: Snapshot
    policies: Sequence[RandomPolicy]
    roles: Sequence[str]
    claims: Mapping[str, Any]
    _states: dict[int, State] = field(default_factory=dict)

    def at(self, view: Snapshot) -> Snapshot:
        """The visible datoms of any view of the database, as a database."""
        made = _VisibleDatoms(self, view.plain).snapshot()
        made = made.since(view.since_t) if view.since_t else made
        return made.history() if view.is_history else made

    def state(self, snapshot: Snapshot) -> State:
        if id(snapshot) not in self._states:
            self._states[id(snapshot)] = State.made(snapshot.datoms("EAVT"), self.claims)
        return self._states[id(snapshot)]

    def is_forgotten(self, name: Keyword) -> bool:
        """Whether the log alone has the past of an attribute."""
        attribute = self.now.attribute(name)
        return attribute is not None and attribute.kind.no_history

    def is_granted_now(self, datom: Datom) -> bool:
        """Whether a datom of the log is visible by policies."""
        attribute, datoms = self.now.attribute(datom.a), _VisibleDatoms(self, self.now)
        if attribute is None or not datoms.is_there(attribute):
            return False
        return datoms.is_granted(attribute, datom.e, self.now.value_code(attribute, datom.v))

    def deciding(self, attribute: Attribute) -> list[RandomPolicy]:
        name = self.now.schema.get(attribute.id)
        return [each for each in self.policies if each.is_for(self.roles) and name and each.names(str(name.ident))]


@dataclass
class _VisibleDatoms:
    whole: VisibleDatabase
    plain: Snapshot

    def __post_init__(self) -> None:
        self.states = {id(each): each for each in (self.whole.now, self.plain)}.values()
        if self.plain.t >= self.whole.now.t:
            self.states = [self.plain]
        self.events = {
            each.id: self.plain.data_of(each.id).events(-1, self.plain.origin.t) for each in self.plain.schema.all()
        }

    def snapshot(self) -> Snapshot:
        own = self.granted()
        shown: dict[int, set[tuple[int, int, int]]] = {a: set() for a in self.events}
        past = self.plain.history()
        transactions = {
            t
            for a, rows in own.items()
            if a not in _OF_TRANSACTIONS
            for e, v, t in rows & rows_of(past.columns_of(a))
        }
        for each in self.plain.schema.all():
            if not self.is_there(each):
                continue
            for e, v, t in self.rows(each.id):
                if (e, v, t) in own[each.id] or (e >= TX_BASE and e - TX_BASE in transactions):
                    shown[each.id].add((e, v, t))
        data = {}
        for a, events in self.events.items():
            every = zip(events.e.tolist(), events.v.tolist(), events.t.tolist(), strict=True)
            kept = [row in shown[a] for row in every]
            rows = events.take(np.array(kept, np.bool_))
            order = np.lexsort((rows.added, rows.t))
            rows = rows.take(order)
            if len(rows):
                data[a] = AttributeData(NO_RELATION, Delta.of(rows.e, rows.v, rows.t, rows.added))
        raw = self.plain
        schema = Schema(each for each in raw.schema.all() if self.is_there(each))
        return Snapshot(data, raw.codes, schema, raw.t, 0, False, raw.origin)

    def rows(self, a: int) -> set[tuple[int, int, int]]:
        return rows_of(self.events[a])

    def granted(self) -> dict[int, set[tuple[int, int, int]]]:
        """The datoms that are visible by a policy, or by their parts, or by what they describe."""
        found = {}
        for each in self.plain.schema.all():
            found[each.id] = {
                (e, v, t) for e, v, t in self.rows(each.id) if self.is_there(each) and self.is_granted(each, e, v)
            }
        # The description of what is visible belongs to the transaction that declared it.
        for each in self.plain.schema.all():
            if each.id not in _OF_TRANSACTIONS and self.is_there(each):
                found[each.id] |= {row for row in self.rows(each.id) if self.is_described(each, row[0])}
        return found

    def is_there(self, attribute: Attribute) -> bool:
        """Whether the attribute is there for the identity at all."""
        if attribute.kind.tuple_attrs:
            parts = [self.plain.attribute(each) for each in attribute.kind.tuple_attrs]
            return all(each is not None and self.is_there(each) for each in parts)
        if bootstrap.is_built_in(attribute.id) and attribute.ident.namespace != "policy":
            return True
        return any(not each.required for each in self.whole.deciding(attribute))

    def is_granted(self, attribute: Attribute, e: int, v: int) -> bool:
        if attribute.kind.tuple_attrs:
            parts = zip(attribute.kind.tuple_attrs, self.plain.codes.decode(v), strict=True)
            known = [(self.plain.attribute(name), value) for name, value in parts]
            return all(part is not None and self.is_part_granted(part, e, value) for part, value in known)
        named = self.whole.deciding(attribute)
        value = self.plain.codes.decode(v)
        for state in self.states:
            known = self.whole.state(state)
            ident = state.schema.get(attribute.id)
            if ident is None:
                return False
            a = str(ident.ident)
            if not any(not each.required and each.holds(known, e, a, value) for each in named):
                return False
            if not all(each.holds(known, e, a, value) for each in named if each.required):
                return False
        return True

    def is_part_granted(self, attribute: Attribute, e: int, value: Any) -> bool:
        if value is not None:
            return self.is_granted(attribute, e, self.plain.value_code(attribute, value))
        named = self.whole.deciding(attribute)
        if any(isinstance(body, ValueRule) for each in named for body in each.bodies or ()):
            # That there is no value would say that none is hidden.
            open_ = any(each.bodies is None for each in named if not each.required)
            return open_ and all(each.bodies is None for each in named if each.required)
        return self.is_granted(attribute, e, 0)

    def is_described(self, attribute: Attribute, e: int) -> bool:
        """Whether a datom of something built in is visible by what its entity is."""
        if not bootstrap.is_built_in(attribute.id) or attribute.id in _OF_TRANSACTIONS:
            return False
        if attribute.ident.namespace == "policy":
            return False
        described = self.plain.schema.get(e)
        if described is not None:
            return self.is_there(described)
        if bootstrap.is_built_in(e):
            return True
        return attribute.id == bootstrap.IDENT and e not in self.hidden_members

    @cached_property
    def hidden_members(self) -> frozenset[int]:
        spaces: dict[str, bool] = {}
        enum = self.plain.attribute(bootstrap.GRAPHQL_ENUM)
        if enum is None:
            return frozenset()
        for each in self.plain.datoms("AEVT", [enum.ident]):
            owner = self.plain.schema.get(each.e)
            spaces[each.v.name] = spaces.get(each.v.name, False) or (owner is not None and self.is_there(owner))
        return frozenset(
            each.e
            for each in self.plain.datoms("AEVT", [Keyword("db/ident")])
            if spaces.get(each.v.namespace or "", True) is False
        )


def rows_of(columns: Columns) -> set[tuple[int, int, int]]:
    return set(zip(columns.e.tolist(), columns.v.tolist(), columns.t.tolist(), strict=True))
