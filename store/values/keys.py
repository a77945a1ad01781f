"""How each type's values are spelt as dictionary keys, or put into the code itself.

For `store.values.codes`. Spelling is canonical: two values have one spelling exactly when they are equal (dialect,
7).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Float, Keyword, Symbol, Uri
from adalog.store.files.packing import canonical_decimal, canonical_double, instant, milliseconds, pack, unpack
from adalog.store.values import layout

TEXT_TAGS: Final = frozenset(
    {layout.TAG_STRING, layout.TAG_KEYWORD, layout.TAG_SYMBOL, layout.TAG_URI, layout.TAG_DURATION}
)

# A key is bytes for the tag's dictionary, or an int: the whole code, which needs no dictionary.
Spelling = tuple[int, "bytes | int"]


def _long(value: int) -> Spelling:
    if layout.LONG_MIN <= value <= layout.LONG_MAX:
        return 0, value
    return layout.TAG_LONG, struct.pack("<q", value)


def _instant(value: datetime) -> Spelling:
    return layout.TAG_INSTANT, layout.code_of(layout.TAG_INSTANT, milliseconds(value) + layout.INSTANT_BIAS)


_SPELLINGS: Final[Mapping[type, Callable[[Any], Spelling]]] = {
    int: _long,
    bool: lambda value: (layout.TAG_BOOLEAN, layout.TRUE if value else layout.FALSE),
    datetime: _instant,
    type(None): lambda value: (layout.TAG_BOOLEAN, layout.NIL),
    str: lambda value: (layout.TAG_STRING, value.encode()),
    Keyword: lambda value: (layout.TAG_KEYWORD, value.name.encode()),
    Symbol: lambda value: (layout.TAG_SYMBOL, value.name.encode()),
    float: lambda value: (layout.TAG_DOUBLE, struct.pack("<d", canonical_double(value))),
    Float: lambda value: (layout.TAG_FLOAT, struct.pack("<f", canonical_double(value))),
    UUID: lambda value: (layout.TAG_UUID, value.bytes),
    BigInt: lambda value: (layout.TAG_BIGINT, b"%d" % value),
    Decimal: lambda value: (layout.TAG_BIGDEC, str(canonical_decimal(value)).encode()),
    Uri: lambda value: (layout.TAG_URI, value.encode()),
    bytes: lambda value: (layout.TAG_BYTES, value),
    Duration: lambda value: (layout.TAG_DURATION, str(value).encode()),
}

_VALUES: Final[Mapping[int, Callable[[bytes], Any]]] = {
    layout.TAG_STRING: bytes.decode,
    layout.TAG_KEYWORD: lambda key: Keyword(key.decode()),
    layout.TAG_SYMBOL: lambda key: Symbol(key.decode()),
    layout.TAG_DOUBLE: lambda key: struct.unpack("<d", key)[0],
    layout.TAG_FLOAT: lambda key: Float(struct.unpack("<f", key)[0]),
    layout.TAG_UUID: lambda key: UUID(bytes=key),
    layout.TAG_LONG: lambda key: struct.unpack("<q", key)[0],
    layout.TAG_BIGINT: BigInt,
    layout.TAG_BIGDEC: lambda key: Decimal(key.decode()),
    layout.TAG_URI: lambda key: Uri(key.decode()),
    layout.TAG_BYTES: bytes,
    layout.TAG_DURATION: lambda key: Duration.read(key.decode()),
    layout.TAG_OTHER: unpack,
}


def spell(value: Any) -> Spelling:
    """The value's tag and its dictionary key, or its code where it needs no dictionary (tag 0: its own long)."""
    spelling = _SPELLINGS.get(type(value))
    if spelling is not None:
        return spelling(value)
    return layout.TAG_OTHER, pack(value)


def value_of_key(tag: int, key: bytes) -> Any:
    return _VALUES[tag](key)


def values_of_keys(tag: int, keys: Sequence[bytes]) -> list[Any]:
    return list(map(_VALUES[tag], keys))


def inline_value(tag: int, payload: int) -> Any:
    """The value of a tag that needs no dictionary."""
    if tag == layout.TAG_INSTANT:
        return instant(payload - layout.INSTANT_BIAS)
    return (False, True, None)[payload]
