"""How the change of a body is split up into versions of its atoms: one table of splits for rounds and for moments.

A `Split` is what the delta compiler (`planner.delta.bodies`) knows of a leaf. It is the only difference between a
recursion's rounds, the reactions of a live query and the rules of a program that is kept up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from adalog.planner.model.logical import AndNode, DatomAtom, Leaf, Node, RelationAtom, in_body
from adalog.planner.model.lookups import Call
from adalog.planner.model.version import Version

Atom = DatomAtom | RelationAtom

Moves = Callable[[Leaf], bool]
"""Whether the data that a leaf reads can differ between two moments."""


@dataclass(frozen=True, slots=True)
class Split:
    """The versions of a leaf over changed data: `before` where it stands before the atom that reads the delta, `at`
    where it is that atom, `after` where it stands behind it. `at` is None where no body begins with this leaf."""

    before: Version
    at: Version | None
    after: Version


Splits = Callable[[Leaf], Split | None]
"""The split of a leaf; None where the data that it reads does not change."""

ROUND = Split(Version.ALL, Version.RECENT, Version.OLDER)
"""Of a round of a recursion: each combination of rows that has a recent one is found once."""

LATTICE_ROUND = Split(Version.ALL, Version.RECENT, Version.ALL)
"""The same of relations whose values get better: displaced rows are not among the older ones, so all are read."""

APPEARS = Split(Version.NEW, Version.CAME, Version.NEW)
"""Of what holds at the second moment by a row that came: each such combination of rows is found."""

VANISHES = Split(Version.OLD, Version.WENT, Version.OLD)
"""Of what held at the first moment by a row that went."""

LATEST = Split(Version.NEW, None, Version.NEW)
"""Of facts that are read as they are known by then, and begin no body."""


def moving_database(source: str) -> Moves:
    """Only this database moves."""
    return lambda leaf: source in leaf.reads


def is_derived(leaf: Node) -> bool:
    return isinstance(leaf, RelationAtom) and leaf.derived


def with_derived(moves: Moves) -> Moves:
    """The same, and what rules derive."""
    return lambda leaf: is_derived(leaf) or moves(leaf)


def versioned(body: AndNode, version_of: Callable[[Leaf], Version | None]) -> AndNode:
    """The body with some of its atoms and calls at another version, those in a `not` included."""

    def change(leaf: Leaf) -> Node:
        version = version_of(leaf) if isinstance(leaf, Atom | Call) else None
        if version is None:
            return leaf
        assert isinstance(leaf, Atom | Call)
        return replace(leaf, version=version)

    return in_body(body, change)


def at_version(body: AndNode, moves: Moves, version: Version) -> AndNode:
    return versioned(body, lambda leaf: version if moves(leaf) else None)
