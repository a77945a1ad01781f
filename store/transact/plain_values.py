"""The short way through a transaction's reading: values that are what their attributes hold, as nearly all are.

Whatever is not plain gets None here and goes the long way of `store.transact.expand`, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from adalog.datalog.values import Keyword
from adalog.store.state.state import DatabaseState
from adalog.store.transact.declarations import Declarations
from adalog.store.transact.operations import Term
from adalog.store.values import bootstrap, layout
from adalog.store.values.attribute import SCHEMA_BASE, Attribute

_TYPES: Final = {
    "string": str,
    "keyword": Keyword,
    "double": float,
    "boolean": bool,
    "instant": datetime,
    "uuid": UUID,
}
_SPECIAL: Final = frozenset({bootstrap.ATTR_PREDS, bootstrap.ENTITY_PREDS, bootstrap.ENSURE})

# The term of a value, or None.
Reader = Callable[[Any], Term | None]


class PlainReaders:
    """One transaction's attributes and entities, each looked at once. tempid: the term of a tempid's name."""

    def __init__(self, state: DatabaseState, declarations: Declarations, tempid: Callable[[str], Term]) -> None:
        self._intern = state.codes.intern
        self._declarations = declarations
        self._tempid = tempid
        self._known: dict[str, tuple[Attribute, Reader] | None] = {}
        self._named: dict[str | int, Term] = {}

    def attribute(self, key: Any) -> tuple[Attribute, Reader] | None:
        """An attribute that a keyword names, with what reads its plain values."""
        if type(key) is not Keyword:
            return None
        name: str = key.name
        found = self._known.get(name)
        if found is None:
            attribute = self._declarations.find(key)
            # One without a type is given it by the long way, so it may be found next time.
            if attribute is not None and attribute.kind.value_type is not None:
                reader = self._reader(attribute)
                found = self._known[name] = None if reader is None else (attribute, reader)
        return found

    def entity(self, value: Any) -> Term | None:
        """An entity that a number or a tempid names."""
        kind = type(value)
        if kind is int:
            if 0 <= value < SCHEMA_BASE:
                return int(value)
        elif kind is not str or value[:1] == "\0":
            return None
        term = self._named.get(value)
        if term is None and (kind is str or value < 0):
            term = self._named[value] = self._tempid(str(value))
        return term

    def _reader(self, attribute: Attribute) -> Reader | None:
        if attribute.kind.value_type == "ref" and _is_free(attribute):
            return self.entity
        return reader_of(attribute, self._intern)


def reader_of(attribute: Attribute, intern: Callable[[Any], int]) -> Reader | None:
    """What reads the plain values of an attribute that holds no entities; None where it has none."""
    if not _is_free(attribute):
        return None
    if attribute.kind.value_type == "long":
        return _long
    kind = _TYPES.get(str(attribute.kind.value_type))
    if kind is None:
        return None

    def read(value: Any) -> int | None:
        if type(value) is not kind:
            return None
        try:
            return intern(value)
        except (UnicodeEncodeError, TypeError, OverflowError):
            return None

    return read


def _is_free(attribute: Attribute) -> bool:
    """Whether its values are what is written, and mean nothing else."""
    return attribute.id not in _SPECIAL and attribute.kind.tuple_attrs is None


def _long(value: Any) -> int | None:
    return value if type(value) is int and layout.LONG_MIN <= value <= layout.LONG_MAX else None
