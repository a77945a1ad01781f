"""Warnings that retention may have taken something from a view of the past.

The database does not know which values went. It infers them from the limits at the moments at which retention may
have run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adalog.datalog.errors import shown
from adalog.store.snapshot.past_limits import PastLimits, forgotten_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute

_FEW = 3


@dataclass
class ForgottenPast:
    """view: a view of the past or a history, of a database with an excision. limits: those at each moment at which
    retention may have run, newest first."""

    view: Snapshot
    limits: Sequence[PastLimits]
    _told: set[int | None] = field(default_factory=set)

    @staticmethod
    def of(view: Snapshot) -> ForgottenPast | None:
        """None for a view that shows nothing older than the present."""
        limits = forgotten_of(view)
        return None if not limits else ForgottenPast(view, limits)

    def warning(self, attribute: Attribute | None) -> str | None:
        """A sentence about an attribute that is read, or about all that the view has for None. None if nothing can
        be missing, or if it was given before."""
        key = None if attribute is None else attribute.id
        if key in self._told:
            return None
        self._told.add(key)
        read = self.view.attributes() if attribute is None else (attribute,)
        found = {each: past for each in read if (past := self._past(each)) and past[0] > self._exact + 1}
        if not found:
            return None
        names = ", ".join(shown(str(each.ident)) for each in list(found)[:_FEW])
        names += f" and {len(found) - _FEW:,} others" if len(found) > _FEW else ""
        by = sorted({limit for _, limit in found.values()})
        seen = "the history" if self.view.is_history else f"the view as of t = {self.view.t}"
        point = max(point for point, _ in found.values())
        return (
            f"{seen} may lack values of {names} that had ended before t = {point}, which retention "
            f"({', '.join(by[:_FEW])}) need not keep"
        )

    @property
    def _exact(self) -> int:
        """The view shows nothing that was retracted by this transaction or before."""
        return self.view.since_t if self.view.is_history else self.view.t

    def _past(self, attribute: Attribute) -> tuple[int, str] | None:
        """The latest transaction before which retracted values may be gone, and the limit that says so."""
        known = [(past.point(attribute), _written(limit)) for past in self.limits if (limit := past.of(attribute))]
        return max(known, default=None)


def _written(limit: tuple[int, int]) -> str:
    return f"{bootstrap.RETAINING[limit[0]]} {limit[1]}"
