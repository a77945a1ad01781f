"""The order in which the join binds variables.

A beam search over orders: at each step the variables that something can propose are tried, and the cheapest few
partial orders survive. The cost of an order is the number of candidates looked at and prefixes made. Deterministic
for equal statistics.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    Node,
    NotNode,
    OrNode,
    PredicateAtom,
    RelationAtom,
    RuleAtom,
    UnnestAtom,
    leaves,
    variables,
)
from planner.statistics import FILTER, Statistics

_BEAM = 8


def can_bind(node: Node, variable: str, bound: frozenset[str]) -> bool:
    """Whether the node can propose values of the variable once `bound` are bound."""
    match node:
        case DatomAtom() | RelationAtom():
            return variable in variables(node)
        case RuleAtom():
            return variable in variables(node) and node.needs <= bound
        case FunctionAtom():
            return variable == node.out and variable not in node.args and variables(node) - {variable} <= bound
        case UnnestAtom():
            return variable == node.out and node.collection in bound
        case PredicateAtom() | NotNode():
            return False
        case AndNode():
            return any(can_bind(item, variable, bound) for item in node.items)
        case OrNode():
            if not node.required <= bound:
                return False
            owners = dict(node.local_to)
            if variable in owners:
                return can_bind(node.branches[owners[variable]], variable, bound)
            taking = [branch for branch in node.branches if variable in variables(branch)]
            return len(taking) == len(node.branches) and all(can_bind(b, variable, bound) for b in taking)


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial order: variables bound so far, expected prefixes after each, total cost."""

    order: tuple[str, ...]
    bound: frozenset[str]
    prefixes: tuple[float, ...]
    cost: float


def order_variables(
    body: AndNode, given: frozenset[str], needed: frozenset[str], statistics: Statistics, *, reorder: bool = True
) -> Partial | None:
    """The cheapest order found, or None where some variable can never be bound.

    given: bound before the first level. needed: what the answer is made of; others are dropped after their last
    use, which bounds the number of prefixes by the domains of those kept. Without `reorder` the variables are
    bound in the order in which the text first mentions them, as far as they can be.
    """
    written = list(dict.fromkeys(name for item in leaves(body) for name in _in_text_order(item)))
    wanted = [name for name in written if name not in given]
    domains = {
        name: min((statistics.domain(i, name) for i in body.items if name in variables(i)), default=1.0)
        for name in wanted
    }
    spans = [variables(leaf) for leaf in leaves(body)]
    beam = [Partial((), given, (), 0.0)]
    for _ in wanted:
        grown: dict[frozenset[str], Partial] = {}
        for partial in beam:
            options = [name for name in wanted if name not in partial.bound and can_bind(body, name, partial.bound)]
            for name in options if reorder else options[:1]:
                candidate = _extend(partial, name, body, needed, domains, spans, statistics)
                best = grown.get(candidate.bound)
                if best is None or candidate.cost < best.cost:
                    grown[candidate.bound] = candidate
        if not grown:
            return None
        beam = sorted(grown.values(), key=lambda p: (p.cost, p.order))[:_BEAM]
    return beam[0]


def _in_text_order(leaf: Node) -> list[str]:
    match leaf:
        case DatomAtom() | RelationAtom() | RuleAtom():
            return [term for term in leaf.terms if isinstance(term, str)]
        case FunctionAtom():
            return [term for term in leaf.args if isinstance(term, str)] + [leaf.out]
        case UnnestAtom():
            return [leaf.collection, leaf.out]
        case _:
            return sorted(variables(leaf))


def _extend(
    partial: Partial,
    name: str,
    body: AndNode,
    needed: frozenset[str],
    domains: dict[str, float],
    spans: list[frozenset[str]],
    statistics: Statistics,
) -> Partial:
    before = partial.prefixes[-1] if partial.prefixes else 1.0
    bound = partial.bound | {name}
    taking = [item for item in body.items if name in variables(item)]
    counts = [statistics.count(item, name, partial.bound) for item in taking]
    least = min((count for count in counts if count < FILTER), default=domains[name])
    share = 1.0
    skipped = False
    for item, count in zip(taking, counts, strict=True):
        if count == least and not skipped:
            skipped = True
        elif count < FILTER:
            share *= min(1.0, count / max(domains[name], 1.0, least))
        elif variables(item) <= bound and not isinstance(item, FunctionAtom | UnnestAtom | OrNode):
            share *= statistics.selectivity(item)
    candidates = before * least
    after = candidates * share
    # Dropped variables merge prefixes: there are never more than the domains of the kept ones allow.
    unfinished = frozenset().union(*(span for span in spans if not span <= bound))
    kept = 1.0
    for other in bound:
        if other in domains and (other in needed or other in unfinished):
            kept *= domains[other]
    after = min(after, kept) if kept else after
    return Partial((*partial.order, name), bound, (*partial.prefixes, after), partial.cost + candidates + after)
