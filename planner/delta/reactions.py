"""What a changed row of an atom makes of an answer: a body for each occurrence of an atom and each direction.

A head may enter by a row that came, joined with everything else at the second moment; it may leave by a row that
went, joined with everything else at the first one. So a candidate is in one of the two answers by construction, and
what is left to ask is whether it is in the other one, too: the check, the body at the other moment as a `not`.

A `not` counts the other way round: its derivations that vanish let heads in, those that appear put heads out. They
are joined with what surrounds the `not` at the moment of the heads, where the `not` itself must hold; and so on for
a `not` within a `not`. Of an `or` the branch with the occurrence is joined with what surrounds the `or`.

The check is left out where the head determines the variables of the atom that changed (of the outermost `not`
around it), outside an `or`: whatever derived the head at the other moment would have needed that very row, or that
very `not` to hold. What the head determines is also said by the schema, as long as the rows stay as they are: an
entity has one value of an attribute of cardinality one, and a value of a unique attribute one entity. So a reaction
may have a body without the check, for the steps in which those attributes were not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from adalog.datalog.ast import Const, Source
from adalog.datalog.builtins import BUILTINS
from adalog.planner.model.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    Leaf,
    Node,
    NotNode,
    OrNode,
    PredicateAtom,
    RelationAtom,
    leaves,
    rewritten,
    variables,
    with_terms,
)
from adalog.planner.model.version import APPEARS, VANISHES, Split, Version
from adalog.planner.order.dependencies import FunctionalDependency, dependencies_of, determined_by
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.resolve import attribute_of
from adalog.store.values.attribute import Attribute

Atom = DatomAtom | RelationAtom
Call = PredicateAtom | FunctionAtom

Moves = Callable[[Leaf], bool]
"""Whether what a leaf reads may be another at the second moment."""

LOOKUPS = frozenset({"get-else", "get-some", "missing?"})
"""Built-ins that look up attributes of one entity."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """`changed`: the atom whose rows came or went, by its version. `enters`: whether the heads may enter or may
    leave. `body`: what those rows are joined with, the check included. `sure`: the same without the check, for
    steps that leave the rows of all of `still` as they are; None where there is a check always, or none."""

    changed: Atom
    enters: bool
    body: AndNode
    sure: AndNode | None = None
    still: frozenset[Attribute] = frozenset()


@dataclass(frozen=True, slots=True)
class LastingDependency:
    """A dependency that holds at both moments alike. `by`: as long as this attribute's rows stay; None: always."""

    dependency: FunctionalDependency
    by: Attribute | None


@dataclass(frozen=True, slots=True)
class _Found:
    """Derivations of a conjunction that need a changed row. `items`: what the row is joined with. `stake`: the
    variables that tell which one of what the conjunction asks for is at stake. `optional`: the conjunction may hold
    without it. `again`: what must not have held at the other moment, where a changed row does not say so."""

    changed: Atom
    items: tuple[Node, ...]
    stake: frozenset[str]
    optional: bool = False
    again: Node | None = None


def moving_database(source: str) -> Moves:
    """Only this database moves."""

    def moves(leaf: Leaf) -> bool:
        if isinstance(leaf, DatomAtom):
            return leaf.source == source
        return isinstance(leaf, Call) and database_of(leaf) == source

    return moves


def is_derived(leaf: Node) -> bool:
    """Whether it reads what rules derive."""
    return isinstance(leaf, RelationAtom) and leaf.derived


def with_derived(moves: Moves) -> Moves:
    """The same, and what rules derive."""
    return lambda leaf: is_derived(leaf) or moves(leaf)


def database_of(leaf: Call) -> str | None:
    """The database that a call looks into, if it does."""
    if leaf.name not in BUILTINS or not BUILTINS[leaf.name].needs_database:
        return None
    named = [argument.name for argument in leaf.args if isinstance(argument, Source)]
    return named[0] if named else "$"


def reactions(
    body: AndNode,
    head: Sequence[str],
    moves: Moves,
    fixed: frozenset[str] = frozenset(),
    determined: frozenset[str] = frozenset(),
    dependencies: Sequence[LastingDependency] = (),
) -> Iterator[Reaction]:
    """The reactions of a body. `fixed`: variables that have one value, as constants do. `determined`: those that
    have one value for each head. `dependencies`: of the body's variables."""
    known = fixed.union(head, determined)
    for split in (APPEARS, VANISHES):
        other = VANISHES if split is APPEARS else APPEARS
        for found in _derivations(body.items, moves, split):
            lean = found.items
            if found.again is not None:
                lean = (*lean, _negated((found.again,), variables(found.again)))
            still = None if found.optional else _determining(found, known, dependencies)
            if still is not None and not still:
                yield Reaction(found.changed, split is APPEARS, AndNode(lean))
                continue
            shared = fixed.intersection(body.names).union(head)
            checked = AndNode((*found.items, _negated(_as(body.items, moves, other), shared)))
            if still is None:
                yield Reaction(found.changed, split is APPEARS, checked)
            else:
                yield Reaction(found.changed, split is APPEARS, checked, AndNode(lean), still)


def at_version(body: AndNode, moves: Moves, version: Version) -> AndNode:
    """The body with what moves at one of the two moments."""
    return AndNode(_as(body.items, moves, APPEARS if version is Version.NEW else VANISHES))


