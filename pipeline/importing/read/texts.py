"""Text and what else files hold, read as values of the database's types."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

from adalog.datalog import edn
from adalog.datalog.edn.scalars import Malformed, uri
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import BigInt, Keyword, Symbol, Uri, instant
from adalog.store.files.packing import instant as instant_of
from adalog.store.values.coercion import coerced

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_NAMED: Final = {"nan": "nan", "inf": "inf", "infinity": "inf", "-inf": "-inf", "-infinity": "-inf", "+inf": "inf"}
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TRUTH: Final = {"true": True, "false": False}
FIRST_MS: Final = -62_135_596_800_000
"""The first millisecond since 1970 of what a datetime can be."""
LAST_MS: Final = 253_402_300_799_999
"""The last one."""


def keyword(text: str) -> Keyword:
    """A keyword with or without its colon. Raises Malformed."""
    try:
        value = edn.read(":" + text.removeprefix(":"))
    except AdalogError as error:
        raise Malformed(f"{text!r} is no keyword: {error.message}") from None
    if not isinstance(value, Keyword):
        raise Malformed(f"{text!r} is no keyword")
    return Keyword(value.name)


def value_of(raw: Any, value_type: str) -> Any | None:
    """What a file holds, as a value of a type; None where it cannot be read as that."""
    if isinstance(raw, str):
        read = _READERS.get(value_type)
        return None if read is None else read(raw)
    if isinstance(raw, datetime):
        raw = instant(raw if raw.tzinfo is not None else raw.replace(tzinfo=UTC))
    elif isinstance(raw, date):
        raw = datetime(raw.year, raw.month, raw.day, tzinfo=UTC)
    elif value_type == "instant" and type(raw) is int:
        return instant_of(raw) if FIRST_MS <= raw <= LAST_MS else None
    elif value_type == "uuid" and isinstance(raw, bytes):
        # As Parquet has them.
        return UUID(bytes=raw) if len(raw) == 16 else None
    if not isinstance(raw, bool | int | float | Decimal | bytes | datetime):
        return None
    return coerced(value_type, raw)


def _whole(text: str) -> int | None:
    text = text.strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def _long(text: str) -> Any:
    number = _whole(text)
    return None if number is None else coerced("long", number)


def _bigint(text: str) -> Any:
    number = _whole(text)
    return None if number is None else BigInt(number)


def _double(text: str) -> float | None:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        # As in EDN: what is too large for a double is not infinity.
        return number if math.isfinite(number) else None
    named = _NAMED.get(text.lower())
    return None if named is None else float(named)


def _float(text: str) -> Any:
    number = _double(text)
    return None if number is None else coerced("float", number)


def _bigdec(text: str) -> Decimal | None:
    text = text.strip()
    if len(text) > 400 or not _NUMBER.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if abs(number.adjusted()) < 400 else None


def _boolean(text: str) -> bool | None:
    return _TRUTH.get(text.strip().lower())


def _instant(text: str) -> datetime | None:
    """ISO 8601; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        return instant(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (OverflowError, ValueError):
        return None


def _uuid(text: str) -> UUID | None:
    text = text.strip()
    return UUID(text) if _UUID.fullmatch(text) else None


def _keyword(text: str) -> Keyword | None:
    try:
        return keyword(text.strip())
    except Malformed:
        return None


def _symbol(text: str) -> Symbol | None:
    try:
        value = edn.read(text)
    except AdalogError:
        return None
    return value if isinstance(value, Symbol) else None


def _uri(text: str) -> Uri | None:
    try:
        return uri(text.strip())
    except Malformed:
        return None


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None


def _number(text: str) -> Decimal | None:
    """A number of JSON by its digits."""
    return _bigdec(text)


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "long": _long,
    "bigint": _bigint,
    "double": _double,
    "float": _float,
    "bigdec": _bigdec,
    "string": str,
    "keyword": _keyword,
    "symbol": _symbol,
    "number": _number,
    "boolean": _boolean,
    "instant": _instant,
    "uuid": _uuid,
    "uri": _uri,
    "bytes": _bytes,
}
