"""What a guard shows of one snapshot: the schema, and which datoms of each attribute.

A datom is visible if it is granted now and, where something past is read, on the state at its upper bound. What is
built in follows rules of its own: the description of an attribute, idents, and the entities of transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from adalog.datalog.values import Keyword
from adalog.executor.cache.reads import Reads, Token, token_of
from adalog.executor.join.batch import Column, Mask
from adalog.executor.permissions.grants import Grants
from adalog.executor.permissions.policies import READ, Policy
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import Trie, among, distinct
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.schema import Schema

# About what is kept of an attribute of one schema.
_ATTRIBUTE_BYTES: Final = 300
_NOWHERE: Final = np.empty(0, np.int64)


@dataclass(frozen=True)
class Access:
    """Which policies decide on an attribute: one of `grants` and all of `requires`. `all`: nothing depends on
    entities; `by_entity`: nothing depends on values."""

    grants: tuple[Policy, ...]
    requires: tuple[Policy, ...]

    @staticmethod
    def of(policies: tuple[Policy, ...], attribute: Attribute) -> Access:
        named = [each for each in policies if each.names(attribute)]
        grants = tuple(each for each in named if not each.required)
        requires = tuple(each for each in named if each.required and each.is_conditional)
        return Access(grants, requires)

    @property
    def shows_all(self) -> bool:
        return not self.requires and any(not each.is_conditional for each in self.grants)

    @property
    def is_by_entity(self) -> bool:
        return all(each.rules is None or each.rules.places == 1 for each in (*self.grants, *self.requires))


_NO_ACCESS: Final = Access((), ())


@dataclass(eq=False)
class VisibleDatoms:
    """`store.snapshot.guarded.Visibility` of a guard."""

    guard: Grants
    snapshot: Snapshot
    _access: dict[int, Access] = field(default_factory=dict)
    _trie_keys: dict[int, tuple[Hashable, ...] | None] = field(default_factory=dict)
    # By decision, sorted: entities that need no evaluation.
    _known: dict[Hashable, Column] = field(default_factory=dict)

    @cached_property
    def _tokens(self) -> tuple[Token, ...]:
        return tuple(token_of(each, self.guard.reads) for each in self.states)

    @property
    def key(self) -> str:
        return f"{self.guard.key} {[each.text for each in self._tokens]}"

    @property
    def newest(self) -> int:
        return max(self.guard.touched, *(each.newest for each in self._tokens))

    @property
    def is_certain(self) -> bool:
        return not self.guard.ran_out

    def of(self, snapshot: Snapshot) -> VisibleDatoms:
        return self if snapshot is self.snapshot else VisibleDatoms(self.guard, snapshot)

    @cached_property
    def states(self) -> tuple[Snapshot, ...]:
        """The raw states at which something must be granted: the upper bound of what is read, and now if that is
        another one."""
        at, now = self.snapshot.plain, self.guard.now
        if at.key == now.key and at.origin.t == now.origin.t:
            # One object, of which what was touched is remembered.
            return (now,)
        # The outcome of a transaction that is tried on the present is the present of what follows.
        if at is now or at.t > now.t or (at.t == now.t and not at.origin.applied):
            return (at,)
        return (at, now)

    # Schema

    @cached_property
    def schema(self) -> Schema:
        known = self.guard.memory.schemas
        policies = tuple(each.key for each in self.guard.reading)
        key = (self.snapshot.schema.key, self.states[-1].schema.key, policies)
        found = known.get(key)
        if found is None:
            found = self._read_schema()
            known.put(key, found, _ATTRIBUTE_BYTES * len(found.all()))
        return found

    def _read_schema(self) -> Schema:
        schema = self.snapshot.schema
        shown = {each.id: each for each in schema.all() if self._is_named(each)}
        for each in schema.composites:
            parts = each.kind.tuple_attrs or ()
            if all((part := schema.get(name)) is not None and part.id in shown for name in parts):
                shown[each.id] = each
        return Schema(shown.values())

    def _is_named(self, attribute: Attribute) -> bool:
        if attribute.kind.tuple_attrs:
            return False
        if bootstrap.is_built_in(attribute.id) and attribute.ident.namespace != "policy":
            return True
        return bool(self.access_of(attribute).grants)

    def _attribute(self, attribute: int) -> Attribute | None:
        return self.schema.get(attribute)

    def access_of(self, attribute: Attribute) -> Access:
        found = self._access.get(attribute.id)
        if found is None:
            # Policies mean what they name by what it is called now, whatever it was called when it was written.
            known = self.states[-1].attribute(attribute.id)
            found = _NO_ACCESS if known is None else Access.of(self.guard.reading, known)
            self._access[attribute.id] = found
        return found

    # Datoms

    def shows_all(self, attribute: int) -> bool:
        found = self._attribute(attribute)
        if found is None or _is_special(found) or found.kind.tuple_attrs:
            return False
        return self.access_of(found).shows_all

    def is_by_entity(self, attribute: int) -> bool:
        found = self._attribute(attribute)
        if found is None:
            return True
        if found.kind.tuple_attrs:
            return all(self.is_by_entity(each.id) for each in self._parts(found))
        return self.access_of(found).is_by_entity

    def access_by_entity(self, attribute: Attribute) -> Access | None:
        """Which policies decide on an attribute's datoms by themselves; None where something else does, too:
        values, and what describes an attribute."""
        found = self._attribute(attribute.id)
        if found is None:
            return _NO_ACCESS
        if _is_special(found) or found.kind.tuple_attrs:
            return None
        access = self.access_of(found)
        return access if access.is_by_entity else None

    def decision(self, attribute: int) -> Hashable:
        found = self._attribute(attribute)
        if found is None or _is_special(found) or found.kind.tuple_attrs:
            return attribute
        access = self.access_of(found)
        return tuple(each.key for each in access.grants), tuple(each.key for each in access.requires)

    def entities(self, attribute: int, e: Column) -> Mask:
        return self.datoms(attribute, e, np.zeros(len(e), np.int64))

    def datoms(self, attribute: int, e: Column, v: Column) -> Mask:
        found = self._attribute(attribute)
        if found is None or not len(e):
            return np.zeros(len(e), np.bool_)
        shown = self._own(found, e, v)
        of_transactions = e >= TX_BASE
        if of_transactions.any():
            shown[of_transactions] |= self._transactions(e[of_transactions])
        return shown

    def by_themselves(self, attribute: int, e: Column, v: Column) -> Mask:
        """Which datoms are visible without regard to the others of a transaction of which they say something."""
        found = self._attribute(attribute)
        return np.zeros(len(e), np.bool_) if found is None else self._own(found, e, v)

    def learn(self, attribute: int, entities: Column) -> None:
        """Takes it from an answer at this very state, for this viewer, that an attribute of entities is visible: a
        row of the answer has each of them in the place of the entity in a pattern of the attribute."""
        found = self._attribute(attribute)
        if found is None or _is_special(found) or found.kind.tuple_attrs or not self.access_of(found).is_by_entity:
            return
        if self.states == (self.snapshot,):
            decision = self.decision(attribute)
            # Those of transactions may be visible for another reason.
            known = (self._known.get(decision, _NOWHERE), entities[entities < TX_BASE])
            self._known[decision] = distinct(np.concatenate(known))

    def _own(self, attribute: Attribute, e: Column, v: Column) -> Mask:
        """What is visible by itself, and not as a part of what a transaction says of itself."""
        if attribute.kind.tuple_attrs:
            return self._composite(attribute, e, v)
        shown = self._granted(attribute, e, v)
        return shown | self._built_in(attribute, e) if _is_special(attribute) else shown

    def _granted(self, attribute: Attribute, e: Column, v: Column) -> Mask:
        access = self.access_of(attribute)
        if access.shows_all:
            return np.ones(len(e), np.bool_)
        named = self.states[-1].attribute(attribute.id)
        if not access.grants or named is None:
            return np.zeros(len(e), np.bool_)
        known = self._known.get(self.decision(attribute.id)) if self._known and access.is_by_entity else None
        if known is None:
            return self._evaluated(named, e, v)
        shown = among(e, known)
        rows = np.flatnonzero(~shown)
        if len(rows):
            shown[rows] = self._evaluated(named, e[rows], v[rows])
        return shown

    def _evaluated(self, named: Attribute, e: Column, v: Column) -> Mask:
        first, *others = self.states
        shown = self.guard.allows(READ, named, e, v, first)
        for state in others:
            # What is hidden already is not asked about again; what was made to try something is nowhere else.
            rows = np.flatnonzero(shown & ~_are_made(first, e))
            shown[rows] = self.guard.allows(READ, named, e[rows], v[rows], state)
        return shown

    def _parts(self, composite: Attribute) -> list[Attribute]:
        found = (self.snapshot.schema.get(name) for name in composite.kind.tuple_attrs or ())
        return [each for each in found if each is not None]

    def _composite(self, composite: Attribute, e: Column, v: Column) -> Mask:
        """A tuple is visible if its parts are."""
        shown = np.ones(len(e), np.bool_)
        values: list[tuple[Any, ...]] | None = None
        for place, part in enumerate(self._parts(composite)):
            if self.is_by_entity(part.id):
                shown &= self.entities(part.id, e)
                continue
            if values is None:
                values = self.snapshot.codes.decode_many(v)
            codes = [self.snapshot.value_code(part, each[place]) for each in values]
            # That a part is nil would tell that there is no hidden value.
            there = np.array([code is not None for code in codes], np.bool_)
            held = np.array([code or 0 for code in codes], np.int64)
            shown &= there | self.shows_all(part.id)
            shown[there] &= self.datoms(part.id, e[there], held[there])
        return shown

    # Tries

    def kept_trie(self, attribute: int, *, inverse: bool) -> Trie | None:
        key = self._trie_key(attribute)
        return None if key is None else self.guard.memory.tries.get((*key, inverse))

    def keep_trie(self, attribute: int, trie: Trie, *, inverse: bool) -> None:
        key = self._trie_key(attribute)
        # What was denied for want of time or memory may be visible the next time.
        if key is not None and self.is_certain:
            self.guard.memory.keep_trie((*key, inverse), trie, self.guard.touched)

    def _trie_key(self, attribute: int) -> tuple[Hashable, ...] | None:
        """Equal for filters that show the same of an attribute of equal snapshots; None where that is not known: of
        what is tried, of what other attributes decide, and of parts of composites."""
        if attribute not in self._trie_keys:
            found = self._attribute(attribute)
            states = (self.snapshot, *self.states)
            special = found is None or _is_special(found) or found.kind.tuple_attrs
            unknown = special or any(each.origin.applied for each in states)
            self._trie_keys[attribute] = None if found is None or unknown else self._read_trie_key(found)
        return self._trie_keys[attribute]

    def _read_trie_key(self, attribute: Attribute) -> tuple[Hashable, ...]:
        access, guard = self.access_of(attribute), self.guard
        reads = guard.memory.reads_of((*access.grants, *access.requires))
        said = guard.said_by(access.grants), guard.said_by(access.requires)
        own = token_of(self.snapshot, Reads(named={attribute.id})).text
        return attribute.id, said, own, *(token_of(each, reads).text for each in self.states)

    # What is built in

    def _built_in(self, attribute: Attribute, e: Column) -> Mask:
        """What describes visible attributes, and idents."""
        if attribute.id in bootstrap.OF_TRANSACTIONS or attribute.ident.namespace == "policy":
            return np.zeros(len(e), np.bool_)
        is_attribute = np.isin(e, self._all_attributes)
        if attribute.id == bootstrap.IDENT:
            return ~np.isin(e, self.hidden_idents)
        return np.where(is_attribute, np.isin(e, self._shown_attributes), _built_in_entities(e))

    @cached_property
    def _all_attributes(self) -> Column:
        return _ids(self.snapshot.schema)

    @cached_property
    def _shown_attributes(self) -> Column:
        return _ids(self.schema)

    @cached_property
    def hidden_idents(self) -> Column:
        """The entities whose idents are hidden."""
        attributes = np.setdiff1d(self._all_attributes, self._shown_attributes)
        return np.union1d(attributes, self._hidden_members)

    @cached_property
    def _hidden_members(self) -> Column:
        """The entities of idents that are members of enums, none of whose attributes is visible."""
        raw = self.snapshot.plain
        enum = raw.attribute(bootstrap.GRAPHQL_ENUM)
        if enum is None or not raw.ev(enum).rows:
            return _NOWHERE
        attributes, codes = raw.pairs_of(enum, raw.ev(enum).keys, inverse=False)
        spaces: dict[str, bool] = {}
        shown = np.isin(attributes, self._shown_attributes)
        for name, is_shown in zip(raw.codes.decode_many(codes), shown.tolist(), strict=True):
            spaces[name.name] = spaces.get(name.name, False) or is_shown
        hidden = {name for name, is_shown in spaces.items() if not is_shown}
        if not hidden:
            return _NOWHERE
        ident = raw.attribute(bootstrap.IDENT)
        assert ident is not None
        entities, idents = raw.pairs_of(ident, raw.ev(ident).keys, inverse=False)
        names = raw.codes.decode_many(idents)
        members = [e for e, name in zip(entities.tolist(), names, strict=True) if _namespace(name) in hidden]
        return distinct(np.array(members, np.int64))

    # Transactions

    def _transactions(self, e: Column) -> Mask:
        """Which transactions have another visible datom."""
        return np.isin(e - TX_BASE, self._shown_transactions)

    @cached_property
    def _shown_transactions(self) -> Column:
        past = self.snapshot.plain.history()
        found = []
        for attribute in self.schema.all():
            if attribute.id not in bootstrap.OF_TRANSACTIONS:
                rows = past.columns_of(attribute.id)
                if attribute.kind.tuple_attrs:
                    # Of a transaction's own entity its parts say as much.
                    rows = rows.take(rows.e < TX_BASE)
                shown = rows.t if self.shows_all(attribute.id) else rows.t[self._own(attribute, rows.e, rows.v)]
                found.append(distinct(shown))
        return distinct(np.concatenate(found)) if found else _NOWHERE


def _are_made(state: Snapshot, e: Column) -> Mask:
    """Which entities were made by what was tried to get a state."""
    start = state.origin.start
    if start is None:
        return np.zeros(len(e), np.bool_)
    return (e >= start.next_entity) & (e <= start.last_entity)


def _is_special(attribute: Attribute) -> bool:
    return bootstrap.is_built_in(attribute.id)


_is_built_in: Final[Callable[[int], bool]] = bootstrap.is_built_in


def _built_in_entities(e: Column) -> Mask:
    return np.array([_is_built_in(each) for each in e.tolist()], np.bool_)


def _ids(schema: Schema) -> Column:
    return np.array(sorted(each.id for each in schema.all()), np.int64)


def _namespace(name: object) -> str | None:
    return name.namespace if isinstance(name, Keyword) else None
