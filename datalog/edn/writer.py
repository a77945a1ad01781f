"""EDN values as text that reads back as the same values."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from adalog.datalog.values import Char, Value, type_name


def write(value: Value) -> str:
    """The value as EDN. Raises TypeError for what is not an EDN value."""
    return _WRITERS[type_name(value)](value)


def short(text: str) -> str:
    """A text for a message, at most a line of it."""
    return text if len(text) <= 60 else text[:57] + "…"


def shown(value: Value) -> str:
    """A value for a message, at most a line of it."""
    return short(write(value))


_SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\]')
ESCAPES: Mapping[str, str] = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
}
CHARACTERS: Mapping[str, str] = {
    "\n": "newline",
    "\r": "return",
    " ": "space",
    "\t": "tab",
    "\f": "formfeed",
    "\b": "backspace",
}


def _string(value: str) -> str:
    if _SPECIAL.search(value) is None:
        return f'"{value}"'
    return '"' + _SPECIAL.sub(lambda match: ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", value) + '"'


def _character(value: Char) -> str:
    if value in CHARACTERS:
        return "\\" + CHARACTERS[value]
    return "\\" + value if value.isprintable() else f"\\u{ord(value):04x}"


def _double(value: float) -> str:
    if value != value:
        return "##NaN"
    if value in (float("inf"), float("-inf")):
        return "##Inf" if value > 0 else "##-Inf"
    return repr(float(value))


def _float(value: float) -> str:
    """The shortest decimal that is this value once it is cut to 32 bits."""
    for digits in range(6, 9):
        candidate = float(f"{value:.{digits}g}")
        if abs(candidate) < 3.4e38 and struct.unpack("f", struct.pack("f", candidate))[0] == value:
            return _double(candidate)
    return _double(value)


def _sequence(opening: str, closing: str) -> Callable[[Iterable[Value]], str]:
    return lambda items: opening + " ".join(map(write, items)) + closing


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "nil": lambda value: "nil",
    "boolean": lambda value: "true" if value else "false",
    "long": str,
    "bigint": lambda value: f"{int(value)}N",
    "double": _double,
    "float": _float,
    "bigdec": lambda value: f"{value}M",
    "string": _string,
    "keyword": str,
    "symbol": str,
    "char": _character,
    "instant": lambda value: f'#inst "{value.replace(tzinfo=None).isoformat(timespec="milliseconds")}-00:00"',
    "uuid": lambda value: f'#uuid "{value}"',
    "uri": lambda value: f"#uri {_string(value)}",
    "bytes": lambda value: f'#bytes "{base64.b64encode(value).decode("ascii")}"',
    "duration": lambda value: f'#duration "{value}"',
    "tuple": _sequence("[", "]"),
    "list": _sequence("(", ")"),
    "map": lambda value: "{" + ", ".join(f"{write(key)} {write(item)}" for key, item in value.items()) + "}",
    "set": _sequence("#{", "}"),
}
