"""A transaction that undoes an earlier one. The state that it is applied to decides its forms, and may refuse it.

What the earlier one asserted goes, and what it retracted comes back. Attributes that it declared stay declared, and
what it says of itself stays said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.datalog.values import Keyword
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.permission import unseen
from adalog.store.state.settings import Evaluation
from adalog.store.state.state import DatabaseState
from adalog.store.transact.resolve import Transaction
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.datom import Datom, TxReport

_MOST_DATOMS: Final = 100_000
_MOST_TOLD: Final = 3
_SHOWN: Final = 40
_ADD: Final = Keyword("db/add")
_RETRACT: Final = Keyword("db/retract")


class _Change(NamedTuple):
    """A datom to undo. code: its value's."""

    datom: Datom
    attribute: Attribute
    code: int

    @property
    def pair(self) -> tuple[int, int, int]:
        return self.attribute.id, self.datom.e, self.code


@dataclass(frozen=True)
class Reversal:
    """Undoes the transaction of a report, as a `TransactionFunction`. report: all of it, as the log has it.
    excised: the last excision when it was read."""

    report: TxReport
    excised: int = 0

    def transaction(self, state: DatabaseState, evaluation: Evaluation) -> Transaction:
        """The forms that undo what its author sees of it. Raises TX_CONFLICT, which says what came since,
        TX_INVALID if there is nothing to undo, and LIMIT_EXCEEDED."""
        if state.snapshot().origin.excised != self.excised:
            # The report may have values that the excision took: they would come back.
            raise AdalogError(
                Code.TX_CONFLICT,
                f"something was excised while transaction {self.report.t} was read; send this again",
                retryable=True,
            )
        report = evaluation.visible_report(self.report, state.whole)
        if len(report.datoms) > _MOST_DATOMS:
            raise limit_exceeded(
                f"transaction {report.t} has {len(report.datoms):,} datoms, and at most {_MOST_DATOMS:,} are "
                "undone at once; transact what undoes it in parts"
            )
        return _Undoing(report, state, evaluation).transaction()

    def digest(self) -> str:
        return hashlib.sha256(f"revert {self.report.t}".encode()).hexdigest()[:32]

    def __len__(self) -> int:
        return _SHOWN * min(len(self.report.datoms), _MOST_DATOMS)


class _Undoing:
    """One transaction being undone in one state."""

    def __init__(self, report: TxReport, state: DatabaseState, evaluation: Evaluation) -> None:
        self._t = report.t
        self._state = state
        self._evaluation = evaluation
        self._now = state.snapshot()
        self._before = self._now.as_of(report.t - 1)
        changes = [change for datom in report.datoms if (change := self._change(datom)) is not None]
        entities = {each.datom.e for each in changes}
        # Entities that had no datom before it.
        self._made = unseen(self._before, entities) if entities else set()
        self._changes = [each for each in changes if not self._declares(each)]

    def _change(self, datom: Datom) -> _Change | None:
        attribute = self._state.schema.get(datom.a)
        if datom.e == TX_BASE + self._t or attribute is None or attribute.kind.tuple_attrs is not None:
            return None
        code = self._now.value_code(attribute, datom.v)
        return None if code is None else _Change(datom, attribute, code)

    def _declares(self, change: _Change) -> bool:
        """Whether it is of an attribute that was declared with it."""
        return change.datom.e in self._made and self._state.whole.schema.get(change.datom.e) is not None

    def transaction(self) -> Transaction:
        if not self._changes:
            raise AdalogError(
                Code.TX_INVALID,
                f"transaction {self._t} has nothing to undo: attributes stay declared, and a transaction keeps "
                "what it says of itself",
            )
        reasons: list[str] = []
        for reason in self._reasons():
            reasons.append(reason)
            if len(reasons) > _MOST_TOLD:
                reasons[_MOST_TOLD:] = ["and more"]
                break
        if reasons:
            raise AdalogError(
                Code.TX_CONFLICT, f"transaction {self._t} cannot be undone: {'; '.join(dict.fromkeys(reasons))}"
            )
        returning = {(each.attribute.id, each.datom.e) for each in self._changes if not each.datom.added}
        forms, places = [], []
        for change in self._changes:
            datom, attribute = change.datom, change.attribute
            if datom.added and not attribute.is_many and (attribute.id, datom.e) in returning:
                # The value from before takes its place.
                continue
            forms.append((_RETRACT if datom.added else _ADD, datom.e, attribute.ident, datom.v))
            places.append(f"to undo transaction {self._t}, {_shown(datom)}")
        return Transaction(forms, places=places)

    def _reasons(self) -> Iterator[str]:
        """Why it cannot be undone, for each part that something came after."""
        arrived = {(each.attribute.id, each.datom.e) for each in self._changes if each.datom.added}
        for number, change in enumerate(self._changes):
            if number % 256 == 0:
                self._evaluation.check()
            datom, attribute = change.datom, change.attribute
            rows = self._state.live(attribute.id)
            if rows.holds(datom.e, change.code) != datom.added:
                what = "is gone" if datom.added else "is there again"
                yield f"{_shown(datom)} {what}{self._since(datom.e, attribute)}"
                continue
            is_replaced = (attribute.id, datom.e) in arrived
            if not datom.added and not attribute.is_many and not is_replaced and rows.values(datom.e):
                since = self._since(datom.e, attribute)
                yield f"{attribute.ident} of entity {datom.e} has another value{since}"
        yield from self._said_of_new_entities()
        yield from self._lost_references()

    def _said_of_new_entities(self) -> Iterator[str]:
        """What was said since of entities that go altogether."""
        going = {each.pair for each in self._changes if each.datom.added}
        for e in sorted({each.datom.e for each in self._changes} & self._made):
            self._evaluation.check()
            entity = np.array([e], np.int64)
            for attribute in self._now.attributes_of(entity):
                rows = self._state.live(attribute.id)
                if attribute.kind.tuple_attrs is not None:
                    continue
                if any((attribute.id, e, v) not in going for v in rows.values(e)):
                    yield f"entity {e}, which it made, has {attribute.ident}{self._since(e, attribute)}"
                if not attribute.is_ref:
                    continue
                referred = set(self._before.pairs_of(attribute, entity, inverse=True)[1].tolist())
                for other in rows.entities(e):
                    if (attribute.id, other, e) not in going and other not in referred:
                        since = self._since(other, attribute)
                        yield f"entity {e}, which it made, is {attribute.ident} of entity {other}{since}"

    def _lost_references(self) -> Iterator[str]:
        """References that would come back to entities that went since."""
        returning = [each for each in self._changes if not each.datom.added]
        restored = {each.datom.e for each in returning}
        targets = {each.code for each in returning if each.attribute.is_ref} - restored
        gone = unseen(self._now, targets) - unseen(self._before, targets) if targets else set()
        for change in returning:
            if change.attribute.is_ref and change.code in gone:
                yield f"{_shown(change.datom)} would refer to an entity that is gone"

    def _since(self, e: int, attribute: Attribute) -> str:
        """The transaction that last changed an entity's values of an attribute, if that was after this one."""
        t = _last_change(self._now.history(), e, attribute)
        return f" since transaction {t}" if t > self._t else ""


def _last_change(history: Snapshot, e: int, attribute: Attribute) -> int:
    found = history.columns_of_entities(attribute.id, np.array([e], np.int64)).t
    return int(found.max()) if len(found) else 0


def _shown(datom: Datom) -> str:
    value: Any = write(datom.v)
    value = value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"
    return f"[{datom.e} {datom.a} {value}]"
