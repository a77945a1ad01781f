"""Columns of EDN texts as values of a type: by the column where they are written as `adalog export` writes them,
others one by one, each distinct text once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import BigInt
from adalog.pipeline.importing.read.typed_columns import (
    Int32s,
    SpeltKey,
    TypedColumn,
    ValuePart,
    by_domain,
    of_codes,
    of_doubles,
    of_keys,
    one_by_one,
    spelt_key,
)
from adalog.store.values import layout
from adalog.store.values.coercion import asserted, coerced_tuple

LIMITS: Final = edn.Limits(size=1 << 30)

_NAME: Final = r"[A-Za-z*!_?$%&=<>|][A-Za-z0-9*!_?$%&=<>|.+-]*"
_INSTANT: Final = r'^#inst "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}-00:00"$'
_DOUBLE: Final = r"^-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,20}([eE][+-]?[0-9]{1,2})?|[eE][+-]?[0-9]{1,2})$"
_HEX: Final = "[0-9a-f]"
_UUID: Final = f'^#uuid "{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"$'
_DASHES: Final = frozenset({8, 13, 18, 23})


@dataclass(frozen=True, slots=True)
class TupleShape:
    """The types of a tuple's items, or one type of all of them; neither: any."""

    types: tuple[str, ...] | None = None
    each: str | None = None

    def types_of(self, length: int) -> tuple[str, ...] | None:
        """The types of the items of a tuple of this length; None: any."""
        return self.types or (None if self.each is None else (self.each,) * length)

    @property
    def refers(self) -> bool:
        return "ref" in (self.types or (self.each,))


Entity = Callable[[int], int | None]
"""The entity here of a number, if there is one."""


def values_of(texts: pa.Array, rows: Int32s, value_type: str, shape: TupleShape, entity: Entity) -> TypedColumn:
    """The values of EDN texts, each of which belongs to a row. Not for refs."""
    short = _SHORT.get(value_type)
    if short is None:
        return one_by_one(texts, rows, _reader(value_type, shape, entity))
    pattern, read = short
    plain = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    parts = []
    if plain.any():
        which = np.flatnonzero(plain)
        try:
            parts = [read(texts.take(pa.array(which)), rows[which])]
        except pa.ArrowInvalid:
            # There is no thirteenth month.
            plain[:] = False
    others = np.flatnonzero(~plain)
    if not len(others):
        return TypedColumn(parts, rows[:0])
    found = one_by_one(texts.take(pa.array(others)), rows[others], _reader(value_type, shape, entity))
    return TypedColumn(by_domain([*parts, *found.parts]), found.bad)


def spelt_of(value: Any, value_type: str, shape: TupleShape, entity: Entity) -> SpeltKey | None:
    """The key of a value as this type; None if it cannot be one."""
    value = _tuple_of(value, shape, entity) if value_type == "tuple" else asserted(value_type, value)
    if value is None:
        return None
    try:
        return spelt_key(value)
    except (UnicodeEncodeError, OverflowError, TypeError, AdalogError):
        return None


def _reader(value_type: str, shape: TupleShape, entity: Entity) -> Callable[[str], SpeltKey | None]:
    number = _NUMBERS.get(value_type)

    def read(text: str) -> SpeltKey | None:
        if number is not None:
            # Values that were computed may have more digits than literals.
            value = number(text)
            if value is not None:
                return spelt_of(value, value_type, shape, entity)
        try:
            return spelt_of(edn.read(text, LIMITS), value_type, shape, entity)
        except AdalogError:
            return None

    return read


def _tuple_of(value: Any, shape: TupleShape, entity: Entity) -> tuple[Any, ...] | None:
    if type(value) is not tuple:
        return None
    types = shape.types_of(len(value))
    if types is None:
        return value
    if len(types) != len(value):
        return None
    items = list(value)
    for place, (kind, item) in enumerate(zip(types, value, strict=True)):
        if kind == "ref" and item is not None:
            items[place] = entity(item) if type(item) is int else None
            if items[place] is None:
                return None
    return coerced_tuple(types, tuple(items), asserted)


def bigint(text: str) -> BigInt | None:
    """Digits as a number, without a limit."""
    try:
        return BigInt(Decimal(text)) if text.removeprefix("-").isdecimal() else None
    except (InvalidOperation, ValueError):
        return None


def bigdec(text: str) -> Decimal | None:
    """A decimal number, without a limit."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


_NUMBERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bigint": lambda text: bigint(text[:-1]) if text.endswith("N") else None,
    "bigdec": lambda text: bigdec(text[:-1]) if text.endswith("M") else None,
}


def _inside(texts: pa.Array, before: int, after: int) -> pa.Array:
    """The texts without so many bytes at both ends."""
    return pc.binary_slice(texts.cast(pa.binary()), before, -after if after else None)


def _within_text(tag: int, after: int) -> Callable[[pa.Array, Int32s], ValuePart]:
    """Reads keys that lie within texts, from the second byte on."""
    return lambda texts, rows: of_keys(tag, rows, _inside(texts, 1, after).cast(pa.large_binary()))


def _booleans(texts: pa.Array, rows: Int32s) -> ValuePart:
    true = pc.equal(texts, "true").to_numpy(zero_copy_only=False)
    return of_codes(rows, np.where(true, layout.TRUE, layout.FALSE))


def _instants(texts: pa.Array, rows: Int32s) -> ValuePart:
    moments = _inside(texts, len('#inst "'), len('-00:00"')).cast(pa.string()).cast(pa.timestamp("ms"))
    ticks = moments.cast(pa.int64()).to_numpy()
    return of_codes(rows, ticks + (layout.code_of(layout.TAG_INSTANT, 0) + layout.INSTANT_BIAS))


def _uuids(texts: pa.Array, rows: Int32s) -> ValuePart:
    digits = _inside(texts, len('#uuid "'), 1).cast(pa.large_binary())
    first = int(np.frombuffer(digits.buffers()[1], np.int64)[digits.offset])
    letters = np.frombuffer(digits.buffers()[2], np.uint8, 36 * len(digits), first).reshape(-1, 36)
    letters = letters[:, [place for place in range(36) if place not in _DASHES]]
    nibbles = (letters & 15) + 9 * (letters >> 6)
    content = ((nibbles[:, ::2] << 4) | nibbles[:, 1::2]).astype(np.uint8)
    ends = pa.py_buffer(16 * np.arange(len(digits) + 1, dtype=np.int64))
    heap = pa.py_buffer(np.ascontiguousarray(content))
    keys = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(digits), [None, ends, heap])
    return of_keys(layout.TAG_UUID, rows, keys)


_SHORT: Final[Mapping[str, tuple[str, Callable[[pa.Array, Int32s], ValuePart]]]] = {
    "string": (r'^"[^"\\]*"$', _within_text(layout.TAG_STRING, 1)),
    "keyword": (f"^:{_NAME}(/{_NAME})?$", _within_text(layout.TAG_KEYWORD, 0)),
    "long": (r"^(0|-?[1-9][0-9]{0,16})$", lambda texts, rows: of_codes(rows, texts.cast(pa.int64()).to_numpy())),
    "double": (_DOUBLE, lambda texts, rows: of_doubles(rows, texts.cast(pa.float64()).to_numpy())),
    "boolean": ("^(true|false)$", _booleans),
    "instant": (_INSTANT, _instants),
    "uuid": (_UUID, _uuids),
}
