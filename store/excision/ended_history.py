"""Which history a retention may fold away: values that were retracted before the point up to which they are kept.

For the run of a retention, which takes them in steps: excisions of so few datoms that others do not wait long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from adalog.datalog.values import EdnMap, Keyword
from adalog.store.excision.logged_ends import LoggedEnds
from adalog.store.excision.logged_past import LoggedPast, once_forgetful
from adalog.store.files.packing import instant
from adalog.store.snapshot.past_limits import PastLimits
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import FIRST_OWN_IDENT, Attribute

# A background run writes segments and SQLite's log anew, so it begins when this share of all datoms may go, or less
# so many seconds after the last one.
_SHARE: Final = 0.1
_LEAST: Final = 10_000
_DAILY: Final = (86_400, 0.01)
_WEEK_SECONDS: Final = 7 * 86_400
_EXCISE: Final = Keyword("db/excise")
_ENDED: Final = Keyword("db.excise/endedBeforeT")


@dataclass(frozen=True, eq=False)
class EndedHistory:
    """What may go. points: of attributes of which something may go, the transactions before which it was retracted.
    times: of these retractions, by attribute. datoms: how many may go, and how many there are in all."""

    points: Mapping[Attribute, int]
    times: Mapping[Attribute, Int64s]
    datoms: tuple[int, int]

    @staticmethod
    def of(snapshot: Snapshot, all_points: Mapping[Attribute, int], logged: LoggedEnds) -> EndedHistory:
        """all_points: as `points_of` gives them, for a snapshot that may be older. Raises as `logged` does."""
        forgetful = snapshot.schema.forgetful.intersection(each.id for each in all_points)
        known = logged.until(forgetful, snapshot.t)
        points, times, count = {}, {}, 0
        for attribute, point in all_points.items():
            ended = known.get(attribute.id)
            if ended is None:
                ended = _ended(snapshot.data_of(attribute.id), snapshot.t)
            early = ended[ended < point]
            count += 2 * len(ended)
            if len(early):
                points[attribute], times[attribute] = point, early
        gone = 2 * sum(map(len, times.values()))
        return EndedHistory(points, times, (gone, count + snapshot.datom_count))

    def is_enough(self, seconds: float) -> bool:
        """Whether it is worth a run. seconds: since the last one."""
        gone, every = self.datoms
        a_day, share = _DAILY
        return (
            gone >= max(_SHARE * every, _LEAST)
            or (seconds >= a_day and gone >= share * every)
            or (seconds >= _WEEK_SECONDS and gone > 0)
        )

    def step(self, most: int) -> Mapping[Attribute, int]:
        """The oldest of it: of some attributes, the transactions before which values were retracted. most: datoms,
        more or less."""
        every = np.sort(np.concatenate(list(self.times.values())))
        until = int(every[min(max(most // 2, 1), len(every)) - 1]) + 1
        return {
            attribute: min(until, point)
            for attribute, point in self.points.items()
            if self.times[attribute].min() < until
        }


def forms_of(step: Mapping[Attribute, int]) -> list[EdnMap]:
    """The excision that is a step."""
    return [EdnMap({_EXCISE: attribute.ident, _ENDED: before}) for attribute, before in step.items()]


def past_of(snapshot: Snapshot, step: Mapping[Attribute, int]) -> LoggedPast:
    """The past that a step needs from the log, of which nothing is read yet."""
    forgetful = once_forgetful(snapshot.data_of(bootstrap.NO_HISTORY), snapshot.t)
    before = {attribute.id: point for attribute, point in step.items()}
    points = {a: before.get(a, 0) for a in forgetful}
    return LoggedPast(forgetful, points, snapshot.codes, snapshot.origin.excised)


def points_of(snapshot: Snapshot, now: int, spared: int = 0) -> Mapping[Attribute, int]:
    """For each attribute whose past is limited, or that has `:db/noHistory`, the transaction before which retracted
    values may go. now: milliseconds since 1970. spared: how many of the last milliseconds are left alone with
    `:db/noHistory`."""
    limits = PastLimits(snapshot, instant(now))
    forgetful = {each for each in snapshot.schema.forgetful if each >= FIRST_OWN_IDENT}
    newest = snapshot.as_of_instant(limits.now - timedelta(milliseconds=spared)) + 1 if spared else snapshot.t
    points = (
        (each, min(newest, snapshot.t) if each.id in forgetful else limits.point(each))
        for each in snapshot.schema.all()
    )
    return {attribute: point for attribute, point in points if point > 1}


def _ended(data: AttributeData, t: int) -> Int64s:
    """The transactions that retracted something."""
    relation = data.relation
    parts = [relation.base.closed.retracted]
    events = [*(run.events() for run in relation.runs), data.delta.events(0, data.delta.length_at(t))]
    return np.concatenate([*parts, *(each.t[~each.added] for each in events)])
