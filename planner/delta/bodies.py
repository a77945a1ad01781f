"""What a change makes of a conjunction: a body for each atom that reads what changed, that atom reading the change.

Atoms before it read the state after the change and atoms after it the state before, so the bodies together give
each new combination of rows once (the product rule). A recursion evaluates them in rounds.

Source: Bancilhon, "Naive evaluation of recursively defined relations", 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from adalog.datalog.ast import Source
from adalog.datalog.builtins import BUILTINS
from adalog.planner.model.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    Leaf,
    Node,
    OrNode,
    PredicateAtom,
    RelationAtom,
    everything,
    leaves,
    rewritten,
)
from adalog.planner.model.version import Split

Atom = DatomAtom | RelationAtom

SplitOf = Callable[[Atom], Split | None]
"""How the change of what an atom reads is split up; None where that does not change."""


@dataclass(frozen=True, slots=True)
class DeltaBody:
    """`changed`: the atom that reads the change, as it stood."""

    changed: Atom
    body: AndNode


def occurrences(node: Node, split: SplitOf) -> int:
    """How many atoms below a node read what changes, those in a `not` left out."""
    return sum(isinstance(leaf, Atom) and split(leaf) is not None for leaf in leaves(node))


def delta_bodies(body: AndNode, split: SplitOf) -> Iterator[DeltaBody]:
    """A body for each occurrence of an atom that reads what changes, none of them in a `not`.

    Of an `or` only the branch with the occurrence is left: rows of the other branches are not new, or another body
    derives them.
    """
    for place, item in enumerate(body.items):
        before = tuple(_all_as(each, split, after=False) for each in body.items[:place])
        after = tuple(_all_as(each, split, after=True) for each in body.items[place + 1 :])
        for each in _changes(item, split):
            yield replace(each, body=AndNode((*before, *each.body.items, *after)))


def _changes(node: Node, split: SplitOf) -> Iterator[DeltaBody]:
    """The same of one item of a body."""
    match node:
        case DatomAtom() | RelationAtom():
            found = split(node)
            if found is not None:
                yield DeltaBody(node, AndNode((replace(node, version=found.at),)))
        case AndNode():
            yield from delta_bodies(node, split)
        case OrNode():
            for branch in node.branches:
                yield from delta_bodies(branch, split)
        case _:
            pass


def _all_as(node: Node, split: SplitOf, *, after: bool) -> Node:
    """The node with the atoms that read what changes before the one that reads the change, or after it."""

    def change(leaf: Leaf) -> Node:
        found = split(leaf) if isinstance(leaf, Atom) else None
        if found is None:
            return leaf
        assert isinstance(leaf, Atom)
        return replace(leaf, version=found.after if after else found.before)

    return rewritten(node, change)


def before_change(body: AndNode, split: SplitOf) -> AndNode | None:
    """What of a body can hold where nothing that changes is there yet: an `or` without its branches that read it;
    None: nothing can."""
    items: list[Node] = []
    for item in body.items:
        left: Node | None = item
        match item:
            case RelationAtom() | DatomAtom() if split(item) is not None:
                left = None
            case AndNode():
                left = before_change(item, split)
            case OrNode():
                kept = {i: each for i, branch in enumerate(item.branches) if (each := before_change(branch, split))}
                place = {old: new for new, old in enumerate(kept)}
                local_to = tuple((name, place[owner]) for name, owner in item.local_to if owner in place)
                left = replace(item, branches=tuple(kept.values()), local_to=local_to) if kept else None
            case _:
                pass
        if left is None:
            return None
        items.append(left)
    return AndNode(tuple(items))


def looks_elsewhere(body: AndNode, sources: frozenset[str]) -> Leaf | None:
    """A clause that looks into one of the databases without being a pattern: a call such as `(get-else $ …)`, or a
    query within the query. What a change makes of it no delta body says."""
    for leaf in everything(body):
        if isinstance(leaf, FunctionAtom | RelationAtom) and leaf.subquery is not None:
            if sources.intersection(outside for _, outside in leaf.subquery.sources):
                return leaf
        elif isinstance(leaf, FunctionAtom | PredicateAtom) and leaf.name in BUILTINS:
            named = {argument.name for argument in leaf.args if isinstance(argument, Source)}
            if BUILTINS[leaf.name].needs_database and (named or {"$"}) & sources:
                return leaf
    return None
