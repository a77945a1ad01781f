"""Recursion in a pull: the entities within reach are read level by level, then each path is laid out.

What an entity shows depends on the path to it only where that comes through something the entity leads back to. So
maps are kept by entity and remaining depths, with what may not be on a path for the map to hold there, too.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.pull import DB_ID
from adalog.datalog.values import EdnMap, Value, identity
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pull.level import ENTITY, MOST_LEVELS, VALUE, Ids, PullLevel, enter, too_deep, too_large
from adalog.executor.pull.steps import PullNode, PullStep, Row
from adalog.store.tries.trie import among, distinct

_CHECK_EVERY = 1024
# A map that leads to more entities on cycles than these is laid out anew for every path.
_MOST_WITHIN = 256
_ID_IDENTITY = identity(DB_ID)

Depths = tuple[int | None, ...]
"""How often each recursion may still be followed."""


class AttributeReader(Protocol):
    def plain(self, node: PullNode, entities: Ids) -> tuple[list[Row], NDArray[np.float64], int]:
        """(entries, sizes, height) of a node without its loops."""

    def values(self, step: PullStep, entities: Ids) -> tuple[Ids, Ids]:
        """(places among the entities, codes)."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """hits: entities that the path had come through and that the map therefore shows by their ids only. within: the
    entities it leads to that may be on a cycle, itself included; None where they are too many."""

    map: EdnMap | None
    size: float
    height: int
    hits: Set[int]
    within: Set[int] | None


class Paths:
    """One recursive node over some entities, which are sorted and distinct."""

    def __init__(self, reader: AttributeReader, node: PullNode, entities: Ids, cancel: Cancel, most: int) -> None:
        self._reader = reader
        self._node = node
        self._entities = entities
        self._cancel = cancel
        self._most = most
        self._made = 0
        self._held = Held(cancel.budget)
        self._kept: dict[tuple[int, Depths], _Shown] = {}

    def level(self) -> PullLevel:
        self._begin()
        return self._level([(at, None) for at in np.searchsorted(self._known, self._entities).tolist()])

    def level_below(self, parents: Ids, children: Ids) -> PullLevel:
        """The maps of entities on paths. parents: int64[n], ids. children: int64[n], places among the entities."""
        self._begin()
        places = np.searchsorted(self._known, self._entities)[children].tolist()
        before = np.minimum(np.searchsorted(self._known, parents), len(self._known) - 1)
        reached = self._known[before] == parents
        return self._level(
            [
                (at, parent if known else None)
                for at, parent, known in zip(places, before.tolist(), reached.tolist(), strict=True)
            ]
        )

    def _begin(self) -> None:
        self._known, edges = self._reach()
        self._ids = self._known.tolist()
        self._rows, sizes, self._height = self._reader.plain(self._node, self._known)
        self._entries = max(map(len, self._rows), default=0)
        self._sizes = sizes.tolist()
        self._children = [self._by_parent(parents, children) for parents, children in edges]
        self._cyclic = _maybe_cyclic(len(self._known), edges)

    def _level(self, begun: Sequence[tuple[int, int | None]]) -> PullLevel:
        """The maps of entities by their places, each with the place of the one that its path begins with."""
        depths = tuple(step.depth for step in self._node.loops)
        shown = [
            _Shown(self._seen(at), 1, 1, frozenset(), None)
            if at == parent
            else self._show(at, depths, set() if parent is None else {parent}, 1)
            for at, parent in begun
        ]
        return PullLevel(
            [each.map for each in shown],
            np.array([each.size for each in shown], np.float64),
            max((each.height for each in shown), default=1),
        )

    def _reach(self) -> tuple[Ids, list[tuple[Ids, Ids]]]:
        """(all entities within reach, per loop the places of parents and children among them, in order). Nothing is
        read of the entities that only as many steps as there are rounds lead to: their paths end there."""
        loops = self._node.loops
        rounds = MOST_LEVELS
        if all(step.depth is not None for step in loops):
            rounds = min(rounds, sum(step.depth or 0 for step in loops))
        known = frontier = self._entities
        found: list[list[tuple[Ids, Ids]]] = [[] for _ in loops]
        for _ in range(rounds):
            if not len(frontier):
                break
            self._cancel.check()
            for step, pairs in zip(loops, found, strict=True):
                places, children = self._reader.values(step, frontier)
                pairs.append((frontier[places], children))
            reached = distinct(np.concatenate([pairs[-1][1] for pairs in found]))
            frontier = reached[~among(reached, known)]
            known = distinct(np.concatenate((known, frontier)))
        return known, [self._placed(known, pairs) for pairs in found]

    @staticmethod
    def _placed(known: Ids, pairs: Sequence[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
        parents = np.concatenate([each[0] for each in pairs])
        children = np.concatenate([each[1] for each in pairs])
        return np.searchsorted(known, parents), np.searchsorted(known, children)

    def _by_parent(self, parents: Ids, children: Ids) -> list[Sequence[int]]:
        order = np.argsort(parents, kind="stable")
        ends = np.cumsum(np.bincount(parents, minlength=len(self._ids)))
        listed = children[order].tolist()
        rows: list[Sequence[int]] = []
        start = 0
        for end in ends.tolist():
            rows.append(listed[start:end])
            start = end
        return rows

    def _show(self, at: int, depths: Depths, path: set[int], level: int) -> _Shown:
        """The map of the entity at a place among the known, reached over `path`, itself not on it."""
        kept = self._kept.get((at, depths))
        if kept is not None and kept.within is not None and path.isdisjoint(kept.within):
            if level + kept.height - 1 > MOST_LEVELS:
                raise too_deep()
            return kept
        if level + self._height - 1 > MOST_LEVELS:
            raise too_deep()
        self._made += 1
        if self._made % _CHECK_EVERY == 0:
            self._cancel.check()
            self._held.grow(_CHECK_EVERY * (ENTITY + VALUE * (self._entries + len(self._node.loops))))
        path.add(at)
        made = self._lay_out(at, depths, path, level)
        path.discard(at)
        if made.size > self._most or self._made > self._most:
            raise too_large(self._most)
        if not made.hits and made.within is not None:
            self._kept[at, depths] = made
        return made

    def _lay_out(self, at: int, depths: Depths, path: set[int], level: int) -> _Shown:
        """The map of an entity; `path` ends with it."""
        row = dict(self._rows[at])
        size: float = self._sizes[at]
        height = self._height
        hits: set[int] = set()
        within: set[int] | None = {at}
        for number, step in enumerate(self._node.loops):
            depth = depths[number]
            values: list[Value] = []
            if depth != 0:
                after = depths if depth is None else (*depths[:number], depth - 1, *depths[number + 1 :])
                for child in self._children[number][at]:
                    if child in path:
                        values.append(self._seen(child))
                        hits.add(child)
                        size += 1
                        height = max(height, 2)
                        continue
                    shown = self._show(child, after, path, level + 1)
                    hits |= shown.hits
                    within = _united(within, shown.within)
                    if shown.map is not None:
                        values.append(shown.map)
                        size += shown.size
                        height = max(height, 1 + shown.height)
            _enter_loop(row, step, values)
        hits.discard(at)
        if not self._cyclic[at]:
            # Whatever leads here is not among what this leads to.
            within = set()
        return _Shown(self._node.map(row), size, height, hits, within)

    def _seen(self, at: int) -> EdnMap:
        """`{:db/id n}`: all that is shown of an entity that the path has come through."""
        return EdnMap.told_apart({_ID_IDENTITY: (DB_ID, self._ids[at])})


def _united(within: set[int] | None, more: Set[int] | None) -> set[int] | None:
    if within is None or more is None or len(within) + len(more) > _MOST_WITHIN:
        return None
    within |= more
    return within


def _enter_loop(row: Row, step: PullStep, values: list[Value]) -> None:
    if values:
        enter(row, step, step.transformed(tuple(values) if step.many else values[0]))
    elif step.asked.default is not None:
        enter(row, step, step.asked.default.value)


def _maybe_cyclic(count: int, edges: Sequence[tuple[Ids, Ids]]) -> list[bool]:
    """Which of the entities may be on a cycle: those left when nothing is without a way in or a way out."""
    parents = np.concatenate([each[0] for each in edges])
    children = np.concatenate([each[1] for each in edges])
    alive = np.ones(count, np.bool_)
    left = count
    while True:
        live = alive[parents] & alive[children]
        parents, children = parents[live], children[live]
        alive = np.zeros(count, np.bool_)
        alive[parents] = True
        inward = np.zeros(count, np.bool_)
        inward[children] = True
        alive &= inward
        remaining = int(alive.sum())
        if remaining == left or not remaining:
            return alive.tolist()
        left = remaining
