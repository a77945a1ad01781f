"""Policies as a snapshot has them: entities with `:policy/…` attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.policy_rules import PolicyRules, read_policy_rules
from adalog.datalog.values import Keyword
from adalog.executor.bounds.lru_cache import LruCache, weight_of_text
from adalog.executor.permissions.evaluation import PolicyQuestion
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import Attribute
from adalog.store.values.codes import Codes
from adalog.store.values.layout import FALSE

READ: Final = Keyword("read")
REQUIRE: Final = Keyword("require")
EVERYBODY: Final = Keyword("*")
EVERYTHING: Final = Keyword("*")

_NAME: Final = Keyword("policy/name")
_ENFORCED: Final = Keyword("policy/enforced")
_READ_BYTES: Final = 16 << 20
_PARTS: Final = tuple(Keyword(f"policy/{name}") for name in ("roles", "ops", "on", "rules", "effect"))


@dataclass(frozen=True)
class Policy:
    """`roles`, `ops`, `on`: as they are asserted. `rules`: None where it is for all entities. `required`: it grants
    nothing, and must hold as well. `broken`: its rules cannot be run, so that it never holds. `key`: equal for
    policies that say the same."""

    entity: int
    name: str
    roles: frozenset[Keyword]
    ops: frozenset[Keyword]
    on: frozenset[Keyword]
    rules: PolicyRules | None
    text: str | None
    required: bool
    broken: bool
    key: str

    def is_for(self, roles: frozenset[str]) -> bool:
        return EVERYBODY in self.roles or any(each.name in roles for each in self.roles)

    def names(self, attribute: Attribute) -> bool:
        """Whether the attribute is among what it is on."""
        ident = attribute.ident
        if ident in self.on:
            return True
        namespace = ident.namespace
        if namespace is not None and Keyword(namespace) in self.on:
            return True
        return EVERYTHING in self.on and namespace not in ("policy", "db")

    @property
    def is_conditional(self) -> bool:
        return self.broken or self.rules is not None


@dataclass(frozen=True)
class Policies:
    """All policies of a moment. `enforced`: only what they grant is visible. `were_there`: there was one, at that
    moment or before."""

    enforced: bool
    all: tuple[Policy, ...]
    were_there: bool = True

    def of(self, roles: frozenset[str], op: Keyword = READ) -> tuple[Policy, ...]:
        return tuple(each for each in self.all if op in each.ops and each.is_for(roles))


# By the last transaction that touched them; by snapshot where that is not durable.
_DURABLE: Final[WeakKeyDictionary[Codes, tuple[int, Policies]]] = WeakKeyDictionary()
_TRIED: Final[WeakKeyDictionary[Snapshot, Policies]] = WeakKeyDictionary()
# By their text: one policy of many changes at a time.
_READ: Final[LruCache[str, tuple[PolicyRules | None]]] = LruCache(_READ_BYTES)
_NONE: Final = Policies(enforced=False, all=(), were_there=False)


def policies_of(snapshot: Snapshot) -> Policies:
    """The policies of a raw snapshot, which is plain."""
    name = snapshot.attribute(_NAME)
    if name is None or not _ever_asserted(snapshot, name):
        return _NONE
    last = snapshot.policies_touched
    if last > durable(snapshot):
        tried = _TRIED.get(snapshot)
        if tried is None:
            tried = _TRIED[snapshot] = _read(snapshot, name)
        return tried
    known = _DURABLE.get(snapshot.codes.durable)
    if known is None or known[0] != last:
        known = _DURABLE[snapshot.codes.durable] = last, _read(snapshot, name)
    return known[1]


def durable(snapshot: Snapshot) -> int:
    """The last transaction up to which what a snapshot has is known to be that of the database."""
    origin = snapshot.origin
    return origin.durable if origin.applied else snapshot.t


def _ever_asserted(snapshot: Snapshot, name: Attribute) -> bool:
    return snapshot.data_of(name.id).last_touched(snapshot.t) > 0


def _read(snapshot: Snapshot, name: Attribute) -> Policies:
    entities, names = snapshot.pairs_of(name, snapshot.ev(name).keys, inverse=False)
    parts = [dict(_values(snapshot, entities, each)) for each in _PARTS]
    enforced = snapshot.attribute(_ENFORCED)
    off = enforced is not None and snapshot.ve(enforced).count(FALSE) > 0
    made = (
        _policy(e, text, *(each.get(e, ()) for each in parts))
        for e, text in zip(entities.tolist(), snapshot.codes.decode_many(names), strict=True)
    )
    return Policies(not off, tuple(sorted(made, key=lambda each: each.name)))


def _values(snapshot: Snapshot, entities: Any, ident: Keyword) -> Iterator[tuple[int, list[Any]]]:
    attribute = snapshot.attribute(ident)
    if attribute is None:
        return
    found, codes = snapshot.pairs_of(attribute, entities, inverse=False)
    for e in np.unique(found).tolist():
        yield e, snapshot.codes.decode_many(codes[found == e])


def _rules(text: str) -> PolicyRules | None:
    """The rules in a text; None where they cannot be run."""
    known = _READ.get(text)
    if known is None:
        read = None
        with suppress(AdalogError):
            rules = read_policy_rules(text)
            # Rules that were written past the checks, by a database without an engine, may not run either.
            PolicyQuestion.of(rules, _NAME, subjects=True)
            read = rules
        known = (read,)
        _READ.put(text, known, weight_of_text(text))
    return known[0]


def _policy(
    entity: int,
    name: str,
    roles: Iterable[Keyword],
    ops: Iterable[Keyword],
    on: Iterable[Keyword],
    rules: Iterable[str],
    effect: Iterable[Keyword],
) -> Policy:
    text = next(iter(rules), None)
    required = REQUIRE in effect
    read = None if text is None else _rules(text)
    broken = text is not None and read is None
    named = frozenset(on)
    said = (sorted(each.name for each in named), text, required)
    key = hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()
    return Policy(entity, name, frozenset(roles), frozenset(ops), named, read, text, required, broken, key)
