"""What the texts of a query and its rules have at a place, also with values in place of variables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from adalog.datalog.edn import read_form, write
from adalog.datalog.edn.form import Form
from adalog.datalog.errors import Position
from adalog.datalog.values import EdnList, EdnMap, EdnSet, Symbol, Value


class Texts:
    """`texts`: by the origin that positions name; that of the query itself has none."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def at(self, position: Position | None) -> str | None:
        """What is written at a place."""
        form = self._form(position)
        return None if form is None else write(form.value)

    def filled(self, position: Position | None, values: Mapping[str, Value]) -> str | None:
        """The same with values for variables."""
        form = self._form(position)
        return None if form is None else write(_filled(form.value, values))

    def _form(self, position: Position | None) -> Form | None:
        return None if position is None else self._forms.get((position.origin, position.line, position.column))

    @cached_property
    def _forms(self) -> dict[tuple[str, int, int], Form]:
        found: dict[tuple[str, int, int], Form] = {}
        for origin, text in self._texts.items():
            waiting = [read_form(text, origin=origin)]
            while waiting:
                form = waiting.pop()
                place = form.position
                if place is not None:
                    found.setdefault((origin, place.line, place.column), form)
                waiting += form.items
        return found


def _filled(value: Value, values: Mapping[str, Value]) -> Any:
    match value:
        case Symbol():
            return values.get(str(value), value)
        case EdnList():
            return EdnList([_filled(each, values) for each in value])
        case tuple():
            return tuple(_filled(each, values) for each in value)
        case EdnSet():
            return EdnSet([_filled(each, values) for each in value])
        case EdnMap():
            return EdnMap([(key, _filled(each, values)) for key, each in value.items()])
        case _:
            return value
