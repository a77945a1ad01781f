"""Selections before the values of variables are known: a slot stands in the place of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adalog.schema.typed.selection import Selected


@dataclass(frozen=True, slots=True)
class Slot:
    """Stands for a value, or for what `convert` makes of it. name: of its variable, with keys and places."""

    name: str
    convert: Callable[[Any], Any] | None = None

    def of(self, values: Mapping[str, Any]) -> Any:
        """Raises what `convert` raises."""
        value = values[self.name]
        return value if self.convert is None else self.convert(value)


class VariableForm:
    """What variables are made of but for their values: keys, lengths of lists, and what is null. values: by the
    names of their slots."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._parts: list[str] = []

    @property
    def key(self) -> str:
        """Equal for equal forms."""
        return " ".join(self._parts)

    def slots(self, name: str, value: Any) -> Any:
        """A value with slots in it."""
        kind = type(value)
        if kind is dict:
            # JSON may have any key.
            self._parts.append(f"{name}{{{len(value)}}}")
            return {key: self.slots(f"{name}.{key!r}", each) for key, each in value.items()}
        if kind is list:
            self._parts.append(f"{name}[{len(value)}]")
            return [self.slots(f"{name}.{number}", each) for number, each in enumerate(value)]
        self._parts.append(f"{name}-" if value is None else name)
        if value is None:
            return None
        self.values[name] = value
        return Slot(name)


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
