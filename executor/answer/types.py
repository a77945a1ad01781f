"""The type of a column of codes, and the one that a column without rows would have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from adalog.datalog import ast
from adalog.executor.join.batch import Column as Codes
from adalog.planner.model.places import PlaceKind, VariablePlaces
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import layout
from adalog.store.values.attribute import Attribute
from adalog.store.values.layout import NIL, TAG_BOOLEAN, one_tag, tag_of, tags_of

_TYPES: Final = {0: "long", **layout.TYPES}


def type_of(codes: Codes) -> str:
    """The one type of all values; `any` if there are several, nil or no values."""
    if not len(codes):
        return "any"
    tag = tag_of(int(codes[0])) if len(codes) == 1 else one_tag(codes)
    if tag == TAG_BOOLEAN and (codes == NIL).any():
        return "any"
    if tag is None:
        return "long" if np.isin(tags_of(codes), (0, layout.TAG_LONG)).all() else "any"
    return _TYPES.get(tag, "any")


def expected_type(element: ast.FindElement, places: VariablePlaces, databases: Mapping[str, Snapshot]) -> str:
    """The type that the schema gives a column, for an answer without rows; `any` if it does not say."""
    if isinstance(element, ast.FindPull):
        return "map"
    if isinstance(element, ast.FindExpression):
        return "any"
    known = _type_of_variable(element.var.name, places, databases)
    if isinstance(element, ast.FindVar):
        return known or "any"
    # With a number before the variable the values are lists.
    return "any" if element.args else element.known.result_type(known or "any") or "any"


def _type_of_variable(name: str, places: VariablePlaces, databases: Mapping[str, Snapshot]) -> str | None:
    kinds = [each.kind_in(databases) for each in places.variables.get(name, ()) if not each.compared]
    found = {_type_of_place(kind) for kind in kinds}
    known = found.pop() if len(found) == 1 else None
    return known if known in _NAMES else None


def _type_of_place(kind: Attribute | PlaceKind | None) -> str | None:
    if isinstance(kind, Attribute):
        return kind.kind.value_type
    if kind is None or kind is PlaceKind.VALUE:
        return None
    return "keyword" if kind is PlaceKind.ATTRIBUTE else "long"


_NAMES: Final = frozenset(_TYPES.values())
