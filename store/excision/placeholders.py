"""Keys that take the place of values in dictionaries: random ones, of ordinary values of the same type, so that
whatever reads a dictionary reads them as any other."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from secrets import randbelow, token_bytes, token_hex
from typing import Any, Final
from uuid import uuid4

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Float, Keyword, Symbol, Uri
from adalog.store.values import layout
from adalog.store.values.dictionary import Dictionary
from adalog.store.values.keys import spell

_TEXT_BYTES: Final = 6


def _text() -> str:
    return f"x{token_hex(_TEXT_BYTES)}"


def _float() -> float:
    (value,) = struct.unpack("<f", struct.pack("<f", randbelow(1 << 24) / 256))
    return float(value)


_MAKERS: Final[Mapping[int, Callable[[], Any]]] = {
    layout.TAG_STRING: _text,
    layout.TAG_KEYWORD: lambda: Keyword(_text()),
    layout.TAG_SYMBOL: lambda: Symbol(_text()),
    layout.TAG_DOUBLE: lambda: randbelow(1 << 52) / 256,
    layout.TAG_FLOAT: lambda: Float(_float()),
    layout.TAG_UUID: uuid4,
    layout.TAG_LONG: lambda: (1 << 62) + randbelow(1 << 62),
    layout.TAG_BIGINT: lambda: BigInt((1 << 80) + randbelow(1 << 80)),
    layout.TAG_BIGDEC: lambda: Decimal(randbelow(10**12)).scaleb(-3),
    layout.TAG_URI: lambda: Uri(f"urn:{_text()}"),
    layout.TAG_BYTES: lambda: token_bytes(_TEXT_BYTES),
    layout.TAG_OTHER: lambda: (_text(),),
    layout.TAG_DURATION: lambda: Duration.read(f"PT{randbelow(1 << 40)}S"),
}


def placeholder(tag: int, dictionary: Dictionary) -> bytes:
    """A key of the tag that the dictionary does not have."""
    while True:
        made, key = spell(_MAKERS[tag]())
        assert made == tag, "a value of the type"
        assert isinstance(key, bytes), "of a type with a dictionary"
        if dictionary.find(key) is None:
            return key
