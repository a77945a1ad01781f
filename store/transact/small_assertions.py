"""The short way for a small transaction of plain assertions, as most are: one after the other, in one pass.

Its forms are flat maps and `[:db/add e :attribute value]`, of entities by number or tempid and of declared
attributes whose values are what is written; one of them may be an identity that a tempid is found by. Whatever is
otherwise, or would be refused, goes the long way of `store.transact.resolve`, which says what is wrong. Both come
to the same effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import EdnMap, Keyword
from adalog.store.snapshot.free_ids import Interval
from adalog.store.state.state import DatabaseState
from adalog.store.transact.column_assertions import AssertionEffects, is_free
from adalog.store.transact.declarations import unnamed
from adalog.store.transact.operations import CURRENT_TX, Tempid, Term
from adalog.store.transact.plain_values import reader_of
from adalog.store.values.attribute import SCHEMA_BASE, Attribute
from adalog.store.values.changes import Effect

_ADD: Final = Keyword("db/add")
_ID: Final = Keyword("db/id")

_Assertion = tuple[Term, Attribute, Term]


class _LongWayError(Exception):
    """Something is not as plain as this."""


def few_adds(forms: Sequence[Any], state: DatabaseState) -> AssertionEffects | None:
    """What the forms change; None where they have to go the long way. LIMIT_EXCEEDED where no ids are left."""
    try:
        assertions = _Reading(state).assertions(forms)
        ids = _found(assertions, state)
        new = _new(assertions, ids, state)
        known = _allocated(ids, new)
        effects = list(_effects(assertions, known, new, state))
    except _LongWayError:
        return None
    return AssertionEffects(effects, new, {str(name): id_ for name, id_ in known.items() if name[0] != "\0"})


class _Reading:
    """One transaction's attributes, each looked at once."""

    def __init__(self, state: DatabaseState) -> None:
        self._schema = state.schema
        self._intern = state.codes.intern
        # By the keyword object: a reader makes one for each name.
        self._known: dict[int, tuple[Attribute, Callable[[Any], Term | None]]] = {}

    def assertions(self, forms: Sequence[Any]) -> list[_Assertion]:
        """What the forms assert, in the order written."""
        found: list[_Assertion] = []
        for place, form in enumerate(forms):
            if type(form) is EdnMap:
                before = len(found)
                e: Term | None = None
                for key, value in form.items():
                    if key == _ID:
                        e = _entity(value)
                    else:
                        found.append((0, *self._entry(key, value)))
                if len(found) == before:
                    raise _LongWayError
                entity = Tempid(unnamed((place,))) if e is None else e
                found[before:] = [(entity, attribute, v) for _, attribute, v in found[before:]]
            elif type(form) is tuple and len(form) == 4 and form[0] == _ADD:
                found.append((_entity(form[1]), *self._entry(form[2], form[3])))
            else:
                raise _LongWayError
        return found

    def _entry(self, key: Any, value: Any) -> tuple[Attribute, Term]:
        known = self._known.get(id(key))
        if known is None:
            known = self._known[id(key)] = self._attribute(key)
        attribute, read = known
        term = read(value)
        if term is None:
            raise _LongWayError
        return attribute, term

    def _attribute(self, key: Any) -> tuple[Attribute, Callable[[Any], Term | None]]:
        attribute = self._schema.get(key) if type(key) is Keyword else None
        if attribute is None or not is_free(attribute, self._schema) or attribute.kind.unique == "value":
            raise _LongWayError
        if attribute.is_ref and attribute.kind.unique is None:
            return attribute, _entity
        read = reader_of(attribute, self._intern)
        if read is None:
            raise _LongWayError
        return attribute, read


def _entity(value: Any) -> Term:
    kind = type(value)
    if kind is int and value < SCHEMA_BASE:
        return int(value) if value >= 0 else Tempid(value)
    if kind is str and value and value[0] != "\0" and value != CURRENT_TX:
        return Tempid(value)
    raise _LongWayError


def _found(assertions: Sequence[_Assertion], state: DatabaseState) -> dict[Tempid, int | None]:
    """The tempids that something is said about, in order, with the entity that has the identity of one."""
    ids: dict[Tempid, int | None] = {e: None for e, _, _ in assertions if type(e) is Tempid}
    identities = 0
    for e, attribute, v in assertions:
        if type(v) is Tempid and v not in ids:
            raise _LongWayError
        if attribute.kind.unique is not None:
            identities += 1
            if identities > 1 or type(e) is not Tempid or isinstance(v, Tempid):
                raise _LongWayError
            ids[e] = state.holder(attribute.id, v)
    return ids


def _new(assertions: Sequence[_Assertion], ids: dict[Tempid, int | None], state: DatabaseState) -> Interval:
    """The ids that are left for new entities."""
    named = {e for e, _, _ in assertions if type(e) is int}
    named |= {v for _, attribute, v in assertions if attribute.is_ref and type(v) is int}
    chosen = state.free.among(named) if named else []
    if chosen:
        try:
            state.free.check_chosen(chosen)
        except AdalogError:
            raise _LongWayError from None
    return state.free.without(chosen).next(list(ids.values()).count(None))


def _allocated(ids: dict[Tempid, int | None], new: Interval) -> dict[Tempid, int]:
    known, next_id = {}, new.start
    for tempid, id_ in ids.items():
        if id_ is None:
            id_ = next_id
            next_id += 1
        known[tempid] = id_
    return known


def _effects(
    assertions: Sequence[_Assertion], ids: dict[Tempid, int], new: Interval, state: DatabaseState
) -> Iterator[Effect]:
    """What is not so already, each replaced value before its successor."""
    asserted: set[tuple[int, int, int]] = set()
    single: dict[tuple[int, int], int] = {}
    for entity, attribute, value in assertions:
        a = attribute.id
        e = ids[entity] if type(entity) is Tempid else int(entity)
        v = ids[value] if type(value) is Tempid else int(value)
        if (a, e, v) in asserted:
            continue
        asserted.add((a, e, v))
        if not attribute.is_many and single.setdefault((a, e), v) != v:
            raise _LongWayError
        if not new.has(e):
            live = state.live(a)
            if attribute.is_many:
                if live.holds(e, v):
                    continue
            else:
                held = live.values(e)
                for old in held:
                    if old != v:
                        yield Effect(e, a, old, False)
                if v in held:
                    continue
        yield Effect(e, a, v, True)
