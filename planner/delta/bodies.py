"""The delta compiler: the bodies that compute the change of a conjunction from the changes of its atoms.

For each atom over changed data there is one copy of the body: that atom reads the delta, earlier atoms the new
state, later atoms the old. Together the copies give each new combination of rows once (the product rule). `Splits`
name these versions, which are all that differs between the users: `planner.rules.derive` (rounds),
`planner.delta.reactions` (live queries) and `planner.delta.rules` (derived relations that are kept up to date).

Sources: Bancilhon, "Naive evaluation of recursively defined relations", 1986; Gupta, Mumick and Subrahmanian,
"Maintaining views incrementally", 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from adalog.planner.delta.versions import Atom, Splits, versioned
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Leaf, Node, everything, leaves, variables
from adalog.planner.model.lookups import Call, looked_up_attributes, values_of
from adalog.planner.model.version import Version


@dataclass(frozen=True, slots=True)
class DeltaBody:
    """One copy of a body. `atom`: the atom that reads the delta, as it stood; `version`: what of it is read.

    `before`, `after`: what its rows are joined with. `part`: the leaf of the body with that atom: the atom itself,
    a call that looks it up, or the outermost `not` around it. `optional`: the part stands in an `or`.
    """

    atom: Atom
    version: Version
    before: tuple[Node, ...]
    after: tuple[Node, ...]
    part: Leaf
    optional: bool = False

    @property
    def changed(self) -> Atom:
        return replace(self.atom, version=self.version)

    @property
    def body(self) -> AndNode:
        return AndNode((*self.before, self.changed, *self.after))

    @property
    def rest(self) -> tuple[Node, ...]:
        """The copy without the atom, for joins that begin with its rows."""
        return (*self.before, *self.after)


def delta_bodies(body: AndNode, splits: Splits, in_not: Splits | None = None) -> Iterator[DeltaBody]:
    """A copy for each occurrence of an atom over changed data. Of an `or` only the branch with the occurrence is
    left: rows of the other branches are not new, or another copy derives them.

    `in_not`: the splits below a `not`, where a derivation that vanishes lets the `not` hold, and one that appears
    ends it; they alternate with the depth. The `not` itself must hold at the moment of its surroundings. None:
    occurrences in a `not` are left out.
    """
    for place, item in enumerate(body.items):
        before = _at(body.items[:place], splits, after=False)
        after = _at(body.items[place + 1 :], splits, after=True)
        for each in _of_item(item, splits, in_not):
            yield replace(each, before=(*before, *each.before), after=(*each.after, *after))


def _of_item(item: Node, splits: Splits, in_not: Splits | None) -> Iterator[DeltaBody]:
    match item:
        case logical.DatomAtom() | logical.RelationAtom():
            split = splits(item)
            if split is not None and split.at is not None:
                yield DeltaBody(item, split.at, (), (), item)
        case logical.PredicateAtom() | logical.FunctionAtom():
            split = splits(item)
            if split is not None and split.at is not None:
                # The call at its moment, for every entity of which anything that it looks up changed.
                call = replace(item, version=split.after)
                for atom in looked_up(item):
                    for version in (Version.CAME, Version.WENT):
                        yield DeltaBody(atom, version, (), (call,), item)
        case AndNode():
            yield from delta_bodies(item, splits, in_not)
        case logical.OrNode():
            for branch in item.branches:
                for each in delta_bodies(branch, splits, in_not):
                    yield replace(each, optional=True)
        case logical.NotNode() if in_not is not None:
            itself = negated(_at(item.items, splits, after=True), variables(item))
            for each in delta_bodies(AndNode(item.items), in_not, splits):
                yield replace(each, before=(itself, *each.before), part=item, optional=False)
        case _:
            pass


def _at(items: Sequence[Node], splits: Splits, *, after: bool) -> tuple[Node, ...]:
    """The items at the versions of leaves before or after the atom that reads the delta."""

    def version_of(leaf: Leaf) -> Version | None:
        split = splits(leaf)
        return None if split is None else split.after if after else split.before

    return versioned(AndNode(tuple(items)), version_of).items


def reads_delta(body: AndNode, splits: Splits) -> bool:
    """Whether an atom outside a `not` is over changed data."""
    return any(isinstance(leaf, Atom) and splits(leaf) is not None for leaf in leaves(body))


def before_change(body: AndNode, changes: Callable[[Atom], bool]) -> AndNode | None:
    """What of a body can hold while nothing is in the relations that change: an `or` without its branches that read
    them; None: nothing can."""
    items: list[Node] = []
    for item in body.items:
        left: Node | None = item
        match item:
            case logical.RelationAtom() | logical.DatomAtom() if changes(item):
                left = None
            case AndNode():
                left = before_change(item, changes)
            case logical.OrNode():
                found = ((i, before_change(branch, changes)) for i, branch in enumerate(item.branches))
                kept = {i: each for i, each in found if each}
                place = {old: new for new, old in enumerate(kept)}
                local_to = tuple((name, place[owner]) for name, owner in item.local_to if owner in place)
                left = replace(item, branches=tuple(kept.values()), local_to=local_to) if kept else None
            case _:
                pass
        if left is None:
            return None
        items.append(left)
    return AndNode(tuple(items))


def looked_up(call: Call) -> Iterator[logical.DatomAtom]:
    (source,) = call.reads
    for attribute in looked_up_attributes(call):
        yield logical.DatomAtom(source, values_of(call)[0], attribute, None, position=call.position)


def looks_elsewhere(body: AndNode, sources: frozenset[str]) -> bool:
    """Whether a clause looks into one of the databases without being a pattern: a call such as `(get-else $ …)`, or
    a query within the query."""
    found = (leaf for leaf in everything(body) if not isinstance(leaf, logical.DatomAtom))
    return any(not sources.isdisjoint(leaf.reads) for leaf in found)


def negated(items: Sequence[Node], shared: frozenset[str]) -> logical.NotNode:
    """That a conjunction does not hold. Its variables that are not shared get names of their own, since they stand
    outside, too, with other values."""

    def own(name: str) -> str:
        return name if name in shared else f"{name}·not"

    return logical.NotNode(tuple(_renamed(item, own) for item in items), tuple(sorted(shared)))


def _renamed(node: Node, name: Callable[[str], str]) -> Node:
    match node:
        case AndNode():
            return AndNode(tuple(_renamed(item, name) for item in node.items))
        case logical.OrNode():
            bodies = tuple(AndNode(tuple(_renamed(item, name) for item in each.items)) for each in node.branches)
            local_to = tuple((name(each), owner) for each, owner in node.local_to)
            return replace(node, branches=bodies, required=frozenset(map(name, node.required)), local_to=local_to)
        case logical.NotNode():
            items = tuple(_renamed(item, name) for item in node.items)
            return replace(node, items=items, shared=tuple(map(name, node.shared)))
        case _:
            return node.with_terms(lambda term: name(term) if isinstance(term, str) else term)
