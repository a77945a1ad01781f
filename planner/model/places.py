"""Where the values of a query's variables stand: as entities, as values of an attribute, as transactions, …

What an argument means depends on it: `":open"` from JSON is a keyword where an attribute of keywords is asked for
it. Places name attributes as they are written, so they hold for every schema; `kind_in` says what a place holds in
one. `planner.scope.variable_places` finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from adalog.planner.model.paths import path_in
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import Attribute


class PlaceKind(Enum):
    ENTITY = "entity"
    ATTRIBUTE = "attribute"
    VALUE = "value"
    TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class AttributeVariable:
    """The attribute that the value of a variable names: `[?e ?a ?v]` with `?a` in `:in`."""

    variable: str


@dataclass(frozen=True, slots=True)
class VariablePlace:
    """A place of a data pattern, or of what stands for one. `attribute`: the one that a VALUE belongs to, as it is
    written, or AttributeVariable. `compared`: the variable is only compared with what stands there. `listed`: the
    members of its list are."""

    kind: PlaceKind
    source: str
    attribute: Any = None
    compared: bool = False
    listed: bool = False

    def kind_in(self, databases: Mapping[str, Snapshot]) -> Attribute | PlaceKind | None:
        """The attribute whose values stand here, or what else does: a ref is an ENTITY. None: anything may."""
        if self.kind is not PlaceKind.VALUE:
            return self.kind
        database = None if isinstance(self.attribute, AttributeVariable) else databases.get(self.source)
        attribute = None if database is None else database.attribute(self.attribute)
        if attribute is None and database is not None and path_in(database, self.attribute) is not None:
            return PlaceKind.ENTITY
        if attribute is None or attribute.kind.value_type is None:
            return None
        return PlaceKind.ENTITY if attribute.is_ref else attribute


@dataclass(frozen=True)
class VariablePlaces:
    """`variables`: of each variable by its unique name. `columns`: of each column (source, number) of the sources
    that are lists of tuples."""

    variables: Mapping[str, tuple[VariablePlace, ...]] = field(default_factory=dict)
    columns: Mapping[tuple[str, int], tuple[VariablePlace, ...]] = field(default_factory=dict)

    def entities(self, databases: Mapping[str, Snapshot]) -> frozenset[str]:
        """The variables that stand for entities, so that an ident or a lookup ref will do for them."""
        return frozenset(
            name
            for name, places in self.variables.items()
            if any(not each.compared and each.kind_in(databases) is PlaceKind.ENTITY for each in places)
        )

    @property
    def transactions(self) -> frozenset[str]:
        """The variables that stand for transactions."""
        return frozenset(
            name
            for name, places in self.variables.items()
            if any(not each.compared and each.kind is PlaceKind.TRANSACTION for each in places)
        )
