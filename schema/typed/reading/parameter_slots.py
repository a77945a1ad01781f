"""Which variables of a document become parameters of its queries: their values change nothing else of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected
from adalog.schema.typed.slots import Slot

_ID: Final = "id"
_COMPARED: Final = frozenset(("eq", "ne", "lt", "lte", "gt", "gte", "contains", "startsWith", "endsWith"))


def parameter_slots(model: Model, root: TypedRoot, chosen: Selected) -> frozenset[str]:
    """The variables of which all slots stand where a compiler takes a value as it is. All others may decide
    how a query is written."""
    places = _Places(model)
    keys = {_ID, *_plain_keys(root.model)} if root.kind in ("one", "node") else set()
    for name, value in chosen.arguments.items():
        if name in keys:
            places.parameter(value)
        elif name == "where" and root.kind == "list":
            places.where(root.model, value)
        elif name == "offset" and root.kind == "list":
            places.parameter(value)
        else:
            places.other(value)
    places.fields(chosen)
    return frozenset(places.parameters - places.others)


def _plain_keys(kind: TypeModel | None) -> list[str]:
    return [] if kind is None else [name for name, shown in kind.uniques.items() if _is_plain(shown)]


def _is_plain(shown: FieldModel) -> bool:
    """Whether its values are parameters as they are given."""
    return shown.enum is None and shown.scalar not in (None, "JSON")


@dataclass(slots=True)
class _Places:
    """The variables that stand where a parameter does, and those that stand elsewhere."""

    model: Model
    parameters: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def parameter(self, value: Any) -> None:
        if isinstance(value, Slot):
            self.parameters.add(value.name)
        else:
            self.other(value)

    def other(self, value: Any) -> None:
        if isinstance(value, Slot):
            self.others.add(value.name)
        for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            self.other(each)

    def fields(self, chosen: Selected) -> None:
        for type_name, shown in chosen.fields.items():
            kind = self.model.types.get(type_name)
            for each in shown:
                of = None if kind is None else kind.fields.get(each.field)
                for name, value in each.arguments.items():
                    if name == "where" and of is not None and of.many:
                        self.where(self._target(of), value)
                    else:
                        self.other(value)
                self.fields(each)

    def where(self, kind: TypeModel | None, given: Any) -> None:
        """A filter of a type; None: of entities of any type."""
        if kind is None or not isinstance(given, Mapping):
            self.other(given)
            return
        for name, value in given.items():
            shown = kind.fields.get(name)
            if name in ("and", "or") and isinstance(value, list):
                for each in value:
                    self.where(kind, each)
            elif name == "not":
                self.where(kind, value)
            elif name == _ID:
                self._compared(value, ("eq", "ne"))
            elif shown is None:
                self.other(value)
            elif not shown.refers:
                self._valued(shown, value)
            elif not shown.many:
                self.where(self._target(shown), value)
            else:
                self._listed(shown, value)

    def _target(self, shown: FieldModel) -> TypeModel | None:
        return self.model.types.get(shown.target or "")

    def _listed(self, shown: FieldModel, given: Any) -> None:
        if not isinstance(given, Mapping):
            self.other(given)
            return
        for name, value in given.items():
            if name == "count":
                self.other(value)
            else:
                self.where(self._target(shown), value)

    def _valued(self, shown: FieldModel, given: Any) -> None:
        if not _is_plain(shown) or not isinstance(given, Mapping) or "ignoreCase" in given:
            self.other(given)
        else:
            self._compared(given, _COMPARED)

    def _compared(self, given: Any, operators: Any) -> None:
        if not isinstance(given, Mapping):
            self.other(given)
            return
        for name, value in given.items():
            if name in operators:
                self.parameter(value)
            else:
                self.other(value)
