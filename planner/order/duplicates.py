"""The warning DROPPED_DUPLICATES: how many rows an aggregate left out, and which `:with` would count them.

An aggregate runs over the distinct tuples of `:find` and `:with`, so that of two lines with one amount a sum counts
one. A value's owners are the variables beside it in the pattern that binds it: the line of an amount. If these and
the answer's variables determine all others, each row of the join, before any were merged, is one tuple with its
owners; the number left out is that of these rows less that of the answer's tuples. Otherwise there is no warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from adalog.datalog import ast
from adalog.datalog.aggregates import AGGREGATES
from adalog.datalog.diagnostics import Diagnostic, Suspicion
from adalog.planner.model.logical import AndNode, DatomAtom, FunctionAtom, LevelPlan, leaves, variables
from adalog.planner.model.multiplicity import DroppedRows, Multiplicity, Single
from adalog.planner.model.program import RulePredicate
from adalog.planner.model.version import Version
from adalog.planner.order.dependencies import FunctionalDependency, dependencies_of, determined_by
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.outline import Outline
from adalog.planner.scope.resolve import attribute_of
from adalog.store.snapshot.snapshot import Snapshot

QUERY: Final = ""
"""What stands for the query itself among the names of rules."""


def summed(elements: Iterable[ast.FindColumn]) -> frozenset[str]:
    """The variables under aggregates in which each of several equal values counts."""
    return frozenset(
        each.var.name for each in elements if isinstance(each, ast.FindAggregate) and each.known.counts_repeats
    )


def summed_places(aggregates: Sequence[str | None]) -> list[int]:
    return [place for place, name in enumerate(aggregates) if name is not None and AGGREGATES[name].counts_repeats]


def multiplicity(
    whole: AndNode,
    body: AndNode,
    answer: frozenset[str],
    summed: frozenset[str],
    given: Sequence[str],
    levels: Sequence[LevelPlan],
    statistics: Statistics,
) -> Multiplicity | None:
    """How to count for a plan; None where the counts do not tell. `whole`: the body with the variables that the
    plan's `body` has blanks for."""
    if not summed or not levels:
        return None
    dependencies = dependencies_of(whole, statistics)
    known = answer.union(given)
    owners = owners_of(whole, summed, determined_by(known, dependencies))
    if not owners:
        return None
    bound = frozenset(name for leaf in leaves(body) for name in variables(leaf))
    if not owners <= bound:
        return _of_blank(whole, owners, answer)
    singles: list[Single] = []
    more = list(dependencies)
    told = determined_by(known | owners, more)
    candidates = list(_candidates(whole, statistics))
    while not bound <= told:
        step = next(((s, d) for s, d in candidates if d.given <= told and d.determined not in told), None)
        if step is None:
            return None
        singles.append(step[0])
        more.append(step[1])
        told = determined_by(known | owners, more)
    level = next((i for i, each in enumerate(levels) if each.merge), len(levels) - 1)
    before = frozenset((*given, *(each.variable for each in levels[: level + 1])))
    if not owners <= before:
        return None
    alive = before
    for i, each in enumerate(levels):
        if i > level:
            usable = [d for d in more if d.span <= alive | {each.variable}]
            if each.variable not in determined_by(alive, usable):
                return None
            alive |= {each.variable}
        if i >= level and each.keep is not None:
            alive &= each.keep | frozenset(given)
    return Multiplicity(level, tuple(singles))


def _of_blank(whole: AndNode, owners: frozenset[str], answer: frozenset[str]) -> Multiplicity | None:
    """For the one owner of a pattern by itself, whose value the answer's rows have."""
    if len(owners) > 1:
        return None
    (pattern,) = [leaf for leaf in leaves(whole) if owners <= variables(leaf)]
    if not isinstance(pattern, DatomAtom) or pattern.value not in answer or pattern.entity not in owners:
        return None
    is_plain = isinstance(pattern.attribute, ast.Const) and pattern.tx is None and pattern.added is None
    if not is_plain or not any(pattern is item for item in whole.items):
        return None
    return Multiplicity(0, blank=pattern)


