"""Texts, and what else JSON and files hold, as values of a type. `READERS` is the one table, by type.

A text is read in one of two notations. JSON has no keywords, instants or exact decimals, so plain JSON shows them
as text, which is read back exactly: a text that is no such value in its whole length is none. Files come from
programs that know nothing of adalog: there blanks are trimmed, signs, case and zones are free. What would lose
something is None in both.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple
from uuid import UUID

from adalog.datalog import edn
from adalog.datalog.durations import Duration
from adalog.datalog.edn.scalars import Malformed, uri
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import BigInt, EdnMap, Keyword, Symbol, instant
from adalog.store.files.packing import instant as instant_of_milliseconds
from adalog.store.values.coercion import asserted, coerced

FIRST_MS: Final = -62_135_596_800_000
"""The first millisecond since 1970 that a datetime can be."""
LAST_MS: Final = 253_402_300_799_999
"""The last one."""

# One token of EDN: no white space, no delimiter, no comment and nothing escaped.
_TOKEN: Final = re.compile(r'[^\s,;"\\#()\[\]{}]{1,10000}')
_INTEGER: Final = re.compile(r"-?[0-9]{1,10000}")
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9T:.+Z-]{3,32}")
_DOUBLES: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

# More than milliseconds.
_FINE: Final = re.compile(r"[.,][0-9]{3}[0-9]*[1-9]")
_FILE_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}")
_FILE_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_FILE_DOUBLES: Final = {
    **dict.fromkeys(("inf", "+inf", "infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}


def from_json(value_type: str, value: Any) -> Any | None:
    """A decoded JSON value as this type (not ref or tuple, which need a schema); None if it is none."""
    if type(value) is str:
        return READERS[value_type].json(value) if value_type in READERS else None
    if type(value) is float and value_type == "bigdec":
        # The shortest decimal that is this double: what was written.
        return Decimal(repr(value)) if math.isfinite(value) else None
    return coerced(value_type, value)


def from_file(value_type: str, value: Any, *, rounded: bool = False, zone: tzinfo = UTC) -> Any | None:
    """What a file holds (text, or a value of Parquet or JSON) as this type; None if it cannot be read so. rounded:
    instants and durations are rounded to milliseconds; otherwise finer ones cannot be read. zone: of
    local times."""
    if isinstance(value, str):
        if value_type == "instant":
            return _file_instant(value, rounded=rounded, zone=zone)
        if value_type == "duration":
            return _file_duration(value, rounded=rounded)
        return READERS[value_type].file(value) if value_type in READERS else None
    if isinstance(value, datetime):
        value = _in_milliseconds(value, rounded=rounded, zone=zone)
    elif value_type == "instant" and type(value) is int:
        return instant_of_milliseconds(value) if FIRST_MS <= value <= LAST_MS else None
    elif value_type == "uuid" and isinstance(value, bytes):
        # As Parquet has them.
        return UUID(bytes=value) if len(value) == 16 else None
    elif isinstance(value, Decimal) and value_type in ("double", "float"):
        # As a text of the same digits.
        return READERS[value_type].file(str(value))
    if not isinstance(value, bool | int | float | Decimal | bytes | datetime):
        return None
    return asserted(value_type, value)


def from_digits(value_type: str, text: str) -> Any | None:
    """A number of JSON, by its text, as this type; None if it cannot be."""
    value: Any
    if value_type in ("double", "float"):
        value = _file_double(text)
    else:
        value = int(text) if _FILE_INTEGER.fullmatch(text) else _file_decimal(text)
    return None if value is None else from_file(value_type, value)


def keyword(text: str) -> Keyword | None:
    """`":person/name"` as the keyword."""
    return _token(text, Keyword) if text.startswith(":") else None


def lookup_ref_meant(value: Any) -> tuple[Keyword, Any] | None:
    """`[:issue/id 1]` for `[issue/id 1]`, `["issue/id" 1]`, a map of one such entry, and `issue/id=1`."""
    if isinstance(value, Symbol) and "=" in value.name:
        name, _, text = value.name.partition("=")
        number = integer(text)
        value = (name, text if number is None else number)
    if isinstance(value, EdnMap) and len(value) == 1:
        [value] = value.items()
    if type(value) is not tuple or len(value) != 2:
        return None
    name = value[0].name if isinstance(value[0], Symbol | Keyword) else value[0]
    if type(name) is not str or "/" not in name or name.startswith("?"):
        return None
    named = keyword(f":{name.removeprefix(':')}")
    return None if named is None else (named, value[1])


def keyword_named(text: str) -> Keyword:
    """A keyword with or without its colon. Raises Malformed."""
    try:
        value = edn.read(":" + text.removeprefix(":"))
    except AdalogError as error:
        raise Malformed(f"{text!r} is no keyword: {error.message}") from None
    if not isinstance(value, Keyword):
        raise Malformed(f"{text!r} is no keyword")
    return Keyword(value.name)


def integer(text: str) -> int | None:
    """Digits as a long: plain JSON shows those beyond 2^53 as text."""
    return coerced("long", _token(text, int)) if _INTEGER.fullmatch(text) else None


def iso_instant(text: str) -> datetime | None:
    """ISO 8601; without an offset it is UTC."""
    try:
        return instant(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def _file_instant(text: str, *, rounded: bool = False, zone: tzinfo = UTC) -> datetime | None:
    if not rounded and _FINE.search(text):
        return None
    try:
        return _in_milliseconds(datetime.fromisoformat(text.strip()), rounded=rounded, zone=zone)
    except ValueError:
        return None


def _file_duration(text: str, *, rounded: bool = False) -> Duration | None:
    try:
        return Duration.read(text.strip(), rounded=rounded)
    except ValueError:
        return None


def _in_milliseconds(moment: datetime, *, rounded: bool, zone: tzinfo) -> datetime | None:
    if moment.microsecond % 1000 and not rounded:
        return None
    try:
        moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).astimezone(UTC)
        return instant(moment + timedelta(microseconds=500) * bool(moment.microsecond % 1000))
    except OverflowError:
        return None


def _token(text: str, kind: type[Any]) -> Any | None:
    """The value of a single token of EDN, if it is of this kind."""
    value = _edn(text) if _TOKEN.fullmatch(text) else None
    return value if type(value) is kind else None


def _tried(read: Callable[[str], Any], refusal: type[Exception]) -> Callable[[str], Any | None]:
    def tried(text: str) -> Any | None:
        try:
            return read(text)
        except refusal:
            return None

    return tried


def _matching(pattern: re.Pattern[str], read: Callable[[str], Any | None]) -> Callable[[str], Any | None]:
    return lambda text: read(text) if pattern.fullmatch(text) else None


def _uuid(text: str) -> UUID | None:
    value = _edn(f'#uuid "{text}"') if _TOKEN.fullmatch(text) else None
    return value if isinstance(value, UUID) else None


_edn: Final = _tried(edn.read, AdalogError)
_uri: Final = _tried(uri, Malformed)
# What base64 raises is a ValueError.
_bytes: Final = _tried(lambda text: base64.b64decode(text, validate=True), ValueError)


# The notation of files


def _stripped(read: Callable[[str], Any | None]) -> Callable[[str], Any | None]:
    return lambda text: read(text.strip())


def _file_integer(value_type: str) -> Callable[[str], Any | None]:
    def read(text: str) -> Any | None:
        if _FILE_INTEGER.fullmatch(text):
            return coerced(value_type, int(text))
        number = _file_decimal(text)
        return None if number is None else coerced(value_type, number)

    return _stripped(read)


def _file_double(text: str) -> float | None:
    if _FILE_NUMBER.fullmatch(text):
        if _FILE_INTEGER.fullmatch(text):
            # Whole numbers that a double cannot hold are none.
            return coerced("double", int(text))
        number = float(text)
        # As in EDN: what is too large for a double is not infinity.
        return number if math.isfinite(number) else None
    return _FILE_DOUBLES.get(text.lower())


def _file_float(text: str) -> Any | None:
    number = _file_double(text)
    return None if number is None else coerced("float", number)


def _file_decimal(text: str) -> Decimal | None:
    if len(text) > 400 or not _FILE_NUMBER.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if abs(number.adjusted()) < 400 else None


def _file_symbol(text: str) -> Symbol | None:
    value = _edn(text)
    return value if isinstance(value, Symbol) else None


class ScalarReader(NamedTuple):
    """How a text is read as a type, in plain JSON and in files; None if it is no such value."""

    json: Callable[[str], Any | None]
    file: Callable[[str], Any | None]


READERS: Final[Mapping[str, ScalarReader]] = {
    "string": ScalarReader(str, str),
    "keyword": ScalarReader(keyword, _stripped(_tried(keyword_named, Malformed))),
    "symbol": ScalarReader(lambda text: _token(text, Symbol), _file_symbol),
    "boolean": ScalarReader(lambda _: None, lambda text: {"true": True, "false": False}.get(text.strip().lower())),
    "long": ScalarReader(integer, _file_integer("long")),
    "bigint": ScalarReader(_matching(_INTEGER, lambda text: _token(text + "N", BigInt)), _file_integer("bigint")),
    "bigdec": ScalarReader(_matching(_DECIMAL, lambda text: _token(text + "M", Decimal)), _stripped(_file_decimal)),
    "double": ScalarReader(_DOUBLES.get, _stripped(_file_double)),
    "float": ScalarReader(
        lambda text: coerced("float", _DOUBLES[text]) if text in _DOUBLES else None, _stripped(_file_float)
    ),
    "instant": ScalarReader(_matching(_INSTANT, lambda text: _edn(f'#inst "{text}"')), _file_instant),
    "uuid": ScalarReader(_uuid, _stripped(_uuid)),
    "uri": ScalarReader(_uri, _stripped(_uri)),
    "duration": ScalarReader(_tried(Duration.read, ValueError), _file_duration),
    "bytes": ScalarReader(_bytes, _stripped(_bytes)),
}
"""By type."""

WRITTEN: Final[Mapping[str, tuple[str, str]]] = {
    "keyword": (":open", '":open"'),
    "symbol": ("open", '"open"'),
    "instant": ('#inst "2024-05-01T12:00:00Z"', '"2024-05-01T12:00:00Z"'),
    "uuid": ('#uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"', '"6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"'),
    "bigdec": ("9.99M", '9.99 or "9.99"'),
    "long": ("5", "5"),
    "bigint": ("5N", '5 or "5"'),
    "double": ("2.5", "2.5"),
    "float": ("2.5", "2.5"),
    "boolean": ("true", "true"),
    "string": ('"open"', '"open"'),
    "uri": ('#uri "https://example.org"', '"https://example.org"'),
    "duration": ('#duration "P1M2DT3H"', '"P1M2DT3H"'),
    "bytes": ('#bytes "AQID"', '"AQID"'),
}
"""How a value of each type is written in EDN and in JSON."""
