"""What lies between two snapshots of a database, one attribute at a time: what came and what went.

Settled: what was added and retracted again in between is neither. Costs what was written in between if one snapshot
grew out of the other, else a comparison of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.columns import Columns
from adalog.store.tries.signed import run_starts
from adalog.store.tries.trie import EMPTY, distinct
from adalog.store.values.arrays import Int64s


@dataclass(frozen=True, eq=False)
class Difference:
    """Distinct rows as columns: those that only the new snapshot has, and those that only the old one has."""

    added: tuple[Int64s, ...]
    removed: tuple[Int64s, ...]


_NO_PAIRS: Final = EMPTY.values, EMPTY.values
_NOTHING: Final = Difference(_NO_PAIRS, _NO_PAIRS)


def pairs_between(old: Snapshot, new: Snapshot, attribute: int) -> Difference:
    """The (entity, value) pairs of an attribute that came and went."""
    if _follows(old, new, attribute):
        data = new.data_of(attribute)
        few = data.few_changes(old.t, new.t)
        return _settled(data.changes(old.t, new.t)) if few is None else _settled_few(few)
    before, after = old.columns_of(attribute), new.columns_of(attribute)
    return _compared((before.e, before.v), (after.e, after.v))


def rows_between(old: Snapshot, new: Snapshot, attribute: int) -> Difference:
    """The rows (entity, value, transaction number, whether asserted) of an attribute that came and went."""
    if _follows(old, new, attribute):
        touched = distinct(new.data_of(attribute).changes(old.t, new.t).e)
        return _compared(*(_rows(each.columns_of_entities(attribute, touched)) for each in (old, new)))
    return _compared(*(_rows(each.columns_of(attribute)) for each in (old, new)))


def _rows(columns: Columns) -> tuple[Int64s, ...]:
    return (columns.e, columns.v, columns.t, columns.added.astype(np.int64))


def _follows(old: Snapshot, new: Snapshot, attribute: int) -> bool:
    """Whether the attribute's events lead from one snapshot to the other: both are moments of one database, as they
    were, and nothing of the attribute's past is forgotten."""
    first, second = old.origin, new.origin
    return (
        old.codes is new.codes
        and old.origin.excised == new.origin.excised
        and old.t <= new.t
        # Both are plain. On the way of every live step, where calls of properties would cost as much again.
        and not (old.since_t or new.since_t or old.is_history or new.is_history)
        and not (first.applied or second.applied)
        and attribute not in first.forgetful
        and attribute not in second.forgetful
    )


def _settled_few(events: Sequence[tuple[int, int, bool]]) -> Difference:
    """By plain Python, which takes less than the fixed cost of sorting arrays. events: oldest first."""
    if not events:
        return _NOTHING
    if len(events) == 1:
        ((e, v, added),) = events
        pair = np.array([e], np.int64), np.array([v], np.int64)
        return Difference(pair, _NO_PAIRS) if added else Difference(_NO_PAIRS, pair)
    spans: dict[tuple[int, int], tuple[bool, bool]] = {}
    for e, v, added in events:
        span = spans.get((e, v))
        spans[e, v] = (added if span is None else span[0]), added
    came: list[tuple[int, int]] = []
    went: list[tuple[int, int]] = []
    for each, (first, last) in spans.items():
        if first == last:
            (came if first else went).append(each)
    return Difference(_columns_of(came), _columns_of(went))


def _columns_of(pairs: list[tuple[int, int]]) -> tuple[Int64s, Int64s]:
    if not pairs:
        return _NO_PAIRS
    pairs.sort()
    return np.array([e for e, _ in pairs], np.int64), np.array([v for _, v in pairs], np.int64)


def _settled(events: Columns) -> Difference:
    """Events of one pair alternate, so the first and the last of them say what they come to."""
    order = np.lexsort((events.added, events.t, events.v, events.e))
    e, v, added = events.e[order], events.v[order], events.added[order]
    first = run_starts(e, v)
    last = np.append(first[1:], True)[: len(order)]
    e, v, came, stays = e[first], v[first], added[first], added[last]
    return Difference((e[came & stays], v[came & stays]), (e[~came & ~stays], v[~came & ~stays]))


def _compared(before: Sequence[Int64s], after: Sequence[Int64s]) -> Difference:
    columns = [np.concatenate(each) for each in zip(before, after, strict=True)]
    is_new = np.arange(len(columns[0])) >= len(before[0])
    order = np.lexsort((is_new, *reversed(columns)))
    columns, is_new = [column[order] for column in columns], is_new[order]
    first = run_starts(*columns)
    last = np.append(first[1:], True)[: len(order)]
    # Among equal rows those of the old snapshot come first.
    only_new, only_old = is_new[first], ~is_new[last]
    rows = [column[first] for column in columns]
    return Difference(tuple(row[only_new] for row in rows), tuple(row[only_old] for row in rows))
