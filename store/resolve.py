"""From transaction data to its effects on the newest state: the steps, in order. Changes nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datalog import edn
from datalog.errors import AdalogError, Code, Position
from datalog.values import EdnMap, EdnSet, type_name
from store import bootstrap, layout, schema_changes
from store.attribute import TX_BASE
from store.changes import Effect
from store.declarations import Declarations, SchemaMode
from store.effects import Effects
from store.expand import Expansion
from store.head import Head
from store.operations import Path, Refused
from store.tempids import resolved
from store.wire import instant as instant_of


@dataclass(frozen=True, slots=True)
class Transaction:
    """Transaction data as given: its forms, and the text they were read from where there was one."""

    forms: Sequence[Any]
    text: str | None = None

    @staticmethod
    def of(data: str | Sequence[Any], limits: edn.Limits = edn.DEFAULT) -> Transaction:
        """From EDN text or a list of forms. EDN_SYNTAX for text that is none, TX_INVALID for what is no list."""
        text = data if isinstance(data, str) else None
        forms = _as_edn(data) if text is None else edn.read(text, limits)
        if not isinstance(forms, tuple):
            raise AdalogError(
                Code.TX_INVALID,
                f"a transaction is a vector of forms, not a {type_name(forms)}; put it in [ ]",
                Position(1, 1) if text is not None else None,
            )
        return Transaction(forms, text)

    def position(self, path: Path) -> Position | None:
        """Where in the text a part stands."""
        return None if self.text is None else edn.locate(self.text, path)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A transaction's effects, its instant in milliseconds, and the ids of the tempids that the user named."""

    effects: list[Effect]
    instant: int
    tempids: dict[str, int]


def _as_edn(data: Any) -> Any:
    """Python's own lists, dicts and sets as vectors, maps and sets."""
    if isinstance(data, list) or type(data) is tuple:
        return tuple(map(_as_edn, data))
    if isinstance(data, dict):
        return EdnMap((key, _as_edn(value)) for key, value in data.items())
    return EdnSet(map(_as_edn, data)) if isinstance(data, set | frozenset) else data


def resolve(transaction: Transaction, head: Head, mode: SchemaMode) -> Resolved:
    """What the transaction does as the head's next one. Raises AdalogError with the place of the offending form."""
    try:
        return _resolve(transaction, head, mode)
    except Refused as refusal:
        raise AdalogError(refusal.code, refusal.message, transaction.position(refusal.path)) from None


def _resolve(transaction: Transaction, head: Head, mode: SchemaMode) -> Resolved:
    t = head.t + 1
    forms: list[tuple[Any, Path]] = [(form, (place,)) for place, form in enumerate(transaction.forms)]
    declarations = Declarations(head, mode)
    declarations.scan(forms)
    operations = list(Expansion(head, declarations, t).operations(forms))
    ids = {**declarations.ids, **resolved(operations, head)}
    collected = Effects(head, ids)
    effects = collected.of(operations)
    paths = collected.paths()
    schema_changes.check(effects, paths, head, mode)
    effects, instant = _with_instant(effects, paths, head)
    named = {str(name): id_ for name, id_ in ids.items() if not name.startswith("\0")}
    return Resolved(effects, instant, named)


def _with_instant(
    effects: list[Effect], paths: Mapping[tuple[int, int, int], Path], head: Head
) -> tuple[list[Effect], int]:
    """The effects begun by the transaction's instant: the given one, or now, but never before the last."""
    transaction, now = TX_BASE + head.t + 1, int(time.time() * 1000)
    for effect in effects:
        if effect.a != bootstrap.TX_INSTANT:
            continue
        given = (effect.v & layout.PAYLOAD_MASK) - layout.INSTANT_BIAS
        path = paths[effect.a, effect.e, effect.v]
        if effect.e != transaction or not effect.added:
            message = ':db/txInstant belongs to the current transaction alone, "datomic.tx"'
            raise Refused(Code.TX_INVALID, message, path)
        if given < head.instant:
            last = instant_of(head.instant).isoformat()
            raise Refused(Code.TX_INVALID, f":db/txInstant never goes back, and the last one is {last}", path)
        if given > now:
            raise Refused(Code.TX_INVALID, f":db/txInstant {instant_of(given).isoformat()} is in the future", path)
        return [effect, *(other for other in effects if other is not effect)], given
    instant = max(now, head.instant)
    code = layout.code_of(layout.TAG_INSTANT, instant + layout.INSTANT_BIAS)
    return [Effect(transaction, bootstrap.TX_INSTANT, code, True), *effects], instant
