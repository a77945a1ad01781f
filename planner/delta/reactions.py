"""Reactions of a live query: what the changed rows of an atom add to its answer, and what they take from it.

A head may enter by a row that came, joined with everything else at the second moment; it may leave by a row that
went, joined with everything else at the first one. These are the delta bodies with the splits APPEARS and VANISHES.
So a candidate is in one of the two answers by construction; the check, which is the body at the other moment as a
`not`, says that it is not in the other one, too.

The check is left out where the head determines the variables of the atom that changed (of the outermost `not`
around it), outside an `or`: another derivation of the head at the other moment would have needed that very row, or
that very `not` to hold. The schema adds dependencies as long as the rows stay as they are: an entity has one value
of an attribute of cardinality one, and a value of a unique attribute one entity. So a reaction may have a body
without the check, for the steps in which those attributes were not written.

A transaction that makes an entity changes several atoms of it. Where an entity has one row of an atom at most, and
that row changed, the reaction of that atom finds whatever holds of the entity; other reactions leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adalog.datalog.ast import Const
from adalog.planner.delta.bodies import DeltaBody, delta_bodies, negated
from adalog.planner.delta.versions import APPEARS, VANISHES, Atom, Moves, Split, Splits, at_version
from adalog.planner.model.logical import AndNode, DatomAtom, Leaf, Node, conjuncts, variables
from adalog.planner.model.lookups import Call
from adalog.planner.order.dependencies import FunctionalDependency, dependencies_of, determined_by
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.resolve import attribute_of
from adalog.store.values.attribute import Attribute


@dataclass(frozen=True, slots=True)
class Reaction:
    """`changed`: the atom whose rows came or went, by its version. `enters`: whether the heads may enter or may
    leave. `body`: what those rows are joined with, the check included. `sure`: the same without the check, for
    steps that leave the rows of all of `still` as they are, and where `alone` is a variable, for changed rows whose
    entity, its value, had no row of the atom at the other moment; None where there is a check always, or none.

    `covers`: the variable of the changed rows' entities, where it finds all heads of any solution with these.
    `is_positive`: its atom stands in no `not` and no call, so it need not find what other reactions cover."""

    changed: Atom
    enters: bool
    body: AndNode
    sure: AndNode | None = None
    still: frozenset[Attribute] = frozenset()
    covers: str | None = None
    is_positive: bool = False
    alone: str | None = None


@dataclass(frozen=True, slots=True)
class LastingDependency:
    """A dependency that holds at both moments alike. `by`: as long as this attribute's rows stay; None: always."""

    dependency: FunctionalDependency
    by: Attribute | None


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
    shared = fixed.intersection(body.names).union(head)
    for split, other in ((APPEARS, VANISHES), (VANISHES, APPEARS)):
        check = negated(at_version(body, moves, other.after).items, shared)
        for each in delta_bodies(body, _all(moves, split), _all(moves, other)):
            unchecked = AndNode((*each.rest, *_at_other_moment(each.part, other)))
            still = None if each.optional else _determining(each, known, dependencies)
            entity = _covered(each, dependencies)
            # Another derivation of the head at the other moment would need a row of the same entity.
            alone = entity if still is None and entity in known else None
            is_sure = still is not None and not still
            yield Reaction(
                each.changed,
                split is APPEARS,
                unchecked if is_sure else AndNode((*each.rest, check)),
                unchecked if still or alone is not None else None,
                still or frozenset(),
                entity,
                is_positive=isinstance(each.part, Atom),
                alone=alone,
            )


def _covered(found: DeltaBody, dependencies: Sequence[LastingDependency]) -> str | None:
    """The variable of an atom's entity, where a solution has one row of the atom for it at most, and always one."""
    atom = found.atom
    if found.optional or found.part is not atom or not isinstance(atom, DatomAtom):
        return None
    entity, name, value = atom.terms[:3]
    if not isinstance(entity, str) or not isinstance(name, Const) or value is None or atom.tx or atom.added:
        return None
    # A blank stands for any value: a changed row need not be new.
    one = FunctionalDependency(frozenset((entity,)), str(value), variables(atom))
    by = (each.by for each in dependencies if each.dependency == one)
    is_one = any(each is not None and name.value in (each.ident, each.id) for each in by)
    return entity if is_one or not isinstance(value, str) else None


def _all(moves: Moves, split: Split) -> Splits:
    return lambda leaf: split if moves(leaf) else None


def _at_other_moment(part: Leaf, other: Split) -> tuple[Node, ...]:
    """That the part did not hold at the other moment, where a changed row does not say so. A row stands for its
    pair alone where every place is named; a row that a call looks up never does."""
    if isinstance(part, Call) or (isinstance(part, Atom) and None in part.terms[:3]):
        return (negated(at_version(AndNode((part,)), lambda _: True, other.after).items, variables(part)),)
    return ()


def lasting_dependencies(body: AndNode, moves: Moves, statistics: Statistics) -> Iterator[LastingDependency]:
    """What determines the variables of a body at both moments alike: functions that look into no database, and the
    patterns of what moves, as long as their rows stay."""
    for leaf in conjuncts(body.items):
        by: Attribute | None = None
        if isinstance(leaf, DatomAtom) and moves(leaf):
            snapshot = statistics.databases[leaf.source]
            by = attribute_of(snapshot, leaf.attribute) if isinstance(leaf.attribute, Const) else None
            if by is None:
                continue
        elif not isinstance(leaf, Call) or leaf.reads:
            continue
        for each in dependencies_of(AndNode((leaf,)), statistics):
            yield LastingDependency(each, by)


def _determining(
    found: DeltaBody, known: frozenset[str], dependencies: Sequence[LastingDependency]
) -> frozenset[Attribute] | None:
    """The attributes by whose rows known variables determine what is at stake; none where functions alone do, None
    where nothing does."""
    changed = found.atom.attribute if isinstance(found.atom, DatomAtom) else None
    name = changed.value if isinstance(changed, Const) else None
    needed = {each.by for each in dependencies if each.by is not None and name not in (each.by.ident, each.by.id)}

    def suffice(which: set[Attribute]) -> bool:
        usable = [each.dependency for each in dependencies if each.by is None or each.by in which]
        return variables(found.part) <= determined_by(known, usable)

    if not suffice(needed):
        return None
    for each in sorted(needed, key=lambda each: each.id):
        if suffice(needed - {each}):
            needed = needed - {each}
    return frozenset(needed)
