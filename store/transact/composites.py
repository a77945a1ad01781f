"""Composite tuples: attributes whose values are kept from those of other attributes of the same entity.

A composite changes with its components, in every transaction that touches one, and in the one that declares it; an
entity without any of the components has none. A transaction cannot assert or retract one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adalog.datalog.values import Keyword
from adalog.store.state.state import DatabaseState
from adalog.store.values.attribute import Attribute


@dataclass(frozen=True)
class Composite:
    """A composite and what it is made of. is_new: its values are not kept yet."""

    attribute: Attribute
    components: tuple[Attribute, ...]
    is_new: bool


@dataclass(frozen=True)
class Composites:
    """Those of one schema, by the entity id of each component."""

    all: tuple[Composite, ...] = ()
    by_component: Mapping[int, tuple[Composite, ...]] = field(default_factory=dict)

    @staticmethod
    def of(
        composites: Iterable[Attribute], attributes: Mapping[Keyword, Attribute], state: DatabaseState
    ) -> Composites:
        """The composites, as far as their components are among the attributes."""
        found = []
        for attribute in composites:
            assert attribute.kind.tuple_attrs is not None, "of a composite"
            components = tuple(attributes[name] for name in attribute.kind.tuple_attrs if name in attributes)
            if len(components) == len(attribute.kind.tuple_attrs):
                known = state.schema.get(attribute.id)
                found.append(Composite(attribute, components, known is None or known.kind.tuple_attrs is None))
        by_component: dict[int, tuple[Composite, ...]] = {}
        for composite in found:
            for component in composite.components:
                by_component[component.id] = (*by_component.get(component.id, ()), composite)
        return Composites(tuple(found), by_component)

    def kept(self, touched: Iterable[tuple[int, int]], state: DatabaseState) -> set[tuple[int, int]]:
        """(place in `all`, entity) of every composite value that may change, given (attribute, entity) pairs."""
        places = {composite.attribute.id: place for place, composite in enumerate(self.all)}
        found = {
            (places[composite.attribute.id], e) for a, e in touched for composite in self.by_component.get(a, ())
        }
        for place, composite in enumerate(self.all):
            if composite.is_new:
                snapshot = state.snapshot()
                for component in composite.components:
                    found.update((place, e) for e in snapshot.trie(component.id, inverse=False).keys.tolist())
        return found


def tuple_code(codes: Iterable[int | None], state: DatabaseState) -> int | None:
    """The code of the tuple of these values, None standing for nil; None where all are."""
    values: tuple[Any, ...] = tuple(None if code is None else state.codes.decode(code) for code in codes)
    return None if all(value is None for value in values) else state.codes.intern(values)
