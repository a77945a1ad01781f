"""What a query's text says before anything is planned: its tree, and where the values of its variables stand.

Arguments are read and warnings are found by it. It holds for every database and every argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adalog.datalog import ast
from adalog.planner.model.nested import planned_within
from adalog.planner.model.places import VariablePlaces
from adalog.planner.model.plan import Options, Plan
from adalog.planner.scope.symbols import has_plain_symbols
from adalog.planner.scope.tree import Tree, tree_of
from adalog.planner.scope.variable_places import places_of
from adalog.store.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """`relations`: the sources that are lists of tuples. `inner`: the queries within, each with what its sources
    are called in this one. `has_plain_symbols`: some variables have no question mark."""

    query: ast.Query
    tree: Tree
    places: VariablePlaces
    relations: frozenset[str]
    has_plain_symbols: bool
    inner: tuple[tuple[Outline, Mapping[str, str]], ...] = ()

    def within(self, databases: Mapping[str, Snapshot]) -> list[tuple[Outline, Mapping[str, Snapshot]]]:
        """The queries within, each with its databases."""
        return [
            (inner, {name: databases[outer] for name, outer in names.items() if outer in databases})
            for inner, names in self.inner
        ]


def outline_of(query: ast.Query, relations: frozenset[str]) -> Outline:
    """The outline of a parsed query. Raises UNBOUND_VARIABLE for scopes that share nothing."""
    inner: list[tuple[Outline, Mapping[str, str]]] = []

    def outlined(within: ast.Query, sources: tuple[tuple[str, str], ...]) -> Plan:
        lists = frozenset(name for name, outer in sources if outer in relations)
        made = outline_of(within, lists)
        inner.append((made, dict(sources)))
        body, given, unplanned = made.tree.body, made.tree.given, Options()
        return Plan(within, body, given, (), (), False, False, 0.0, 0.0, unplanned, places=made.places)

    tree = tree_of(query, relations, lambda within, sources: planned_within(lambda: outlined(within, sources)))
    return Outline(query, tree, places_of(query, tree), relations, has_plain_symbols(query), tuple(inner))
