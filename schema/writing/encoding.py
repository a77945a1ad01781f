"""EDN values as JSON in the contract's three encodings, a column at a time, and JSON arguments back as EDN values.

PLAIN is for reading, TAGGED loses nothing, EDN is text. Columns of one type take a short way; only `any` and
composite values are looked at one by one.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import orjson

from adalog.datalog import edn, values
from adalog.datalog.durations import Duration
from adalog.datalog.errors import AdalogError, quoted, shown
from adalog.schema.writing.longs import SAFE, write_long

Value = Any
Json = Any
Columns = Sequence[Sequence[Value]]
Weigh = Callable[[int], None]

# Bytes that are worth weighing before they are written.
_LONG: Final = 1_000


class Encoding(StrEnum):
    """How values are written as JSON."""

    PLAIN = "PLAIN"
    TAGGED = "TAGGED"
    EDN = "EDN"


def encode(value: Value, encoding: Encoding) -> Json:
    if encoding is Encoding.EDN:
        return edn.write(value)
    return _WRITERS[encoding](value)


def encode_column(
    column: Sequence[Value], type_name: str, encoding: Encoding, weigh: Weigh = lambda _: None
) -> Sequence[Json]:
    """A whole result column. `type_name` is the column's attribute type, or `any`. `weigh`: as of `MapWriter`."""
    if encoding is Encoding.EDN:
        return _edn_column(column, type_name, weigh)
    if type_name in ("string", "boolean"):
        return column
    if type_name in ("long", "ref"):
        if not column or (min(column) > -SAFE and max(column) < SAFE):
            return column
        return list(map(_WRITERS[encoding], column))
    if type_name == "double" and all(map(math.isfinite, column)):
        return column
    if type_name == "keyword":
        return _each_distinct(column, _WRITERS[encoding])
    if type_name == "map":
        return MapWriter(encoding, weigh).column(column)
    return list(map(_WRITERS[encoding], column))


def encode_rows(
    columns: Columns, types: Sequence[str], encoding: Encoding, weigh: Weigh = lambda _: None
) -> list[Json]:
    """Rows of JSON values; under EDN one string a row."""
    encoded = [encode_column(column, name, encoding, weigh) for column, name in zip(columns, types, strict=True)]
    if encoding is Encoding.EDN:
        return ["[" + " ".join(row) + "]" for row in zip(*encoded, strict=True)]
    return list(zip(*encoded, strict=True))


def encode_maps(
    keys: Sequence[Value], rows: Sequence[Json], columns: Columns, types: Sequence[str], encoding: Encoding
) -> list[Json]:
    """The rows already encoded, as maps under `keys` (keywords, strings or symbols, as in the find spec)."""
    if encoding is Encoding.EDN:
        names = [edn.write(key) for key in keys]
        written = [_edn_column(column, name) for column, name in zip(columns, types, strict=True)]
        return [
            "{" + " ".join(f"{key} {item}" for key, item in zip(names, row, strict=True)) + "}"
            for row in zip(*written, strict=True)
        ]
    if encoding is Encoding.TAGGED and values.type_name(keys[0]) != "string":
        tagged = [_tagged(key) for key in keys]
        return [{"#map": list(zip(tagged, row, strict=True))} for row in rows]
    plain = [_name(key) if values.type_name(key) != "string" else key for key in keys]
    return [dict(zip(plain, row, strict=True)) for row in rows]


def _edn_column(column: Sequence[Value], type_name: str, weigh: Weigh = lambda _: None) -> Sequence[str]:
    if type_name == "map":
        return MapWriter(Encoding.EDN, weigh).column(column)
    if type_name in ("long", "ref"):
        return list(map(str, column))
    if type_name in ("keyword", "string"):
        return _each_distinct(column, edn.write)
    return list(map(edn.write, column))


def _each_distinct(column: Sequence[Value], write: Callable[[Value], Json]) -> list[Json]:
    memo: dict[Value, Json] = {}
    written: list[Json] = []
    for value in column:
        text = memo.get(value)
        if text is None:
            text = memo[value] = write(value)
        written.append(text)
    return written


