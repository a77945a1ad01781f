"""What is visible of a transaction: its datoms, and nothing where none is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from adalog.datalog.errors import AdalogError
from adalog.executor.join.batch import Column, Mask
from adalog.executor.permissions.guards import Guard
from adalog.executor.permissions.policies import Policy
from adalog.executor.permissions.shared_guards import allowed_together
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.permissions.visibility import VisibleDatoms
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.datom import Datom, TxReport

_UNSEEN: Final = ()


def visible_report(past: GuardedSnapshot, report: TxReport) -> TxReport | None:
    """The report of a committed transaction as a viewer sees it; None where nothing of it is visible. past: the
    history that the viewer sees now."""
    datoms = _ReportDatoms.of(report, past.raw)
    return datoms.report(datoms.visible(past))


@dataclass(frozen=True)
class _AttributeDatoms:
    """The datoms of one attribute in a report, by their places there. is_own: of the transaction's own entity.
    e, v: int64 codes."""

    attribute: Attribute
    is_own: bool
    places: Sequence[int]
    e: Column
    v: Column

    def visible(self, view: GuardedSnapshot) -> Mask:
        visible = view.visible
        assert isinstance(visible, VisibleDatoms)
        # What else is visible of the transaction would be looked for in all of the history.
        ask = visible.by_themselves if self.is_own else visible.datoms
        return ask(self.attribute.id, self.e, self.v)


@dataclass(frozen=True)
class _ReportDatoms:
    """A report by attributes. `past`: the raw history. `described`: the places of what it says of its own
    transaction."""

    whole: TxReport
    past: Snapshot
    by_attribute: Sequence[_AttributeDatoms]
    described: Sequence[int]

    @staticmethod
    def of(report: TxReport, raw: Snapshot) -> _ReportDatoms:
        own, names = TX_BASE + report.t, raw.plain
        groups: dict[tuple[Attribute, bool], list[tuple[int, int, int]]] = {}
        described: list[int] = []
        for place, datom in enumerate(report.datoms):
            attribute = raw.attribute(datom.a)
            # What was built in later is declared by whoever is the first to need it, visible or not.
            if attribute is None or datom.e in bootstrap.LATER:
                continue
            is_own = datom.e == own
            if is_own:
                described.append(place)
                if attribute.id in bootstrap.OF_TRANSACTIONS:
                    continue
            if (code := _code(names, attribute, datom)) is not None:
                groups.setdefault((attribute, is_own), []).append((place, datom.e, code))
        by_attribute = []
        for (attribute, is_own), rows in groups.items():
            places, *codes = zip(*rows, strict=True)
            e, v = (np.array(each, np.int64) for each in codes)
            by_attribute.append(_AttributeDatoms(attribute, is_own, places, e, v))
        return _ReportDatoms(report, raw, by_attribute, described)

    def visible(self, past: GuardedSnapshot) -> tuple[int, ...]:
        """The places of what is visible. All that a transaction says of itself is if a part of it is, or of the
        rest."""
        shown: list[int] = []
        for each in self.by_attribute:
            if past.attribute(each.attribute.ident) is not None:
                mask = each.visible(past).tolist()
                shown += (place for place, visible in zip(each.places, mask, strict=True) if visible)
        return self.with_described(shown, past)

    def with_described(self, shown: list[int], past: GuardedSnapshot) -> tuple[int, ...]:
        """The places of visible datoms and of those that are visible with them, in order."""
        if not shown:
            return _UNSEEN
        described = (place for place in self.described if past.attribute(self.whole.datoms[place].a) is not None)
        return tuple(sorted({*shown, *described}))

    def report(self, places: Sequence[int]) -> TxReport | None:
        if not places:
            return None
        datoms = [self.whole.datoms[place] for place in places]
        # The tempids of entities that a visible datom is about.
        seen = {datom.e for datom in datoms}
        named = {name: e for name, e in self.whole.tempids.items() if e in seen}
        return replace(self.whole, datoms=datoms, tempids=named)


def _code(now: Snapshot, attribute: Attribute, datom: Datom) -> int | None:
    try:
        return now.value_code(attribute, datom.v)
    except AdalogError:
        return None


@dataclass(eq=False)
class VisibleReports:
    """One report for many viewers: policies are asked about all of them together, and viewers who see the same have
    one report. now: the raw snapshot whose policies and facts decide. `written`: what is made of a report for some
    of them, by what tells that from others."""

    whole: TxReport
    now: Snapshot
    viewers: Sequence[VisibleMoments]
    written: dict[Hashable, Any] = field(default_factory=dict)
    _by_places: dict[tuple[int, ...], TxReport | None] = field(default_factory=dict)

    def of(self, viewer: VisibleMoments) -> TxReport | None:
        """What one of the viewers sees; None: nothing."""
        return self._found[viewer]

    @cached_property
    def _found(self) -> dict[VisibleMoments, TxReport | None]:
        datoms = _ReportDatoms.of(self.whole, self.now.plain.history())
        groups: dict[frozenset[str], list[VisibleMoments]] = {}
        for each in self.viewers:
            groups.setdefault(each.viewer.roles, []).append(each)
        found: dict[VisibleMoments, TxReport | None] = {}
        for viewers in groups.values():
            first = viewers[0].guard(self.now)
            if first is None:
                found |= dict.fromkeys(viewers, self.whole)
                continue
            shown = _SharedVisibility(datoms, self.now, viewers, first).visible()
            for viewer, places in zip(viewers, shown, strict=True):
                if places not in self._by_places:
                    self._by_places[places] = datoms.report(places)
                found[viewer] = self._by_places[places]
        return found


@dataclass
class _SharedVisibility:
    """What several viewers with the same roles see of a report. `first`: the guard of the first one."""

    datoms: _ReportDatoms
    now: Snapshot
    viewers: Sequence[VisibleMoments]
    first: Guard
    _views: dict[int, GuardedSnapshot] = field(default_factory=dict)
    _allowed: dict[str, tuple[Column, Mask] | None] = field(default_factory=dict)

    def visible(self) -> list[tuple[int, ...]]:
        """For each viewer as `_ReportDatoms.visible`."""
        if len(self.viewers) == 1:
            return [self.datoms.visible(self._view(0))]
        places = [place for each in self.datoms.by_attribute for place in each.places]
        masks = [self._of_attribute(each) for each in self.datoms.by_attribute]
        if not masks:
            return [_UNSEEN] * len(self.viewers)
        every = np.concatenate(masks, axis=1)
        rows, which = np.unique(every, axis=0, return_inverse=True)
        shown = [
            self.datoms.with_described(
                [place for place, visible in zip(places, row, strict=True) if visible], self._view(0)
            )
            for row in rows.tolist()
        ]
        return [shown[number] for number in which.reshape(-1).tolist()]

    def _view(self, number: int) -> GuardedSnapshot:
        if number not in self._views:
            guard = self.first if number == 0 else self.viewers[number].guard(self.now)
            assert guard is not None, "policies are enforced for all of these roles"
            self._views[number] = guard.view(self.datoms.past)
        return self._views[number]

    def _of_attribute(self, rows: _AttributeDatoms) -> Mask:
        """bool[viewers, datoms]"""
        shown = self._together(rows)
        if shown is None:
            views = map(self._view, range(len(self.viewers)))
            shown = np.stack([rows.visible(each) for each in views])
        return np.broadcast_to(shown, (len(self.viewers), len(rows.e)))

    def _together(self, rows: _AttributeDatoms) -> Mask | None:
        """The same where policies are asked about all viewers together, and one row where they all see the same;
        None where each is asked by itself."""
        visible = self._view(0).visible
        assert isinstance(visible, VisibleDatoms)
        access = visible.access_by_entity(rows.attribute)
        if access is None or (not rows.is_own and (rows.e >= TX_BASE).any()):
            return None
        shown = np.zeros((1, len(rows.e)), np.bool_)
        for policies, some in ((access.grants, np.logical_or), (access.requires, np.logical_and)):
            for each in policies:
                allowed = self._by(each, rows)
                if allowed is None:
                    return None
                shown = some(shown, allowed)
        return shown

    def _by(self, policy: Policy, rows: _AttributeDatoms) -> Mask | None:
        rules = policy.rules
        if rules is None or not rules.claims:
            return self.first.allowed(policy, rows.attribute, rows.e, rows.v, self.now)[None, :]
        if policy.key not in self._allowed:
            named = [each.e for each in self.datoms.by_attribute if policy.names(each.attribute)]
            entities = distinct(np.concatenate((rows.e, *named)))
            claims = [each.viewer.claims for each in self.viewers]
            allowed = allowed_together(self.first.memory.runner, policy, claims, entities, self.now)
            self._allowed[policy.key] = None if allowed is None else (entities, allowed)
        found = self._allowed[policy.key]
        if found is None:
            return None
        entities, allowed = found
        places = entities.searchsorted(rows.e)
        # Of attributes that policies know by other names, something may be left out.
        known = places < len(entities)
        return allowed[:, places] if known.all() and (entities[places] == rows.e).all() else None
