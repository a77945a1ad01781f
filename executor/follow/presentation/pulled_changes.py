"""The entities whose maps a pull may show differently at two moments, found from the datoms that changed.

From each entity of which something was written that the pattern reads, its steps lead back to the entities that
show it. A pair of a step that held at the first moment alone is itself such a change, so the others are found at
the second moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from adalog.datalog.pull import PullQuery
from adalog.executor.extenders.changes import Moments
from adalog.executor.pull.steps import PullNode, PullResolver, PullStep
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import Attribute

# Entities beyond which it is sooner to pull what is shown than to find out of what it changed.
_MOST: Final = 1 << 16
_NOTHING: Final[Int64s] = np.empty(0, np.int64)


class _TooManyError(Exception):
    """So many entities that all are to be looked at."""


class PulledChanges:
    """Between two moments with the same schema. `resolver`: of the second one. `answers`: the entities for which a
    query in a pattern may find something else; None: any may be one. `moved`: entities of which something else is
    visible, whatever was written."""

    def __init__(
        self,
        tick: Moments,
        resolver: PullResolver,
        answers: Callable[[PullQuery], Int64s | None],
        moved: Int64s = _NOTHING,
    ) -> None:
        self.tick = tick
        self.moved = moved
        self._answers = answers
        self.resolver = resolver
        self._found: dict[int, tuple[PullNode, Int64s]] = {}

    def entities(self, node: PullNode) -> Int64s | None:
        """Those of which a node may show something else, sorted and distinct; None: any may be one."""
        try:
            return self._entities(node)
        except _TooManyError:
            return None

    def _entities(self, node: PullNode) -> Int64s:
        known = self._found.get(id(node))
        if known is None:
            # The node is kept with what was found, so that no other has its number.
            known = self._found[id(node)] = node, self._of_node(node)
        return known[1]

    def _of_node(self, node: PullNode) -> Int64s:
        found = [self.moved]
        for asked in node.queries:
            answers = self._answers(asked)
            if answers is None:
                raise _TooManyError
            found.append(answers)
        found += (self._written(attribute, reverse=False) for attribute in self._attributes(node))
        for step in (*node.steps, *node.loops, *self.resolver.expanded(node)):
            if step.attribute is None:
                continue
            found.append(self._written(step.attribute, reverse=step.asked.reverse))
            if step.target is not None:
                found.append(self._showing(step, self._entities(step.target)))
        entities = frontier = _few(distinct(np.concatenate(found)))
        while node.loops and len(frontier):
            above = distinct(np.concatenate([self._showing(step, frontier) for step in node.loops]))
            frontier = above[~np.isin(above, entities)]
            entities = _few(distinct(np.concatenate((entities, frontier))))
        return entities

    def _attributes(self, node: PullNode) -> Iterator[Attribute]:
        """Those written in between that a `*` shows."""
        if node.others is not None:
            for attribute in self.tick.new.attributes():
                if attribute.ident not in node.others and self.tick.touches(attribute.id):
                    yield attribute

    def _written(self, attribute: Attribute, *, reverse: bool) -> Int64s:
        change, side = self.tick.changed(attribute.id), 1 if reverse else 0
        return np.concatenate((change.added[side], change.removed[side]))

    def _showing(self, step: PullStep, entities: Int64s) -> Int64s:
        """The entities of which a step shows one of others."""
        if step.attribute is None or not len(entities):
            return np.empty(0, np.int64)
        new = self.tick.new
        trie = new.ev(step.attribute) if step.asked.reverse else new.ve(step.attribute)
        return trie.pairs_of(entities)[1] if trie.rows else np.empty(0, np.int64)


def _few(entities: Int64s) -> Int64s:
    if len(entities) > _MOST:
        raise _TooManyError
    return entities
