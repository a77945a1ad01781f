"""Calls of built-ins that look up attributes of an entity."""

from __future__ import annotations

from typing import Final

from adalog.datalog.ast import Source
from adalog.planner.model.logical import FunctionAtom, PredicateAtom, Term

Call = PredicateAtom | FunctionAtom

LOOKUPS: Final = frozenset(("get-else", "get-attr", "get-some", "missing?"))
"""Built-ins that look up attributes of one entity."""
WITH_DEFAULT: Final = frozenset(("get-else", "get-attr"))
"""Those that take one attribute, and what is given in place of its values."""


def source_of(call: Call) -> str:
    """The database that a call names; the default one where it names none."""
    return next((argument.name for argument in call.args if isinstance(argument, Source)), "$")


def values_of(call: Call) -> list[Term]:
    return [argument for argument in call.args if not isinstance(argument, Source)]


def looked_up_attributes(call: Call) -> list[Term]:
    """The attributes that one of LOOKUPS looks up; its first value is the entity."""
    values = values_of(call)
    return values[1:2] if call.name in WITH_DEFAULT else values[1:]
