"""Where a vector or a set in a transaction stands for several values, and which type these give to an attribute
without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adalog.datalog.values import EdnList, EdnMap, EdnSet, Keyword
from adalog.store.transact.declarations import Declarations, implied_type
from adalog.store.transact.operations import Path
from adalog.store.values.attribute import Attribute
from adalog.store.values.coercion import coerced

Items = Iterable[tuple[Any, Path]]
"""Values with their places in the forms."""


class MultipleValues:
    """Knows the attributes as one transaction declares them."""

    def __init__(self, declarations: Declarations) -> None:
        self._declarations = declarations

    def of_list(self, attribute: Attribute, value: Any, path: Path) -> Items:
        """The values of a list form: one, as in Datomic, unless the attribute was declared without a type."""
        return self.of(attribute, value, path, several=self._declarations.takes_several(attribute))

    def of(self, attribute: Attribute, value: Any, path: Path, *, several: bool) -> Items:
        """The values of a key of a map. several: whether there may be more than one."""
        if several and self._is_collection(attribute, value):
            return ((item, (*path, place)) for place, item in enumerate(value))
        return ((value, path),)

    def implied_type(self, key: Any, known: Attribute | None, value: Any) -> str | None:
        """The type that a value gives to an attribute without one; None where it gives none."""
        many = self._declarations.is_given_sets(key) if known is None else known.is_many
        if not many or not isinstance(value, EdnSet | tuple):
            return implied_type(value)
        if self.is_lookup_ref(value) or any(isinstance(each, EdnMap) or self.is_lookup_ref(each) for each in value):
            return "ref"
        return next(map(implied_type, value), None)

    def _is_collection(self, attribute: Attribute, value: Any) -> bool:
        """Whether a value stands for several, rather than being a lookup ref or one tuple."""
        if isinstance(value, EdnSet | EdnList):
            return True
        if type(value) is not tuple:
            return False
        if self._declarations.takes_several(attribute):
            return not self.is_lookup_ref(value)
        if attribute.kind.value_type == "tuple":
            return all(type(item) is tuple for item in value)
        if attribute.is_ref and len(value) == 2 and isinstance(value[0], Keyword):
            named = self._declarations.find(value[0])
            return named is None or named.kind.unique is None
        return True

    def is_lookup_ref(self, value: Any) -> bool:
        """Whether a value names an entity by a unique attribute, where no type says what the value is."""
        if type(value) is not tuple or len(value) != 2 or not isinstance(value[0], Keyword):
            return False
        named = self._declarations.find(value[0])
        if named is None or named.kind.unique is None:
            return False
        kind = named.kind.value_type
        return kind in ("ref", "tuple") or (kind is not None and coerced(kind, value[1]) is not None)
