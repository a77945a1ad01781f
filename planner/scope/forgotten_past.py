"""What retention may have folded away of what a view of the past shows.

Whether a certain value was among it, nobody knows any more: it is told by what was kept when it may have run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adalog.datalog.errors import shown
from adalog.store.snapshot.past_limits import PastLimits, forgotten_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute

_LIMITS = {bootstrap.RETAIN_DAYS: ":db/retainDays", bootstrap.RETAIN_TRANSACTIONS: ":db/retainTransactions"}
_FEW = 3


@dataclass
class ForgottenPast:
    """view: of the past, or of all history, of a database of which something was excised. limits: what was kept
    then, and earlier."""

    view: Snapshot
    limits: Sequence[PastLimits]
    _told: set[int | None] = field(default_factory=set)

    @staticmethod
    def of(view: Snapshot) -> ForgottenPast | None:
        """None where a view shows nothing that could be gone."""
        limits = forgotten_of(view)
        return None if not limits else ForgottenPast(view, limits)

    def told(self, attribute: Attribute | None) -> str | None:
        """A sentence for an attribute that is read, or for None, that any may be; None where nothing lacks, or it
        was told before."""
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
        """The view shows nothing that had ended before the transaction after this one."""
        return self.view.since_t if self.view.is_history else self.view.t

    def _past(self, attribute: Attribute) -> tuple[int, str] | None:
        """The latest transaction before which what had ended may be gone, and what says so."""
        known = [(past.point(attribute), _written(limit)) for past in self.limits if (limit := past.of(attribute))]
        return max(known, default=None)


def _written(limit: tuple[int, int]) -> str:
    return f"{_LIMITS[limit[0]]} {limit[1]}"
