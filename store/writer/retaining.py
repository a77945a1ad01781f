"""Which history is to be folded away: what attributes had that ended before the point up to which they keep it.

Reads snapshots alone. Each step is an excision of its own, of few enough datoms that others do not wait long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from adalog.datalog.values import EdnMap, Keyword
from adalog.store.files.packing import instant
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import FIRST_OWN_IDENT, Attribute

# Datoms that one step takes, more or less.
STEP: Final = 200_000
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
    """What may go. points: of attributes that had something, the transactions before which it ended. times: of its
    retractions, by attribute; datoms: how many there are of it, and in all."""

    points: Mapping[Attribute, int]
    times: Mapping[Attribute, Int64s]
    datoms: tuple[int, int]

    @staticmethod
    def of(snapshot: Snapshot, all_points: Mapping[Attribute, int]) -> EndedHistory:
        """all_points: as `points_of` gives them, for a snapshot that may be older."""
        points, times, count = {}, {}, 0
        for attribute, point in all_points.items():
            data = snapshot.data_of(attribute.id)
            ended = _ended(data, snapshot.t)
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

    def step(self, most: int = STEP) -> list[EdnMap]:
        """The forms of an excision that takes the oldest of it."""
        every = np.sort(np.concatenate(list(self.times.values())))
        until = int(every[min(max(most // 2, 1), len(every)) - 1]) + 1
        return [
            EdnMap({_EXCISE: attribute.ident, _ENDED: min(until, point)})
            for attribute, point in self.points.items()
            if self.times[attribute].min() < until
        ]


def limits_of(snapshot: Snapshot) -> Mapping[int, tuple[int, int]]:
    """By entity, (attribute that limits, its value)."""
    found = {}
    for limit in bootstrap.RETAINING:
        held = snapshot.data_of(limit).columns(snapshot.t)
        found.update({e: (limit, v) for e, v in zip(held.e.tolist(), held.v.tolist(), strict=True)})
    return found


def points_of(snapshot: Snapshot, now: int) -> Mapping[Attribute, int]:
    """Of each attribute whose past is limited, the transaction before which nothing need be known that had ended.
    Attributes that forget, or forgot, are left out: memory does not have their past, and so cannot tell."""
    limits = limits_of(snapshot)
    if not limits:
        return {}
    every = limits.get(snapshot.entid(bootstrap.RETENTION) or 0)
    forgetful = set(snapshot.data_of(bootstrap.NO_HISTORY).events(-1, snapshot.t).e.tolist())
    found = {}
    for attribute in snapshot.schema.all():
        limit = limits.get(attribute.id, every)
        if attribute.id < FIRST_OWN_IDENT or attribute.id in forgetful or limit is None:
            continue
        point = _point(snapshot, limit, now)
        if point > 1:
            found[attribute] = point
    return found


def _point(snapshot: Snapshot, limit: tuple[int, int], now: int) -> int:
    by, value = limit
    if by == bootstrap.RETAIN_ALL:
        return 0
    if by == bootstrap.RETAIN_TRANSACTIONS:
        return snapshot.t - value + 1
    return snapshot.as_of_instant(instant(now) - timedelta(days=value)) + 1


def _ended(data: AttributeData, t: int) -> Int64s:
    """The transactions that retracted something."""
    relation = data.relation
    parts = [relation.base.closed.retracted]
    events = [*(run.events() for run in relation.runs), data.delta.events(0, data.delta.length_at(t))]
    return np.concatenate([*parts, *(each.t[~each.added] for each in events)])
