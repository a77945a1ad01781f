"""Selections before the values of variables are known: a slot stands in the place of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adalog.schema.typed.selection import Selected


@dataclass(frozen=True, slots=True)
class Slot:
    """Stands for the value of a variable, or for what `convert` makes of it."""

    name: str
    convert: Callable[[Any], Any] | None = None

    def of(self, values: Mapping[str, Any]) -> Any:
        """Raises what `convert` raises."""
        value = values[self.name]
        return value if self.convert is None else self.convert(value)


def filled(chosen: Selected, values: Mapping[str, Any]) -> Selected:
    """The selection with the values of some variables in their slots."""
    return Selected(
        chosen.key,
        chosen.field,
        filled_value(chosen.arguments, values),
        chosen.type_name,
        {name: tuple(filled(each, values) for each in fields) for name, fields in chosen.fields.items()},
    )


def filled_value(given: Any, values: Mapping[str, Any]) -> Any:
    """The same of an argument's value."""
    if isinstance(given, Slot):
        return given.of(values) if given.name in values else given
    if isinstance(given, Mapping):
        return {name: filled_value(each, values) for name, each in given.items()}
    return [filled_value(each, values) for each in given] if isinstance(given, list) else given