def iso(instant: datetime) -> str:
    """ISO-8601 in UTC to the millisecond, e.g. 2024-05-01T12:00:00.000Z."""
    if instant.tzinfo is not None:
        instant = instant.astimezone(UTC).replace(tzinfo=None)
    return instant.isoformat(timespec="milliseconds") + "Z"


def _double_text(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _bytes_text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _decimal_text(value: Decimal) -> str:
    return format(value, "f") if value.is_finite() and -30 < value.adjusted() < 30 else str(value)


def _name(value: Value) -> str:
    """A keyword's or symbol's text without the colon."""
    text: str = edn.write(value)
    return text.removeprefix(":")


def _plain(value: Value) -> Json:
    write = _PLAIN.get(values.type_name(value))
    return list(map(_plain, value)) if write is None else write(value)


_PLAIN: dict[str, Callable[[Value], Json]] = {
    **dict.fromkeys(("nil", "boolean"), lambda value: value),
    **dict.fromkeys(("string", "char", "uri", "uuid", "duration"), str),
    **dict.fromkeys(("long", "bigint"), write_long),
    **dict.fromkeys(
        ("double", "float"), lambda value: float(value) if math.isfinite(value) else _double_text(value)
    ),
    **dict.fromkeys(("keyword", "symbol"), edn.write),
    "bigdec": _decimal_text,
    "instant": iso,
    "bytes": _bytes_text,
    "map": lambda value: {plain_key(key): _plain(item) for key, item in value.items()},
    "set": lambda value: list(map(_plain, sorted(value, key=values.sort_key))),
}


def plain_key(key: Value) -> str:
    return key if isinstance(key, str) and values.type_name(key) == "string" else edn.write(key)


def _tagged(value: Value) -> Json:
    write = _TAGGED.get(values.type_name(value))
    return list(map(_tagged, value)) if write is None else write(value)


_TAGGED: dict[str, Callable[[Value], Json]] = {
    **dict.fromkeys(("nil", "boolean"), lambda value: value),
    "string": str,
    "long": lambda value: int(value) if -SAFE < value < SAFE else {"#long": str(int(value))},
    "double": lambda value: value if math.isfinite(value) else {"#double": _double_text(value)},
    "float": lambda value: {"#float": float(value) if math.isfinite(value) else _double_text(value)},
    "bigint": lambda value: {"#bigint": str(int(value))},
    "bigdec": lambda value: {"#dec": _decimal_text(value)},
    "keyword": lambda value: {"#kw": _name(value)},
    "symbol": lambda value: {"#sym": _name(value)},
    "char": lambda value: {"#char": str(value)},
    "uri": lambda value: {"#uri": str(value)},
    "instant": lambda value: {"#inst": iso(value)},
    "uuid": lambda value: {"#uuid": str(value)},
    "duration": lambda value: {"#duration": str(value)},
    "bytes": lambda value: {"#bytes": _bytes_text(value)},
    "map": lambda value: _tagged_pairs([(key, _tagged(item)) for key, item in value.items()]),
    "set": lambda value: {"#set": list(map(_tagged, sorted(value, key=values.sort_key)))},
    "list": lambda value: {"#list": list(map(_tagged, value))},
}


def _tagged_pairs(pairs: Sequence[tuple[Value, Json]]) -> Json:
    if all(values.type_name(key) == "string" and not key.startswith("#") for key, _ in pairs):
        return {str(key): item for key, item in pairs}
    return {"#map": [[_tagged(key), item] for key, item in pairs]}


_WRITERS: dict[Encoding, Callable[[Value], Json]] = {Encoding.PLAIN: _plain, Encoding.TAGGED: _tagged}


class MapWriter:
    """Writes pulled maps, which share the maps within them: each of those is written once.

    For a map it gives written JSON, a piece for `orjson.dumps`; under EDN, text. `weigh` is told of long strings
    and of maps written again, before they are put together, and may raise."""

    def __init__(self, encoding: Encoding, weigh: Weigh = lambda _: None) -> None:
        self._weigh = weigh
        self._write = edn.write if encoding is Encoding.EDN else _WRITERS[encoding]
        self._entries = {
            Encoding.PLAIN: self._plain_entries,
            Encoding.TAGGED: self._tagged_entries,
            Encoding.EDN: self._edn_entries,
        }[encoding]
        self._join = encoding is Encoding.EDN
        # With the map or key itself, so that no other comes to have its address.
        self._written: dict[int, tuple[Value, Json, int]] = {}
        self._keys: dict[int, tuple[Value, str]] = {}
        self._write_key = edn.write if encoding is Encoding.EDN else plain_key

    def column(self, maps: Sequence[Value]) -> list[Json]:
        """Each of the maps; nil among them is nil."""
        return [self.write(value) for value in maps]

    def write(self, value: Value) -> Json:
        """One value, which may be anything that a map holds."""
        kind = type(value)
        if kind is str and not self._join:
            if len(value) > _LONG:
                self._weigh(len(value))
            return value
        if kind is values.EdnMap:
            known = self._written.get(id(value))
            if known is None:
                text = self._entries(value)
                known = (value, text if self._join else orjson.Fragment(text), len(text))
                self._written[id(value)] = known
            elif known[2] > _LONG:
                self._weigh(known[2])
            return known[1]
        if kind is tuple:
            items = [self.write(item) for item in value]
            return "[" + " ".join(items) + "]" if self._join else items
        return self._write(value)

    def _key(self, key: Value) -> str:
        """A key's text; patterns have the same few in every map."""
        known = self._keys.get(id(key))
        if known is None:
            known = self._keys[id(key)] = (key, self._write_key(key))
        return known[1]

    def _plain_entries(self, value: values.EdnMap) -> bytes:
        return orjson.dumps({self._key(key): self.write(item) for key, item in value.items()})

    def _tagged_entries(self, value: values.EdnMap) -> bytes:
        return orjson.dumps(_tagged_pairs([(key, self.write(item)) for key, item in value.items()]))

    def _edn_entries(self, value: values.EdnMap) -> str:
        return "{" + ", ".join(f"{self._key(key)} {self.write(item)}" for key, item in value.items()) + "}"


class TagError(ValueError):
    """A JSON argument that is not what its tag promises."""


class NestingError(TagError):
    """A JSON argument that is nested more deeply than an EDN text may be."""


def decode(value: Json, depth: int = edn.DEFAULT.depth) -> Value:
    """A JSON argument as an EDN value: plain JSON as it stands, TAGGED objects by their tag.

    A list is a vector; an object whose one key begins with `#` is tagged; any other object is a map with string
    keys. More digits, or deeper nesting than `depth`, are refused as in EDN. Raises TagError."""
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else values.BigInt(_few_digits(value))
    if depth <= 0:
        raise NestingError(f"nested more than {edn.DEFAULT.depth} deep")
    if isinstance(value, list):
        return tuple(_decoded(value, depth - 1))
    if isinstance(value, dict):
        if len(value) == 1:
            tag, content = next(iter(value.items()))
            if tag.startswith("#"):
                return _untag(tag, content, depth - 1)
        return values.EdnMap({key: decode(item, depth - 1) for key, item in value.items()})
    raise TagError(f"not a JSON value: {quoted(value)}")


def _decoded(items: list[Json], depth: int) -> list[Value]:
    return [decode(item, depth) for item in items]


def _untag(tag: str, content: Json, depth: int) -> Value:
    read, within = _READERS.get(tag), _READERS_WITHIN.get(tag)
    if read is None and within is None:
        raise TagError(f"unknown tag {quoted(tag)}; known are {' '.join(sorted((*_READERS, *_READERS_WITHIN)))}")
    try:
        if within is not None:
            # An entry of a map is no level of its own.
            return within(_decoded(_list(content), depth + (tag == "#map")))
        assert read is not None
        return read(content)
    except TagError:
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise TagError(f'{{"{tag}": {quoted(content)}}} cannot be read: {shown(str(error), 120)}') from None


def _long(content: Json) -> int:
    number = _integer(content)
    if not -(2**63) <= number < 2**63:
        raise TagError(f'{{"#long": {quoted(content)}}} does not fit 64 bits; use #bigint')
    return number


def _integer(content: Json) -> int:
    if isinstance(content, bool) or not isinstance(content, (int, str)):
        raise TypeError("an integer, or a string of digits, was expected")
    return int(_few_digits(content))


def _few_digits(content: Json) -> Json:
    """The number, unless it has more digits than the EDN reader takes: their cost grows with their square."""
    size = len(content) if isinstance(content, str) else content.bit_length() // 3.33 if type(content) is int else 0
    if size > edn.MAX_DIGITS:
        raise ValueError(f"a number has at most {edn.MAX_DIGITS:,} digits")
    return content


def _decimal(content: Json) -> Decimal:
    if isinstance(content, bool) or not isinstance(content, (int, float, str)):
        raise TypeError("a number, or a string that holds one, was expected")
    text = str(_few_digits(content))
    exponent = text.lower().partition("e")[2].replace("_", "").strip()
    number = Decimal(text) if len(exponent) <= 6 else Decimal("NaN")
    if not number.is_finite():
        raise ValueError("a bigdec is a finite number" if len(exponent) <= 6 else "its exponent is out of range")
    if exponent and abs(int(exponent)) > edn.MAX_DIGITS:
        raise ValueError(f"its exponent is out of range; it goes from -{edn.MAX_DIGITS} to {edn.MAX_DIGITS}")
    return number


def _float(content: Json) -> values.Float:
    number = float(content)
    try:
        struct.pack("<f", number)
    except OverflowError:
        raise ValueError("it is too large for a 32-bit float; use #double") from None
    return values.Float(number)


def _text(content: Json) -> str:
    if not isinstance(content, str):
        raise TypeError("a string was expected")
    return content


def _char(content: Json) -> values.Char:
    if len(_text(content)) != 1:
        raise ValueError("one character was expected")
    return values.Char(content)


def _list(content: Json) -> list[Json]:
    if not isinstance(content, list):
        raise TypeError("a list was expected")
    return content


def _through_edn(prefix: str) -> Callable[[Json], Value]:
    """Reads by the language's own reader, so that a name or an instant is checked the same way everywhere."""

    def read(content: Json) -> Value:
        try:
            return edn.read(prefix + _text(content))
        except AdalogError as error:
            raise TagError(f"{quoted(content)}: {error.message}") from None

    return read


def _inst(content: Json) -> Value:
    return _through_edn("#inst ")('"' + _text(content).replace("\\", "").replace('"', "") + '"')


def _symbol(content: Json) -> Value:
    value = _through_edn("")(content)
    if values.type_name(value) != "symbol":
        raise TypeError("a symbol's name was expected")
    return value


def _set(members: list[Value]) -> Value:
    found = values.EdnSet(members)
    if len(found) < len(members):
        raise ValueError("a member is there twice")
    return found


def _map(entries: list[Value]) -> Value:
    if not all(type(entry) is tuple and len(entry) == 2 for entry in entries):
        raise ValueError("each entry is a list of a key and its value")
    found = values.EdnMap(entries)
    if len(found) < len(entries):
        raise ValueError("a key is there twice")
    return found


_READERS: dict[str, Callable[[Json], Value]] = {
    "#kw": lambda content: _through_edn(":")(_text(content).removeprefix(":")),
    "#sym": _symbol,
    "#inst": _inst,
    "#uuid": lambda content: UUID(_text(content)),
    "#long": _long,
    "#bigint": lambda content: values.BigInt(_integer(content)),
    "#dec": _decimal,
    "#double": lambda content: float(content),
    "#float": _float,
    "#bytes": lambda content: base64.b64decode(_text(content), validate=True),
    "#duration": lambda content: Duration.read(_text(content)),
    "#char": _char,
    "#uri": lambda content: values.Uri(_text(content)),
}

# Those that hold values, which are read before them.
_READERS_WITHIN: dict[str, Callable[[list[Value]], Value]] = {"#set": _set, "#list": values.EdnList, "#map": _map}
