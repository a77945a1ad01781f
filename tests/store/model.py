"""The naive database that the real one is compared with: a list of what every transaction said it did."""

from __future__ import annotations

from collections.abc import Iterable

from adalog.datalog.values import identity
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.datom import Datom, TxReport

Fact = tuple[int, str, object]


class Model:
    """Datoms in the order of t. forgetful: attributes with :db/noHistory, whatever the moment."""

    def __init__(self, forgetful: frozenset[str] = frozenset()) -> None:
        self.datoms: list[Datom] = []
        self.t = 0
        self.forgetful = forgetful

    def copy(self) -> Model:
        copy = Model(self.forgetful)
        copy.t, copy.datoms = self.t, list(self.datoms)
        return copy

    def told(self, report: TxReport) -> None:
        assert report.t == self.t + 1
        assert report.basis_before == self.t
        self.t = report.t
        self.datoms += report.datoms

    def held(self, t: int, since: int = 0) -> dict[Fact, int]:
        """What held after t, asserted after `since`: fact -> the transaction that asserted it."""
        held: dict[Fact, int] = {}
        for datom in self.datoms:
            if datom.t > t:
                break
            fact = (datom.e, str(datom.a), identity(datom.v))
            if datom.added:
                assert fact not in held, f"{datom} is asserted, but holds"
                held[fact] = datom.t
            else:
                assert fact in held, f"{datom} is retracted, but does not hold"
                del held[fact]
        if t < self.t:
            held = {fact: asserted for fact, asserted in held.items() if fact[1] not in self.forgetful}
            held |= {fact: asserted for fact, asserted in self._remembered().items() if asserted <= t}
        return {fact: asserted for fact, asserted in held.items() if asserted > since}

    def _remembered(self) -> dict[Fact, int]:
        """What still holds of the forgetful attributes."""
        return {fact: asserted for fact, asserted in self.held(self.t).items() if fact[1] in self.forgetful}

    def events(self, t: int, since: int = 0) -> set[tuple[Fact, int, bool]]:
        events = {
            ((datom.e, str(datom.a), identity(datom.v)), datom.t, datom.added)
            for datom in self.datoms
            if since < datom.t <= t and str(datom.a) not in self.forgetful
        }
        remembered = self._remembered().items()
        return events | {(fact, asserted, True) for fact, asserted in remembered if since < asserted <= t}


def check(snapshot: Snapshot, model: Model) -> None:
    """Every way of reading the snapshot gives what the model gives."""
    t, since, history, *_ = snapshot.key
    rows = {}
    for attribute in snapshot.attributes():
        columns = snapshot.columns(attribute)
        values = snapshot.codes.decode_many(columns.v)
        assert _is_sorted(zip(columns.e.tolist(), columns.v.tolist(), columns.t.tolist(), strict=True))
        for e, v, asserted, added in zip(
            columns.e.tolist(), values, columns.t.tolist(), columns.added.tolist(), strict=True
        ):
            if asserted > 0:
                rows[(e, str(attribute.ident), identity(v)), asserted, added] = True
        pairs = sorted(set(zip(columns.e.tolist(), columns.v.tolist(), strict=True)))
        forward, backward = snapshot.ev(attribute).merged, snapshot.ve(attribute).merged
        assert list(zip(*(part.tolist() for part in forward.pairs()), strict=True)) == pairs
        assert list(zip(*(part.tolist() for part in backward.pairs()), strict=True)) == sorted(
            (v, e) for e, v in pairs
        )
        for e, _ in pairs[:5]:
            assert snapshot.ev(attribute).row(e).tolist() == [v for other, v in pairs if other == e]
        statistics = snapshot.statistics(attribute)
        assert statistics.count == (len(columns) if history else len(pairs))
        assert statistics.entities == len({e for e, _ in pairs})
        assert statistics.values == len({v for _, v in pairs})
    if history:
        assert set(rows) == model.events(t, since)
    else:
        assert {fact: asserted for fact, asserted, _ in rows} == model.held(t, since)
    if since == 0 and not history:
        built_in = 2**41 + 1000
        entities = {e for e, _, _ in model.held(t) if e < 2**41 or e >= built_in}
        assert snapshot.datom_count == len(model.held(t))
        assert snapshot.entity_count == len(entities)


def check_moments(snapshot: Snapshot, model: Model) -> None:
    """The snapshot and some of its pasts, as-of, since and history."""
    assert snapshot.t == model.t
    check(snapshot, model)
    for t in range(0, model.t + 1, max(model.t // 6, 1)):
        past = snapshot.as_of(t)
        check(past, model)
        check(past.since(t // 2), model)
        check(past.history(), model)
    check(snapshot.history().since(model.t // 2), model)


def _is_sorted(rows: Iterable[tuple[int, int, int]]) -> bool:
    listed = list(rows)
    return listed == sorted(listed)
