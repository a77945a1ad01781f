"""Pull for many entities at once: one pass over an attribute's trie for each attribute and level of a pattern.

What a level refers to is made distinct and pulled once, however many refer to it; maps share the maps within them.
Nothing looks up one entity after the other; only a recursion lays out its paths one by one (`executor.pull.paths`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.errors import invalid_argument
from adalog.datalog.pull import PullPattern, PullQuery
from adalog.datalog.values import EdnMap, Value
from adalog.executor.answer.decoding import decoded
from adalog.executor.answer.result import ranks
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pull.level import (
    ENTITY,
    MOST_LEVELS,
    MOST_VALUES,
    VALUE,
    Ids,
    PullLevel,
    enter,
    too_deep,
    too_large,
)
from adalog.executor.pull.paths import Paths
from adalog.executor.pull.queries import QueriesOfSource
from adalog.executor.pull.steps import PullNode, PullResolver, PullStep, Row
from adalog.store.files.gc_pause import uncollected
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values.layout import is_long

# Values that are entered between two looks at the deadline.
_ASSIGNED = 1 << 15


class Puller:
    """Pulls from one snapshot, until the flag or the deadline says otherwise. strict: refuse attributes that no
    schema declares. queries: answers those in patterns. Raises ARG_INVALID over a history, which holds several
    moments and so no one state of an entity; LIMIT_EXCEEDED past `most` values or MOST_LEVELS levels."""

    def __init__(
        self,
        snapshot: Snapshot,
        cancel: Cancel,
        *,
        strict: bool = False,
        most: int = MOST_VALUES,
        queries: QueriesOfSource | None = None,
    ) -> None:
        if snapshot.is_history:
            raise invalid_argument(
                "pull shows entities as they were at one moment, and a history holds many; pull from asOf or since"
            )
        self._snapshot = snapshot
        self._cancel = cancel
        self._resolver = PullResolver(snapshot, strict=strict)
        self._most = most
        self._queries = queries
        self._read = 0
        self._held = Held(cancel.budget)

    def pull(self, pattern: PullPattern, entities: Ids) -> tuple[list[EdnMap | None], int]:
        """(a map for each entity, in order, None where it has nothing of what is asked; the values in all)."""
        level = self.level(pattern, entities)
        return level.maps, int(level.sizes.sum())

    def level(self, pattern: PullPattern, entities: Ids) -> PullLevel:
        """The maps of entities, in their order."""
        known = distinct(entities) if len(entities) else entities
        with uncollected():
            level = self._level(self._resolver.node(pattern), known)
        places = np.searchsorted(known, entities)
        sizes = level.sizes[places]
        self._check(float(sizes.sum()))
        return PullLevel([level.maps[place] for place in places.tolist()], sizes, level.height)

    def pull_named(self, pattern: PullPattern, entities: Sequence[Any]) -> tuple[list[EdnMap | None], int]:
        """`pull` of numbers, idents and lookup refs; None for those that name no entity."""
        ids = [_within(self._snapshot.entid(entity)) for entity in entities]
        known = np.array([entity for entity in ids if entity is not None], np.int64)
        maps, total = self.pull(pattern, known)
        found = iter(maps)
        return [None if entity is None else next(found) for entity in ids], total

    def _level(self, node: PullNode, entities: Ids) -> PullLevel:
        """`entities` are sorted and distinct."""
        if not len(entities):
            return PullLevel([], np.empty(0), 0)
        if node.loops:
            return Paths(self, node, entities, self._cancel, self._most).level()
        rows, sizes, height = self.plain(node, entities)
        return PullLevel([node.map(row) for row in rows], sizes, height)

    def plain(self, node: PullNode, entities: Ids) -> tuple[list[Row], NDArray[np.float64], int]:
        """(entries, sizes, height) of a node without its loops; `entities` are sorted and distinct."""
        self._held.grow(ENTITY * len(entities))
        rows: list[Row] = [{} for _ in range(len(entities))]
        sizes = np.ones(len(entities))
        height = 1
        for step in node.ids:
            for row, entity in zip(rows, entities.tolist(), strict=True):
                enter(row, step, step.transformed(entity))
        for step in self._resolver.steps(node, entities):
            self._cancel.check()
            height = max(height, 1 + self._fill(step, entities, rows, sizes))
        for asked in node.queries:
            self._cancel.check()
            height = max(height, 1 + self._answer(asked, entities, rows, sizes))
        if height > MOST_LEVELS:
            raise too_deep()
        return rows, sizes, height

    def _fill(self, step: PullStep, entities: Ids, rows: list[Row], sizes: NDArray[np.float64]) -> int:
        """Adds one attribute to the rows and their sizes; the height of what it shows."""
        places, codes = self.values(step, entities)
        height = 0
        values: list[Value]
        if step.target is None:
            values = self._decoded(codes)
            sizes += np.bincount(places, minlength=len(rows))
        else:
            values, own, height = self._targets(step, step.target, entities[places], codes)
            sizes += np.bincount(places, own, minlength=len(rows))
            shown = [value is not None for value in values]
            if not all(shown):
                values = list(compress(values, shown))
                places = places[shown]
        self._assign(step, places, values, rows)
        return height

    def _answer(self, asked: PullQuery, entities: Ids, rows: list[Row], sizes: NDArray[np.float64]) -> int:
        """Adds what a query finds to the rows and their sizes; the height of that."""
        assert self._queries is not None, "patterns with queries are pulled with what answers them"
        found = self._queries(asked, entities)
        sizes += found.sizes
        self._check(float(sizes.sum()))
        key, entry = asked.key.key, asked.key.value
        for row, value in zip(rows, found.values, strict=True):
            if value is not None:
                row[key] = (entry, value)
        return found.height

    def _targets(
        self, step: PullStep, target: PullNode, parents: Ids, children: Ids
    ) -> tuple[list[Value], NDArray[np.float64], int]:
        """(maps, sizes, height) of entities that others refer to, both int64[n]."""
        known = distinct(children) if len(children) else children
        at = np.searchsorted(known, children)
        if step.expands and target.loops and len(known):
            level = Paths(self, target, known, self._cancel, self._most).level_below(parents, at)
            return list(level.maps), level.sizes, level.height
        level = self._level(target, known)
        return [level.maps[i] for i in at.tolist()], level.sizes[at], level.height

    def _decoded(self, codes: Ids) -> list[Value]:
        if len(codes) <= _ASSIGNED:
            return self._snapshot.codes.decode_many(codes)
        values: list[Value] = decoded(codes, self._snapshot.codes, self._cancel, self._held).tolist()
        return values

    def _assign(self, step: PullStep, places: Ids, values: list[Value], rows: list[Row]) -> None:
        """`places`: sorted; the row of each value."""
        if step.many:
            counts = np.bincount(places, minlength=len(rows))
            found = np.flatnonzero(counts)
            ends = np.concatenate(([0], np.cumsum(counts[found]))).tolist()
            values = [tuple(values[start:end]) for start, end in pairwise(ends)]
            places = found
        slot, entry = step.slot, step.key
        for start in range(0, len(places), _ASSIGNED):
            self._cancel.check()
            some = zip(places[start : start + _ASSIGNED].tolist(), values[start : start + _ASSIGNED], strict=True)
            if step.asked.xform is None:
                for place, value in some:
                    rows[place][slot] = (entry, value)
            else:
                for place, value in some:
                    enter(rows[place], step, step.transformed(value))
        if step.asked.default is not None and len(places) < len(rows):
            missing = np.ones(len(rows), np.bool_)
            missing[places] = False
            for place in np.flatnonzero(missing).tolist():
                rows[place][slot] = (entry, step.asked.default.value)

    def values(self, step: PullStep, entities: Ids) -> tuple[Ids, Ids]:
        """(places, codes), both int64[n]: what each of the entities has, by its place among them, in order, within
        the limit. `entities` are sorted and distinct."""
        attribute = step.attribute
        if attribute is None or not len(entities):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        keys, codes = self._snapshot.pairs_of(attribute, entities, inverse=step.asked.reverse)
        if not len(codes):
            return keys, codes
        self._read += len(codes)
        self._check(self._read)
        self._held.grow(VALUE * len(codes))
        places = np.searchsorted(entities, keys)
        first = np.ones(len(places), np.bool_)
        np.not_equal(places[1:], places[:-1], out=first[1:])
        if not step.many:
            return places[first], codes[first]
        if first.all():
            return places, codes
        if not attribute.is_ref:
            codes = codes[np.lexsort((ranks(codes, self._snapshot.codes, self._cancel), places))]
        limit = step.asked.limit
        if limit is not None:
            starts = np.flatnonzero(first)
            within = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places)))) < limit
            places, codes = places[within], codes[within]
        return places, codes

    def _check(self, number: float) -> None:
        if number > self._most:
            raise too_large(self._most)


def _within(entity: int | None) -> int | None:
    """An entity id, where the number can be one."""
    return None if entity is None or not is_long(entity) else entity
