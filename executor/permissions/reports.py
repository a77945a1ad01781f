"""What is visible of a transaction: its datoms, and nothing where none is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adalog.datalog.errors import AdalogError
from adalog.executor.permissions.guards import Guard
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.datom import Datom, TxReport


def visible_report(guard: Guard, report: TxReport, now: Snapshot) -> TxReport | None:
    """The report of a committed transaction as the guard's viewer sees it; None where nothing of it is visible.
    now: the raw snapshot up to which the log is read.

    Datoms of the transaction's own entity are visible if another one is."""
    past = guard.view(now.plain.history())
    own = TX_BASE + report.t
    groups: dict[Attribute, list[int]] = {}
    described: list[int] = []
    for place, datom in enumerate(report.datoms):
        attribute = past.attribute(datom.a)
        # What was built in later is declared by whoever is the first to need it, visible or not.
        if attribute is None or datom.e in bootstrap.LATER:
            continue
        if datom.e == own:
            described.append(place)
        else:
            groups.setdefault(attribute, []).append(place)
    shown: set[int] = set()
    for attribute, places in groups.items():
        some = [report.datoms[place] for place in places]
        values = [_code(now, attribute, datom) for datom in some]
        known = [number for number, code in enumerate(values) if code is not None]
        e = np.array([some[number].e for number in known], np.int64)
        v = np.array([values[number] for number in known], np.int64)
        mask = past.visible.datoms(attribute.id, e, v).tolist() if known else []
        shown.update(places[number] for number, visible in zip(known, mask, strict=True) if visible)
    if not shown:
        return None
    shown.update(described)
    datoms = [report.datoms[place] for place in sorted(shown)]
    return replace(report, datoms=datoms, tempids=_named(report, datoms))


def _named(report: TxReport, datoms: Sequence[Datom]) -> dict[str, int]:
    """The tempids of entities that a visible datom is about."""
    seen = {datom.e for datom in datoms}
    return {name: e for name, e in report.tempids.items() if e in seen}


def _code(now: Snapshot, attribute: Attribute, datom: Datom) -> int | None:
    try:
        return now.value_code(attribute, datom.v)
    except AdalogError:
        return None
