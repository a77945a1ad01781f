"""Transitive rules, `[(p ?x ?y) (p ?x ?z) (p ?z ?y)]`: what a fact of one follows from, by halves of a way.

The plan derives such a rule's facts one step at a time; a step is what its other rules derive. So the tables lack
the facts between two inner points of a way, and a way is found by walking back from its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.datalog import ast
from adalog.executor.derivations.bodies import Bodies
from adalog.executor.derivations.heights import HEIGHT
from adalog.executor.derivations.tabled import table_of

Call = tuple[str, str, tuple[int, ...]]
"""A rule, the source that is `$` in it, and the codes of its arguments."""

_START, _FROM, _TO = (ast.Var(f"{HEIGHT} {name}") for name in ("start", "from", "to"))
_LOWER, _HIGHER = (ast.Var(f"{HEIGHT} of {each.name}") for each in (_FROM, _TO))
_STEP: Final = "$steps of "


def step_of(name: str, source: str) -> str:
    """The rule of a transitive rule's single steps where `$` is this source."""
    return _STEP + table_of(name, source)


@dataclass(frozen=True)
class _Steps:
    """The ways from one point: `first`, the points one step away; for other points that are reached the one before
    them."""

    first: frozenset[int]
    before: Mapping[int, int]


@dataclass
class Chains:
    """`bodies`: runs clauses that read the tables of facts and call the rules that `step_of` names."""

    bodies: Bodies
    _steps: dict[Call, _Steps] = field(default_factory=dict)
    _ways: dict[Call, Sequence[int]] = field(default_factory=dict)

    def middle(self, call: Call) -> int | None:
        """The point in the middle of the way that a call's fact stands for; None if it is a single step."""
        name, source, (start, end) = call
        way = self._ways.get(call)
        if way is None:
            way = self._way(name, source, start, end)
        if len(way) == 2:
            return None
        place = len(way) // 2
        # The halves of one way have no fact twice, so the derivation of none leads back to itself.
        for half in (way[: place + 1], way[place:]):
            self._ways[name, source, (half[0], half[-1])] = half
        return way[place]

    def _way(self, name: str, source: str, start: int, end: int) -> Sequence[int]:
        """The points from start to end, a step apart."""
        origin = name, source, (start,)
        steps = self._steps.get(origin)
        if steps is None:
            steps = self._steps[origin] = self._from(name, source, start)
        way = [end]
        while way[-1] not in steps.first:
            way.append(steps.before[way[-1]])
        return [start, *reversed(way)]

    def _from(self, name: str, source: str, start: int) -> _Steps:
        table, step = ast.Source(table_of(name, source)), step_of(name, source)
        given = {_START.name: start}
        first = self.bodies.columns([ast.RuleCall(step, (_START, _TO), ast.Source("$"))], given)
        found = self.bodies.columns(
            [
                ast.Pattern(table, (_START, _FROM, _LOWER)),
                ast.RuleCall(step, (_FROM, _TO), ast.Source("$")),
                ast.Pattern(table, (_START, _TO, _HIGHER)),
                ast.Predicate("<", (_LOWER, _HIGHER)),
            ],
            given,
        )
        # The lowest fact that leads to a point is that of a shortest way.
        lowest_last = np.lexsort((found[_FROM.name], found[_LOWER.name]))[::-1]
        before = zip(*(found[each.name][lowest_last].tolist() for each in (_TO, _FROM)), strict=True)
        return _Steps(frozenset(first[_TO.name].tolist()), dict(before))
