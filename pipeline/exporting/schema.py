"""The schema of a view as transaction data: the datoms of adalog's own attributes, but those about transactions.

Entities with an ident are named by it, and get new ids where the data is transacted. Others keep ids that clients
may choose: an entity of its own stands for a transaction (`movable`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from adalog.datalog.edn.writer import write
from adalog.datalog.values import EdnMap, Keyword
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import SCHEMA_BASE, TX_BASE

_ID: Final = Keyword("db/id")
_IDENT: Final = Keyword("db/ident")
# The last ids that clients may choose stand for transactions of another database, and for entities whose ident is
# gone; new entities get the first ones.
_SPAN: Final = 1 << 37
_TRANSACTIONS: Final = SCHEMA_BASE - 2 * _SPAN
_NAMELESS: Final = SCHEMA_BASE - _SPAN


def movable(ids: Int64s) -> Int64s:
    """The ids that entities of one database have in another: their own below 2^41, 2^41 - 2^38 + t in the place of
    transaction t, 2^41 - 2^37 and so on in the place of entities that had an ident. -1 for ids that are none."""
    moved = np.where((ids >= 0) & (ids < SCHEMA_BASE), ids, -1)
    for first, base in ((TX_BASE, _TRANSACTIONS), (SCHEMA_BASE, _NAMELESS)):
        moved = np.where((ids >= first) & (ids < first + _SPAN), ids - first + base, moved)
    return moved


def idents_of(snapshot: Snapshot) -> dict[Keyword, int]:
    """The entity of every ident that is not built in."""
    rows = snapshot.plain.columns_of(bootstrap.IDENT)
    rows = rows.take((rows.t > 0) & ~np.isin(rows.e, tuple(bootstrap.LATER)))
    return dict(zip(snapshot.codes.decode_many(rows.v), rows.e.tolist(), strict=True))


def schema_text(snapshot: Snapshot, idents: Mapping[Keyword, int]) -> str:
    """A vector of maps, an entity each."""
    names = {e: ident for ident, e in idents.items()}
    forms = [_form(e, facts, names.get(e)) for e, facts in sorted(_facts(snapshot).items())]
    return "[" + "\n ".join(map(write, forms)) + "]\n"


def _facts(snapshot: Snapshot) -> dict[int, dict[Keyword, Any]]:
    """By entity, what adalog's own attributes say of it."""
    plain = snapshot.plain
    facts: dict[int, dict[Keyword, Any]] = {}
    for attribute in plain.attributes():
        if not bootstrap.is_built_in(attribute.id) or attribute.id in (bootstrap.TX_INSTANT, bootstrap.PRINCIPAL):
            continue
        rows = plain.columns_of(attribute.id)
        rows = rows.take((rows.t > 0) & ~np.isin(rows.e, tuple(bootstrap.LATER)))
        values = (
            [plain.ident(v) or v for v in rows.v.tolist()] if attribute.is_ref else plain.codes.decode_many(rows.v)
        )
        for e, value in zip(rows.e.tolist(), values, strict=True):
            own = facts.setdefault(e, {})
            if attribute.is_many:
                own.setdefault(attribute.ident, []).append(value)
            else:
                own[attribute.ident] = value
    return facts


def _form(e: int, facts: Mapping[Keyword, Any], ident: Keyword | None) -> EdnMap:
    entries: list[tuple[Any, Any]] = []
    if ident is None or e < SCHEMA_BASE:
        entries.append((_ID, int(movable(np.array([e]))[0])))
    if ident is not None:
        entries.append((_IDENT, ident))
    entries += [
        (name, tuple(sorted(value, key=str)) if isinstance(value, list) else value)
        for name, value in facts.items()
        if name != _IDENT
    ]
    return EdnMap(entries)
