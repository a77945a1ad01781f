"""Whether a recursion through `min` or `max` only gets better as its values do, so that it has one fixpoint.

A value that betters another moves what is computed from it the same way or the other way round; what is moved may
only be compared so that it goes on to hold, bettered again, or kept in a place of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adalog.datalog.aggregates import AGGREGATES
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.logical import FunctionAtom, Leaf, PredicateAtom, RelationAtom, everything
from adalog.planner.model.program import Branch, Stratum

# Which way a function's value goes when the argument at a place goes up.
_RISING = frozenset(("+", "inc", "dec", "identity", "min", "max"))
_LESS = {"<": 1, "<=": 1, ">": -1, ">=": -1}


def not_monotone(stratum: Stratum) -> str:
    """Why a stratum with recursive aggregates is not known to be monotone; empty where it is."""
    for each in stratum.relations:
        names = [name for name in each.aggregates if name is not None]
        if each.aggregates and (len(names) != 1 or not AGGREGATES[names[0]].better):
            return f"the rule {each.rule} recurs through ({' …) and ('.join(names)} …)"
    return _Moved(stratum).why()


class _Moved:
    """The places of a stratum's relations that hold values which are bettered, and which way they go."""

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.own = {each.name: each for each in stratum.relations}
        self.places: dict[tuple[str, int], int] = {
            (each.name, i): AGGREGATES[name].better
            for each in stratum.relations
            for i, name in enumerate(each.aggregates)
            if name is not None
        }

    def why(self) -> str:
        known = -1
        while known != len(self.places):
            known = len(self.places)
            for name, branch in self.stratum.rules:
                if why := self._branch(name, branch):
                    return why
        return ""

    def _branch(self, target: str, branch: Branch) -> str:
        leaves = list(everything(branch.body))
        relation = self.own[target]
        refused = f"the rule {relation.rule} uses a value of its recursion in another way than to better it"
        goes: dict[str, int] = {}
        for leaf in leaves:
            if isinstance(leaf, RelationAtom):
                for place, term in enumerate(leaf.terms):
                    way = self.places.get((leaf.relation, place))
                    if way is None:
                        continue
                    if not isinstance(term, str | None) or (term is not None and goes.setdefault(term, way) != way):
                        return refused
        grown = True
        while grown:
            grown = False
            for leaf in leaves:
                if isinstance(leaf, FunctionAtom) and leaf.out not in goes and any(a in goes for a in leaf.args):
                    found = _way(leaf, goes)
                    if found is None:
                        return refused
                    goes[leaf.out] = found
                    grown = True
        bound = Counter(name for leaf in leaves for name in leaf.gives)
        if (
            goes.keys() & set(branch.given)
            or any(bound[name] > 1 for name in goes)
            or not all(self._stays_true(leaf, goes) for leaf in leaves)
        ):
            return refused
        for place, name in enumerate(branch.head):
            way = goes.get(name)
            if way is not None and (relation.magic or self.places.setdefault((target, place), way) != way):
                return refused
        return ""

    def _stays_true(self, leaf: Leaf, goes: dict[str, int]) -> bool:
        """Whether a leaf goes on to hold when the values in it get better."""
        match leaf:
            case RelationAtom():
                moved = [place for place, term in enumerate(leaf.terms) if term in goes]
                return all((leaf.relation, place) in self.places for place in moved)
            case FunctionAtom():
                return leaf.out not in goes or _way(leaf, goes) is not None
            case PredicateAtom():
                moved = [place for place, term in enumerate(leaf.args) if term in goes]
                if not moved:
                    return True
                way = _LESS.get(leaf.name)
                return (
                    way is not None
                    and len(leaf.args) == 2
                    and all(goes[str(leaf.args[place])] == (-way if place == 0 else way) for place in moved)
                )
            case _:
                return goes.keys().isdisjoint(leaf.mentions)


def _way(leaf: FunctionAtom, goes: dict[str, int]) -> int | None:
    """Which way a function's value goes; None where that is not known."""
    known = [goes.get(each, 0) if isinstance(each, str) else 0 for each in leaf.args]
    tree = leaf.tree or CallTree(leaf.name, tuple(range(len(leaf.args))))
    return _way_of(tree, known) or None


def _way_of(tree: int | CallTree, known: Sequence[int]) -> int | None:
    """The same of a part of a call; 0 where it stays. `known`: of the arguments."""
    if isinstance(tree, int):
        return known[tree]
    ways = [_way_of(each, known) for each in tree.args]
    if tree.name == "-" and len(ways) == 2 and ways[1] is not None:
        ways[1] = -ways[1]
    moved = set(ways) - {0}
    if not moved:
        return 0
    rises = tree.name in _RISING or (tree.name == "-" and len(ways) == 2)
    return moved.pop() if rises and len(moved) == 1 else None
