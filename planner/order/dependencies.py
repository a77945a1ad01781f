"""Functional dependencies: the variables whose values those of others determine.

An entity has one value of an attribute of cardinality one, a unique value has one entity, and a function gives one
value for its arguments. A variable that others determine is not needed to tell rows apart. What a schema says of
values holds for every view of a moment, as of or since another one too, but not for a history.

Source: Armstrong, "Dependency structures of data base relationships", 1974.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adalog.datalog.ast import Const, LookupRef
from adalog.planner.model.logical import AndNode, DatomAtom, FunctionAtom, Node, PredicateAtom, Term, variables
from adalog.planner.model.version import Version
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.comparisons import equated
from adalog.planner.scope.resolve import attribute_of


@dataclass(frozen=True, slots=True)
class FunctionalDependency:
    """`given` determine `determined` in every row that binds all of `span`, the variables of one clause."""

    given: frozenset[str]
    determined: str
    span: frozenset[str]


def dependencies_of(body: AndNode, statistics: Statistics) -> tuple[FunctionalDependency, ...]:
    """Those that hold in every row of a body, as the schemas of its databases are now.

    A plan that was made by them suits every view with these schemas that is a history where the view then was one.
    """
    return tuple(each for item in body.items for each in _of(item, statistics))


def _of(node: Node, statistics: Statistics) -> Iterator[FunctionalDependency]:
    match node:
        case AndNode():
            yield from dependencies_of(node, statistics)
        case DatomAtom(version=Version.ALL | Version.OLD | Version.NEW):
            # Between two moments with the same schema each of them has what it says.
            yield from _of_pattern(node, statistics)
        case FunctionAtom(subquery=None):
            # The output may be one of the arguments, and is no less free then.
            args = frozenset(term for term in node.args if isinstance(term, str))
            yield FunctionalDependency(args, node.out, variables(node))
            yield from _of_equality(node)
        case PredicateAtom():
            yield from _of_equality(node)
        case _:
            pass


def _of_equality(node: Node) -> Iterator[FunctionalDependency]:
    terms = equated(node)
    if terms is None:
        return
    for term, other in (terms, terms[::-1]):
        if isinstance(term, str):
            given = frozenset((other,)) if isinstance(other, str) else frozenset[str]()
            yield FunctionalDependency(given, term, variables(node))


def _of_pattern(atom: DatomAtom, statistics: Statistics) -> Iterator[FunctionalDependency]:
    snapshot = statistics.databases[atom.source]
    if snapshot.is_history or not isinstance(atom.attribute, Const):
        return
    attribute = attribute_of(snapshot, atom.attribute)
    if attribute is None:
        return
    found: list[tuple[tuple[Term, ...], Term]] = [((atom.entity, atom.value), atom.tx), ((), atom.added)]
    if not attribute.is_many:
        found.append(((atom.entity,), atom.value))
    if attribute.kind.unique is not None:
        found.append(((atom.value,), atom.entity))
    for given, determined in found:
        if isinstance(determined, str) and all(isinstance(term, str | Const | LookupRef) for term in given):
            names = frozenset(term for term in given if isinstance(term, str))
            yield FunctionalDependency(names, determined, variables(atom))


def determined_by(names: Iterable[str], dependencies: Sequence[FunctionalDependency]) -> frozenset[str]:
    """Every variable that some variables determine, these among them."""
    known = frozenset(names)
    while more := {each.determined for each in dependencies if each.given <= known} - known:
        known |= more
    return known
