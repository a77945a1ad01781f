"""What each level may forget: variables that nothing later needs, and counts that need no rows.

Datalog's answers are sets, so a variable that the answer does not show can be dropped as soon as its last atom is
done, and rows that become equal are one. None do where what is kept determines what is dropped. A variable that the
answer only counts (it is in `:with`, or the argument of `count`) can be dropped too, the rows keeping a weight: but
only where the answer's variables determine all others. Rows that only a hidden variable tells apart must not be
counted twice, and chunks do not know of each other's rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Leaf, Node, disjunctions, in_body, leaves, variables
from adalog.planner.model.version import Version
from adalog.planner.order.dependencies import FunctionalDependency, determined_by


def blank_singletons(body: AndNode, needed: frozenset[str]) -> AndNode:
    """Makes a blank of each variable that occurs once, in a data pattern or relation, and is not in the answer."""
    uses: Counter[str] = Counter()
    kept = needed.union(*(node.required for node in disjunctions(body)))
    for leaf in leaves(body):
        if isinstance(leaf, logical.DatomAtom | logical.RelationAtom) and not _is_kept(leaf):
            uses.update(term for term in leaf.terms if isinstance(term, str))
        else:
            kept |= variables(leaf)
    alone = {name for name, count in uses.items() if count == 1 and name not in kept}
    if not alone:
        return body

    def blanked(leaf: Leaf) -> Node:
        if not isinstance(leaf, logical.DatomAtom | logical.RelationAtom) or _is_kept(leaf):
            return leaf
        return leaf.with_terms(lambda term: None if isinstance(term, str) and term in alone else term)

    return in_body(body, blanked)


def _is_kept(leaf: Leaf) -> bool:
    """Whether it reads a relation that is kept from moment to moment, whose rows are looked up whole, or the rows
    of a query within, whose variables take no nil."""
    if not isinstance(leaf, logical.RelationAtom):
        return False
    return leaf.subquery is not None or leaf.version in (Version.OLD, Version.NEW, Version.EARLIER)


def project(
    body: AndNode,
    given: tuple[str, ...],
    order: tuple[str, ...],
    estimates: tuple[float, ...],
    needed: frozenset[str],
    counted: frozenset[str],
    dependencies: Sequence[FunctionalDependency],
) -> tuple[logical.LevelPlan, ...]:
    """The levels of an order. `counted`: those of `needed` that the answer only counts (a weighted join).

    `dependencies`: of the body.
    """
    rank = dict.fromkeys(given, -1) | {name: i for i, name in enumerate(order)}

    def end(node: Node) -> int:
        return max((rank[name] for name in variables(node)), default=-1)

    last_use: dict[str, int] = {}
    for leaf in leaves(body):
        for name in variables(leaf):
            last_use[name] = max(last_use.get(name, -1), end(leaf))
    # Rows that only the live branches of an `or` told apart, or its local variables, become equal where it ends.
    ends = {end(node) for node in disjunctions(body) if node.local_to}
    levels: list[logical.LevelPlan] = []
    alive = frozenset(given)
    for i, name in enumerate(order):
        alive |= {name}
        kept = frozenset(x for x in alive if x in needed or last_use.get(x, -1) > i)
        kept -= frozenset(x for x in counted if last_use.get(x, -1) <= i)
        keep = kept if kept != alive else None
        bound = [each for each in dependencies if all(rank[x] <= i for x in each.span)]
        merge = i in ends or not alive <= determined_by(kept.union(given), bound)
        only_counted = bool(counted) and name in counted and name not in kept
        levels.append(logical.LevelPlan(name, keep, merge, only_counted, estimates[i]))
        alive = kept
    return tuple(levels)


def repeats(body: AndNode, needed: frozenset[str], dependencies: Sequence[FunctionalDependency]) -> bool:
    """Whether rows can repeat: the answer's variables do not determine some variable of the join."""
    known = determined_by(needed, dependencies)
    return any(name not in known for item in leaves(body) for name in variables(item))