def owners_of(body: AndNode, names: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    """The owners of some variables' values, without those that are known. Empty where these are entities, or may
    come from several patterns."""
    found: frozenset[str] = frozenset()
    for name in names:
        if name in _identities(body):
            return frozenset()
        several = set(_owners(body, name, frozenset((name,)), known))
        if len(several) > 1:
            return frozenset()
        found = found.union(*several)
    return found


def _identities(body: AndNode) -> frozenset[str]:
    """The variables that stand for entities."""
    return frozenset(
        leaf.entity for leaf in leaves(body) if isinstance(leaf, DatomAtom) and isinstance(leaf.entity, str)
    )


def _owners(body: AndNode, name: str, seen: frozenset[str], known: frozenset[str]) -> Iterator[frozenset[str]]:
    """The owners by each of the clauses that bind a variable."""
    for leaf in leaves(body):
        match leaf:
            case DatomAtom():
                if leaf.value == name:
                    yield _names(leaf.entity, leaf.attribute) - known
            case FunctionAtom():
                if leaf.out != name or leaf.subquery is not None:
                    continue
                inner = [each for each in _names(*leaf.args) if each not in seen]
                found: frozenset[str] = frozenset()
                for each in inner:
                    ways = set(_owners(body, each, seen | {each}, known))
                    if len(ways) > 1:
                        yield frozenset()
                        yield frozenset((name,))
                        return
                    found = found.union(*ways)
                    found |= {each} & _identities(body) - known
                yield found
            case _:
                if name in leaf.gives:
                    yield frozenset(leaf.mentions) - known - {name}


def _names(*terms: object) -> frozenset[str]:
    return frozenset(term for term in terms if isinstance(term, str))


def _candidates(body: AndNode, statistics: Statistics) -> Iterator[tuple[Single, FunctionalDependency]]:
    """What would determine more, if the data kept to it."""
    for leaf in body.items:
        if not isinstance(leaf, DatomAtom) or leaf.version is not Version.ALL:
            continue
        if not isinstance(leaf.attribute, ast.Const) or not (
            isinstance(leaf.entity, str) and isinstance(leaf.value, str)
        ):
            continue
        snapshot = statistics.databases[leaf.source]
        attribute = None if snapshot.is_history else attribute_of(snapshot, leaf.attribute)
        if attribute is None:
            continue
        span = variables(leaf)
        for inverse, one, other in ((False, leaf.entity, leaf.value), (True, leaf.value, leaf.entity)):
            dependency = FunctionalDependency(frozenset((one,)), other, span)
            yield Single(leaf.source, attribute.ident, inverse), dependency


# What is said of it


def diagnostics(
    outline: Outline, databases: Mapping[str, Snapshot], dropped: Mapping[str, DroppedRows]
) -> Iterator[Diagnostic]:
    """A warning for the query, and for each of its rules, that left rows out."""
    statistics = Statistics(databases, {})
    tree, query = outline.tree, outline.query
    for name, found in dropped.items():
        if name == QUERY:
            elements = query.find.columns
            answer = frozenset((*(each.var.name for each in elements), *(each.name for each in query.with_)))
            body, given, names = tree.body, tree.given, summed(elements)
            told = next(e for e in elements if isinstance(e, ast.FindAggregate) and e.var.name in names)
            what, position = told.label, told.position
        else:
            predicate = _predicate(tree.predicates, name)
            head = next((rule for rule in query.rules if rule.name == name), None)
            if predicate is None or head is None:
                continue
            (branch,) = predicate.branches
            body, given, answer = branch.body, branch.given, frozenset(branch.head)
            places = summed_places(predicate.aggregates)
            names = frozenset(branch.head[place] for place in places)
            what, position = f"({predicate.aggregates[places[0]]} …) of the rule {name}", head.position
        known = determined_by(answer.union(given), dependencies_of(body, statistics))
        found_owners = owners_of(body, names, known)
        owners = sorted(tree.written(each) for each in found_owners)
        if not owners:
            continue
        remedy = _remedy(name, owners, hidden=any(each in tree.names for each in found_owners))
        message = f"{what} takes equal rows once: {_left_out(found, ' '.join(owners))}; {remedy}"
        yield Diagnostic(Suspicion.DROPPED_DUPLICATES, message, position)


def _left_out(found: DroppedRows, owners: str) -> str:
    if found.exact and found.number == 1:
        return f"1 row that differs from another only in {owners} is left out"
    least = "" if found.exact else "at least "
    return f"{least}{found.number:,} rows that differ from others only in {owners} are left out"


def _remedy(name: str, owners: Sequence[str], *, hidden: bool) -> str:
    keeping = f":with {' '.join(owners)}"
    if name != QUERY:
        return f"to count each, aggregate in a query with {keeping}, over a rule that has it in its head"
    if hidden:
        return f"{keeping} counts each, where the rule or clause that it is local to shares it"
    return f"{keeping} counts each"


def _predicate(predicates: Iterable[RulePredicate], name: str) -> RulePredicate | None:
    found = [each for each in predicates if each.name == name and len(each.branches) == 1]
    return found[0] if len(found) == 1 else None
