"""Whether a recursion through `min` or `max` only gets better as its values do, so that it has one fixpoint.

A value that betters another moves what is computed from it the same way or the other way round; what is moved may
only be compared so that it goes on to hold, bettered again, or kept in a place of its own.

That is so of numbers. A duration of months changes the order of instants: 30 January, 10:00, is before 31 January,
09:00, and a month later it is after it. So every addend has to be a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adalog.datalog.aggregates import AGGREGATES
from adalog.datalog.ast import Const, Source
from adalog.datalog.values import NUMERIC, type_name
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.leaf import Term
from adalog.planner.model.logical import DatomAtom, FunctionAtom, Leaf, PredicateAtom, RelationAtom, everything
from adalog.planner.model.program import Branch, Program, Stratum
from adalog.store.snapshot.snapshot import Snapshot

# Which way a function's value goes when the argument at a place goes up.
_RISING = frozenset(("+", "inc", "dec", "identity", "min", "max"))
_OF_NUMBERS = frozenset(("inc", "dec"))
_SUMS = frozenset(("+", "-"))
# Whose value is one of the arguments.
_SAME = frozenset(("ground", "identity", "min", "max"))
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
    return _way_of(_tree(leaf), known) or None


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


def adds_others(program: Program, databases: Mapping[str, Snapshot]) -> str:
    """Why a recursion through aggregates may add to something else than numbers; empty where it does not."""
    numbers = _Numbers(program, databases)
    for stratum in program.strata:
        if not (stratum.recursive and any(each.aggregates for each in stratum.relations)):
            continue
        rule_of = {each.name: each.rule for each in stratum.relations}
        for name, branch in stratum.rules:
            if not numbers.are_all_added(branch):
                return f"the rule {rule_of[name]} may add durations, and these may change the order of instants"
    return ""


class _Numbers:
    """The places of a program's relations that hold numbers alone, under the schema of databases."""

    def __init__(self, program: Program, databases: Mapping[str, Snapshot]) -> None:
        self._databases = databases
        branches = [each for stratum in program.strata for each in stratum.rules]
        # All are taken for numbers until a rule derives something else there.
        self._places = {(name, place) for name, branch in branches for place in range(len(branch.head))}
        size = -1
        while size != len(self._places):
            size = len(self._places)
            for name, branch in branches:
                known = self._variables(branch)
                self._places -= {(name, place) for place, each in enumerate(branch.head) if each not in known}

    def are_all_added(self, branch: Branch) -> bool:
        known = self._variables(branch)
        calls = [each for each in everything(branch.body) if isinstance(each, FunctionAtom)]
        return all(self._is_sound(_tree(each), each.args, known) for each in calls)

    def _is_sound(self, tree: int | CallTree, args: Sequence[Term | Source], known: set[str]) -> bool:
        if isinstance(tree, int):
            return True
        is_known = tree.name not in _SUMS or self._is_number(tree, args, known)
        return is_known and all(self._is_sound(each, args, known) for each in tree.args)

    def _variables(self, branch: Branch) -> set[str]:
        """The variables of a rule that are numbers."""
        leaves, known = list(everything(branch.body)), set[str]()
        for leaf in leaves:
            if isinstance(leaf, DatomAtom) and isinstance(leaf.value, str) and self._holds_numbers(leaf):
                known.add(leaf.value)
            elif isinstance(leaf, RelationAtom):
                placed = enumerate(leaf.terms)
                known |= {
                    term for at, term in placed if isinstance(term, str) and (leaf.relation, at) in self._places
                }
        size = -1
        while size != len(known):
            size = len(known)
            for leaf in leaves:
                if isinstance(leaf, FunctionAtom) and self._is_number(_tree(leaf), leaf.args, known):
                    known.add(leaf.out)
        return known

    def _holds_numbers(self, leaf: DatomAtom) -> bool:
        database = self._databases.get(leaf.source)
        if database is None or not isinstance(leaf.attribute, Const):
            return False
        attribute = database.attribute(leaf.attribute.value)
        return attribute is not None and attribute.kind.value_type in NUMERIC

    def _is_number(self, tree: int | CallTree, args: Sequence[Term | Source], known: set[str]) -> bool:
        if isinstance(tree, int):
            term = args[tree]
            return term in known if isinstance(term, str) else _is_number_as_written(term)
        found = (self._is_number(each, args, known) for each in tree.args)
        if tree.name in _SUMS:
            # Numbers are added to numbers alone.
            return any(found)
        return tree.name in _OF_NUMBERS or (tree.name in _SAME and all(found))


def _is_number_as_written(term: Term | Source) -> bool:
    return isinstance(term, Const) and type_name(term.value) in NUMERIC


def _tree(leaf: FunctionAtom) -> CallTree:
    return leaf.tree or CallTree(leaf.name, tuple(range(len(leaf.args))))
