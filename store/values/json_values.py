"""A value that came as JSON, as an attribute's type: the way back from how values are shown in plain JSON.

JSON has no keywords, instants or exact decimals, so text stands for them. It is read by the language's own reader,
which knows the limits; what is no such value in its whole length is None, as is what would lose something.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from adalog.datalog import edn
from adalog.datalog.edn.scalars import Malformed, uri
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import BigInt, Keyword, Symbol, Uri
from adalog.store.values.coercion import coerced

# One token of EDN: no white space, no delimiter, no comment and nothing escaped.
_TOKEN: Final = re.compile(r'[^\s,;"\\#()\[\]{}]{1,10000}')
_INTEGER: Final = re.compile(r"-?[0-9]{1,10000}")
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9T:.+Z-]{3,32}")
_DOUBLES: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def from_json(value_type: str, value: Any) -> Any | None:
    """A decoded JSON value as this type (not ref or tuple, which need a schema); None where it is none."""
    if type(value) is str:
        read = _FROM_TEXT.get(value_type)
        return None if read is None else read(value)
    if type(value) is float and value_type == "bigdec":
        # The shortest decimal that is this double: what was written.
        return Decimal(repr(value)) if math.isfinite(value) else None
    return coerced(value_type, value)


def keyword(text: str) -> Keyword | None:
    """`":person/name"` as the keyword."""
    return _read(text, Keyword) if text.startswith(":") else None


def integer(text: str) -> int | None:
    """Digits as a long: plain JSON shows those beyond 2^53 as text."""
    return coerced("long", _read(text, int)) if _INTEGER.fullmatch(text) else None


def _read(text: str, kind: type[Any]) -> Any | None:
    if _TOKEN.fullmatch(text) is None:
        return None
    value = _edn(text)
    return value if type(value) is kind else None


def _edn(text: str) -> Any | None:
    try:
        return edn.read(text)
    except AdalogError:
        return None


def _instant(text: str) -> Any | None:
    return _edn(f'#inst "{text}"') if _INSTANT.fullmatch(text) else None


def _uuid(text: str) -> UUID | None:
    value = _edn(f'#uuid "{text}"') if _TOKEN.fullmatch(text) else None
    return value if isinstance(value, UUID) else None


def _bigdec(text: str) -> Decimal | None:
    return _read(text + "M", Decimal) if _DECIMAL.fullmatch(text) else None


def _bigint(text: str) -> BigInt | None:
    return _read(text + "N", BigInt) if _INTEGER.fullmatch(text) else None


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _uri(text: str) -> Uri | None:
    try:
        return uri(text)
    except Malformed:
        return None


_FROM_TEXT: Final[Mapping[str, Callable[[str], Any | None]]] = {
    "string": lambda text: text,
    "keyword": keyword,
    "symbol": lambda text: _read(text, Symbol),
    "long": integer,
    "bigint": _bigint,
    "bigdec": _bigdec,
    "double": _DOUBLES.get,
    "float": lambda text: coerced("float", _DOUBLES[text]) if text in _DOUBLES else None,
    "instant": _instant,
    "uuid": _uuid,
    "uri": _uri,
    "bytes": _bytes,
}

WRITTEN: Final[Mapping[str, tuple[str, str]]] = {
    "keyword": (":open", '":open"'),
    "symbol": ("open", '"open"'),
    "instant": ('#inst "2024-05-01T12:00:00Z"', '"2024-05-01T12:00:00Z"'),
    "uuid": (
        '#uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"',
        '"6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"',
    ),
    "bigdec": ("9.99M", '9.99 or "9.99"'),
    "long": ("5", "5"),
    "bigint": ("5N", '5 or "5"'),
    "double": ("2.5", "2.5"),
    "float": ("2.5", "2.5"),
    "boolean": ("true", "true"),
    "string": ('"open"', '"open"'),
    "uri": ('#uri "https://example.org"', '"https://example.org"'),
    "bytes": ('#bytes "AQID"', '"AQID"'),
}
"""How a value of each type is written in EDN and in JSON."""
