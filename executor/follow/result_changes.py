"""Rows of codes as the changes of the feeds that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from adalog.datalog.ast import Query
from adalog.executor.answer.columns import computed_rows
from adalog.executor.answer.result import Result, ResultColumn
from adalog.executor.answer.types import type_of
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.follow.answer_groups import Key, Row
from adalog.executor.follow.view import Change
from adalog.executor.join.batch import Batch, Column
from adalog.executor.kernels.range_kernels import Ints
from adalog.planner.feeds import FEED
from adalog.store.values.codes import Scratch

ONLY = 0
"""The feed of a query that takes no arguments."""


@dataclass(frozen=True, slots=True)
class ResultChanges:
    """What a find spec makes of rows whose codes are those of `values`, as of a transaction."""

    query: Query
    values: Scratch
    t: int
    cancel: Cancel

    def heads(self, entered: Batch, left: Batch) -> dict[int, Change]:
        """The change of each feed that heads entered or left."""
        added, removed = by_feed(entered), by_feed(left)
        nothing = entered if not entered.size else left if not left.size else entered.slice(0, 0)
        return {
            feed: Change(self._batch(added.get(feed, nothing)), self._batch(removed.get(feed, nothing)))
            for feed in dict.fromkeys((*added, *removed))
        }

    def rows(self, came: Ints, went: Ints) -> Change:
        """The change of a feed by the codes that the query shows, int64[k, n]."""
        return Change(self._result(list(came)), self._result(list(went)))

    def groups(self, before: dict[Key, Row], after: dict[Key, Row], *, feeds: bool) -> dict[int, Change]:
        """The change of each feed by what groups showed and show now. `feeds`: their keys begin with the feed."""
        before, after = self._computed(before), self._computed(after)
        added: dict[int, list[Row]] = {}
        removed: dict[int, list[Row]] = {}
        for key in {**before, **after}:
            was, now = before.get(key), after.get(key)
            if was != now:
                feed = key[0] if feeds else ONLY
                if now is not None:
                    added.setdefault(feed, []).append(now)
                if was is not None:
                    removed.setdefault(feed, []).append(was)
        return {
            feed: Change(self._rows(added.get(feed, ())), self._rows(removed.get(feed, ())))
            for feed in dict.fromkeys((*added, *removed))
        }

    def _computed(self, groups: dict[Key, Row]) -> dict[Key, Row]:
        """What the query shows of the columns of groups, without those that it does not show."""
        if not self.query.computes_rows or not groups:
            return groups
        columns = [np.array(column, np.int64) for column in zip(*groups.values(), strict=True)]
        places, shown = computed_rows(self.query, columns, (), self.values, self.cancel)
        keys, width = list(groups), len(self.query.find.elements)
        rows = zip(*(column.tolist() for column in shown[:width]), strict=True)
        return dict(zip((keys[place] for place in places.tolist()), rows, strict=True))

    def _batch(self, rows: Batch) -> Result:
        return self._result([rows.columns[element.var.name] for element in self.query.find.columns])

    def _rows(self, rows: Sequence[Row]) -> Result:
        columns = zip(*rows, strict=True) if rows else [()] * len(self.query.find.elements)
        return self._result([np.array(column, np.int64) for column in columns])

    def _result(self, codes: Sequence[Column]) -> Result:
        find = self.query.find
        pairs = zip(find.elements, codes, strict=True)
        columns = tuple([_column(element.label, type_of(column)) for element, column in pairs])
        shape = "maps" if find.keys else find.shape
        return Result(columns, codes, self.values, len(codes[0]), shape, find.keys, self.t, "LOCAL", 0.0)


_column: Final = lru_cache(maxsize=1024)(ResultColumn)


def by_feed(batch: Batch) -> dict[int, Batch]:
    """The rows of each feed, in the order in which they were."""
    if not batch.size:
        return {}
    feeds = batch.columns.get(FEED)
    if feeds is None:
        return {ONLY: batch}
    if batch.size == 1 or (feeds == feeds[0]).all():
        return {int(feeds[0]): batch}
    batch = batch.take(np.argsort(feeds, kind="stable"))
    feeds = batch.columns[FEED]
    starts = np.flatnonzero(np.append(True, feeds[1:] != feeds[:-1])).tolist()
    stops = [*starts[1:], batch.size]
    return {int(feeds[start]): batch.slice(start, stop) for start, stop in zip(starts, stops, strict=True)}
