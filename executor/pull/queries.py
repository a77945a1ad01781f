"""The queries in a pull pattern, as far as a pull knows of them: each is asked once for all entities of a level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.datalog import ast
from adalog.datalog.pull import PullPattern, PullQuery
from adalog.datalog.values import Value
from adalog.executor.pull.level import Ids
from adalog.planner.model.logical import PulledQuery, Subquery


@dataclass(frozen=True, slots=True)
class FoundValues:
    """What a query finds for some entities, None where it finds nothing, with what each comes to when written out.
    sizes: float64[n]. height: levels of maps, at most."""

    values: list[Value]
    sizes: NDArray[np.float64]
    height: int


class EntityQuery(Protocol):
    def found_for(self, entities: Ids) -> FoundValues:
        """`entities` are distinct."""


@dataclass(frozen=True)
class PullQueries:
    """`given`: the code of the argument that the query around them has for a binding. `call`: a query as a function
    of entities, with the codes of its other arguments."""

    queries: Mapping[tuple[str, PullQuery], Subquery]
    given: Callable[[ast.Binding], int]
    call: Callable[[Subquery, tuple[int, ...]], EntityQuery]

    def of(self, source: str) -> QueriesOfSource:
        """Those in patterns that are pulled from a source."""
        return lambda asked, entities: self._called(source, asked).found_for(entities)

    def _called(self, source: str, asked: PullQuery) -> EntityQuery:
        subquery = self.queries[source, asked]
        return self.call(subquery, tuple(map(self.given, bindings_taken(subquery.query))))


QueriesOfSource = Callable[[PullQuery, Ids], FoundValues]


def by_pattern(queries: Iterable[PulledQuery]) -> dict[tuple[str, PullQuery], Subquery]:
    return {(each.source, each.asked): each.subquery for each in queries}


def bindings_taken(query: ast.Query) -> list[ast.Binding]:
    """What a query in a pattern takes besides the entity."""
    return [each.binding for each in query.inputs if isinstance(each, ast.BindingInput)][1:]


def patterns_in(query: ast.Query) -> Iterator[tuple[str, PullPattern]]:
    """The patterns that a query writes out, each with the source that it is pulled from."""
    for element in query.find.elements:
        if isinstance(element, ast.FindPull) and isinstance(element.pattern, PullPattern):
            yield element.source.name, element.pattern
