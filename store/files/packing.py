"""EDN values as bytes: MessagePack with one extension type for each kind of value that it does not know.

For the log and for dictionary keys, so the bytes are canonical: values that are equal in the dialect's sense (7)
are equal as bytes, whatever order a set was written in and however many zeros end a decimal.
"""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable, Mapping, Set
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgpack  # type: ignore[import-untyped]

from adalog.datalog.durations import Duration
from adalog.datalog.errors import limit_exceeded
from adalog.datalog.values import BigInt, Char, EdnList, EdnMap, EdnSet, Float, Keyword, NotAValueError, Symbol, Uri

_KEYWORD: Final = 1
_SYMBOL: Final = 2
_BIGINT: Final = 3
_BIGDEC: Final = 4
_CHAR: Final = 5
_INSTANT: Final = 6
_UUID: Final = 7
_URI: Final = 8
_FLOAT: Final = 9
_LIST: Final = 10
_MAP: Final = 11
_SET: Final = 12
_DURATION: Final = 13

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MAX_DIGITS: Final = 20_000


# A packer for each thread, unless its buffer has become large: to make one takes longer than most values do.
_KEPT_BYTES: Final = 1 << 16
_own: Final = threading.local()


def pack(value: object) -> bytes:
    """The canonical bytes of an EDN value, or of lists and string-keyed dicts of them."""
    # Taken away while it is used, as an extension may be made of packed values; one that failed is not put back.
    packer = _own.__dict__.pop("packer", None)
    if packer is None:
        packer = msgpack.Packer(default=_extension, strict_types=True, use_bin_type=True)
    packed: bytes = packer.pack(value)
    if len(packed) <= _KEPT_BYTES:
        _own.packer = packer
    return packed


def pack_as_written(value: object) -> bytes:
    """The bytes of a value as it is: sets and maps keep their order, decimals their zeros. `unpack` reads them."""
    packed: bytes = msgpack.packb(value, default=_extension_as_written, strict_types=True, use_bin_type=True)
    return packed


def unpack(data: bytes) -> Any:
    """The value of `pack`'s bytes; vectors and lists of Python come back as tuples."""
    return msgpack.unpackb(data, ext_hook=_value, use_list=False, strict_map_key=False, raw=False)


def milliseconds(instant: datetime) -> int:
    """Milliseconds since 1970, UTC."""
    return (instant - _EPOCH) // _MILLISECOND


def instant(since_epoch: int) -> datetime:
    """The instant so many milliseconds after 1970, UTC."""
    return _EPOCH + since_epoch * _MILLISECOND


def canonical_decimal(value: Decimal) -> Decimal:
    """The one form of all decimals equal in number: no zeros at the end of a fraction, no positive exponent. Raises
    LIMIT_EXCEEDED, before it is made, for a form with more digits than any literal or operation gives."""
    if not value.is_finite():
        return value
    if value == 0:
        return Decimal(0)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if exponent > 0:
        if len(digits) + exponent > _MAX_DIGITS:
            raise limit_exceeded(
                f"a bigdec of {len(digits) + exponent:,} digits is too long; it has at most {_MAX_DIGITS:,}"
            )
        return Decimal((sign, digits + (0,) * exponent, 0))
    end = len(digits)
    while exponent < 0 and digits[end - 1] == 0:
        end, exponent = end - 1, exponent + 1
    return Decimal((sign, digits[:end], exponent))


def canonical_double(value: float) -> float:
    """One zero and one NaN."""
    return math.nan if value != value else value + 0.0


def _inner(value: object) -> object:
    return canonical_double(value) if type(value) is float else value


def _extension(value: object) -> object:
    match value:
        case tuple() if not isinstance(value, EdnList):
            return [_inner(item) for item in value]
        case Keyword():
            return msgpack.ExtType(_KEYWORD, value.name.encode())
        case Symbol():
            return msgpack.ExtType(_SYMBOL, value.name.encode())
        case datetime():
            return msgpack.ExtType(_INSTANT, milliseconds(value).to_bytes(8, "big", signed=True))
        case Uri():
            return msgpack.ExtType(_URI, value.encode())
        case Char():
            return msgpack.ExtType(_CHAR, value.encode())
        case Float():
            return msgpack.ExtType(_FLOAT, struct.pack(">f", canonical_double(value)))
        case BigInt():
            return msgpack.ExtType(_BIGINT, b"%d" % value)
        case Decimal():
            return msgpack.ExtType(_BIGDEC, str(canonical_decimal(value)).encode())
        case UUID():
            return msgpack.ExtType(_UUID, value.bytes)
        case Duration():
            return msgpack.ExtType(_DURATION, str(value).encode())
        case EdnList():
            return msgpack.ExtType(_LIST, b"".join(pack(_inner(item)) for item in value))
        case Mapping():
            pairs = sorted((pack(_inner(key)), pack(_inner(item))) for key, item in value.items())
            return msgpack.ExtType(_MAP, b"".join(key + item for key, item in pairs))
        case Set():
            return msgpack.ExtType(_SET, b"".join(sorted(pack(_inner(item)) for item in value)))
    raise NotAValueError(value)


def _extension_as_written(value: object) -> object:
    match value:
        case EdnList():
            return msgpack.ExtType(_LIST, b"".join(map(pack_as_written, value)))
        case tuple():
            return list(value)
        case Decimal():
            return msgpack.ExtType(_BIGDEC, str(value).encode())
        case Float():
            return msgpack.ExtType(_FLOAT, struct.pack(">f", value))
        case Mapping():
            pairs = (pack_as_written(key) + pack_as_written(item) for key, item in value.items())
            return msgpack.ExtType(_MAP, b"".join(pairs))
        case Set():
            return msgpack.ExtType(_SET, b"".join(map(pack_as_written, value)))
    return _extension(value)


def _items(data: bytes) -> list[Any]:
    unpacker = msgpack.Unpacker(ext_hook=_value, use_list=False, strict_map_key=False, raw=False)
    unpacker.feed(data)
    return list(unpacker)


def _map(data: bytes) -> EdnMap:
    items = _items(data)
    return EdnMap(zip(items[::2], items[1::2], strict=True))


_READERS: Final[Mapping[int, Callable[[bytes], object]]] = {
    _KEYWORD: lambda data: Keyword(data.decode()),
    _SYMBOL: lambda data: Symbol(data.decode()),
    _BIGINT: BigInt,
    _BIGDEC: lambda data: Decimal(data.decode()),
    _CHAR: lambda data: Char(data.decode()),
    _INSTANT: lambda data: instant(int.from_bytes(data, "big", signed=True)),
    _UUID: lambda data: UUID(bytes=data),
    _URI: lambda data: Uri(data.decode()),
    _FLOAT: lambda data: Float(struct.unpack(">f", data)[0]),
    _LIST: lambda data: EdnList(_items(data)),
    _MAP: _map,
    _SET: lambda data: EdnSet(_items(data)),
    _DURATION: lambda data: Duration.read(data.decode()),
}


def _value(kind: int, data: bytes) -> object:
    read = _READERS.get(kind)
    if read is None:
        raise ValueError(f"unknown extension type {kind}: written by a newer version?")
    return read(data)