def _derivations(items: Sequence[Node], moves: Moves, split: Split) -> Iterator[_Found]:
    """The derivations of a conjunction that appear or vanish."""
    for place, item in enumerate(items):
        others = _as((*items[:place], *items[place + 1 :]), moves, split)
        for found in _of(item, moves, split):
            yield replace(found, items=(*found.items, *others))


def _of(item: Node, moves: Moves, split: Split) -> Iterator[_Found]:
    other = VANISHES if split is APPEARS else APPEARS
    match item:
        case DatomAtom() | RelationAtom() if moves(item):
            # A row stands for its pair alone where every place is named.
            again = replace(item, version=other.after)
            vague = None in item.terms[:3]
            yield _Found(replace(item, version=split.at), (), variables(item), again=again if vague else None)
        case PredicateAtom() | FunctionAtom() if moves(item):
            # The call at this moment, for every entity of which anything that it looks up changed.
            now = replace(item, version=split.after)
            before = replace(item, version=other.after)
            for touched in looked_up(item):
                for at in (Version.CAME, Version.WENT):
                    yield _Found(replace(touched, version=at), (now,), variables(item), again=before)
        case AndNode():
            yield from _derivations(item.items, moves, split)
        case OrNode():
            for branch in item.branches:
                for found in _derivations(branch.items, moves, split):
                    yield replace(found, optional=True)
        case NotNode():
            for found in _derivations(item.items, moves, other):
                itself = _negated(_as(item.items, moves, split), variables(item))
                yield _Found(found.changed, (itself, *found.items), variables(item))
        case _:
            pass


def looked_up(call: Call) -> Iterator[DatomAtom]:
    """A pattern for each attribute that a call looks up."""
    source = database_of(call)
    assert source is not None
    entity, *rest = (argument for argument in call.args if not isinstance(argument, Source))
    for attribute in rest[:1] if call.name == "get-else" else rest:
        yield DatomAtom(source, entity, attribute, None, position=call.position)


def _as(items: Sequence[Node], moves: Moves, split: Split) -> tuple[Node, ...]:
    """The items with what moves at one moment."""

    def change(leaf: Leaf) -> Node:
        if isinstance(leaf, Atom | Call) and moves(leaf):
            return replace(leaf, version=split.after)
        return leaf

    return tuple(rewritten(item, change) for item in items)


def _negated(items: Sequence[Node], shared: frozenset[str]) -> NotNode:
    """That a conjunction does not hold, whose other variables stand outside, too, where they have other values."""

    def own(name: str) -> str:
        return name if name in shared else f"{name}·not"

    return NotNode(tuple(_renamed(item, own) for item in items), tuple(sorted(shared)))


def _renamed(node: Node, name: Callable[[str], str]) -> Node:
    match node:
        case AndNode():
            return AndNode(tuple(_renamed(item, name) for item in node.items))
        case OrNode():
            return replace(
                node,
                branches=tuple(
                    AndNode(tuple(_renamed(item, name) for item in each.items)) for each in node.branches
                ),
                required=frozenset(map(name, node.required)),
                local_to=tuple((name(each), owner) for each, owner in node.local_to),
            )
        case NotNode():
            items = tuple(_renamed(item, name) for item in node.items)
            return replace(node, items=items, shared=tuple(map(name, node.shared)))
        case _:
            return with_terms(node, lambda term: name(term) if isinstance(term, str) else term)


def lasting_dependencies(body: AndNode, moves: Moves, statistics: Statistics) -> Iterator[LastingDependency]:
    """What determines the variables of a body at both moments alike: functions that look into no database, and the
    patterns of what moves, as long as their rows stay."""
    for leaf in _certain(body.items):
        by: Attribute | None = None
        if isinstance(leaf, DatomAtom) and moves(leaf):
            snapshot = statistics.databases[leaf.source]
            by = attribute_of(snapshot, leaf.attribute) if isinstance(leaf.attribute, Const) else None
            if by is None:
                continue
        elif not isinstance(leaf, Call) or database_of(leaf) is not None:
            continue
        for each in dependencies_of(AndNode((leaf,)), statistics):
            yield LastingDependency(each, by)


def _certain(items: Sequence[Node]) -> Iterator[Leaf]:
    """The leaves that every row of a conjunction has to satisfy."""
    for item in items:
        if isinstance(item, AndNode):
            yield from _certain(item.items)
        elif not isinstance(item, OrNode):
            yield from leaves(item)


def _determining(
    found: _Found, known: frozenset[str], dependencies: Sequence[LastingDependency]
) -> frozenset[Attribute] | None:
    """The attributes by whose rows known variables determine what is at stake; none where functions alone do, None
    where nothing does."""
    changed = found.changed.attribute if isinstance(found.changed, DatomAtom) else None
    name = changed.value if isinstance(changed, Const) else None
    needed = {each.by for each in dependencies if each.by is not None and name not in (each.by.ident, each.by.id)}

    def suffice(which: set[Attribute]) -> bool:
        usable = [each.dependency for each in dependencies if each.by is None or each.by in which]
        return found.stake <= determined_by(known, usable)

    if not suffice(needed):
        return None
    for each in sorted(needed, key=lambda each: each.id):
        if suffice(needed - {each}):
            needed = needed - {each}
    return frozenset(needed)
