"""What single EDN tokens mean: numbers, keywords, symbols, strings, characters and tagged literals.

Every function takes the token as written and gives its value or raises `Malformed` with the reason; where in the
text that was is the reader's business.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from math import inf, isinf, nan
from typing import Final
from uuid import UUID

from adalog.datalog.durations import Duration
from adalog.datalog.edn.writer import CHARACTERS, ESCAPES, short
from adalog.datalog.hints import nearest, proposed
from adalog.datalog.values import (
    LONG_MAX,
    LONG_MIN,
    BigInt,
    Char,
    EdnList,
    EdnMap,
    Keyword,
    Symbol,
    Uri,
    Value,
    instant,
    type_name,
)

MAX_DIGITS = 4000


class Malformed(Exception):
    """A token that is not EDN: why, and how far into the token the fault is."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


# Numbers

_NUMERAL = re.compile(r"[+-]?[0-9]")
# An integer of so many digits is a long.
_SURELY_LONG = 18
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
_FLOATING = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")

_NUMBER_HINTS = [
    (re.compile(r"[+-]?0[0-9]+[NM]?"), "a number has no leading zeros"),
    (re.compile(r"[+-]?0[xX][0-9a-fA-F]+N?"), "hexadecimal numbers are not EDN; write it in decimal"),
    (re.compile(r"[+-]?[0-9]+/[0-9]+"), "ratios are not EDN; write it as a double such as 0.5"),
    (re.compile(r"[+-]?[0-9]+\."), "digits must follow the point, as in 1.0"),
    (re.compile(r"[+-]?[0-9]+[rR].*"), "numbers with a radix are not EDN; write it in decimal"),
    (re.compile(r"[+-]?[0-9.]+[eE][+-]?"), "digits must follow the exponent, as in 1e10"),
    (re.compile(r"[0-9]{4}-[0-9]{2}.*"), 'a date is written #inst "2024-05-01"'),
]


def _number(token: str) -> Value:
    if len(token) > MAX_DIGITS:
        raise Malformed(f"the number {short(token)} has {len(token):,} characters; at most {MAX_DIGITS:,} are read")
    if token.isdigit() and token.isascii() and token[0] != "0" and len(token) <= _SURELY_LONG:
        # Nearly all numbers.
        return int(token)
    if _INTEGER.fullmatch(token):
        number = int(token)
        return number if LONG_MIN <= number <= LONG_MAX else BigInt(number)
    if token[-1] == "N" and _INTEGER.fullmatch(token, 0, len(token) - 1):
        return BigInt(token[:-1])
    decimal = token[-1] == "M"
    match = _FLOATING.fullmatch(token, 0, len(token) - decimal)
    if match is None:
        hint = next((hint for pattern, hint in _NUMBER_HINTS if pattern.fullmatch(token)), None)
        raise Malformed(f"{short(token)} is not a number" + (f": {hint}" if hint else ""))
    if not decimal:
        if isinf(double := float(token)):
            raise Malformed(
                f"{token} is too large for a double; write {token}M for a bigdec, or ##Inf for infinity"
            )
        return double
    if match[1] is not None and (len(match[1]) > 6 or abs(int(match[1])) > MAX_DIGITS):
        raise Malformed(f"the exponent of {token} is out of range; it goes from -{MAX_DIGITS} to {MAX_DIGITS}")
    return Decimal(token[:-1])


# Keywords and symbols

_NAME = r"[\w.*+!\-?$%&=<>|:#']"
_FIRST = r"(?:[^\W\d]|[*!?$%&=<>|]|[.+\-](?!\d))"
_KEYWORD = re.compile(rf":(?![:/]){_NAME}+(?:/{_NAME}+)?")
# Division is the one name that is a slash itself.
_SYMBOL = re.compile(rf"/|clojure\.core//|{_FIRST}{_NAME}*(?:/{_FIRST}{_NAME}*)?")


def atom(token: str) -> Value:
    """The value of a token made of name characters: a number, keyword or symbol, or nil, true, false."""
    if token[0] == ":":
        return _known_keyword(token) if len(token) <= _SHORT_NAME else _keyword(token)
    if _NUMERAL.match(token):
        return _number(token)
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    if not _SYMBOL.fullmatch(token):
        if re.fullmatch(r"[+-]?\.[0-9].*", token):
            raise Malformed(f"{short(token)} is not a number: digits must come before the point, as in 0.5")
        if token.startswith(("//", "/*")):
            raise Malformed(f"{short(token)} is not EDN; a comment begins with ; and goes to the end of its line")
        raise Malformed(f"{short(token)} is not a symbol; one is written name or namespace/name")
    return Symbol(token)


def _keyword(token: str) -> Keyword:
    if token == ":":
        raise Malformed(
            ": is not a keyword; after a key it is JSON, and EDN has keywords for keys and no colon after them: "
            '{:person/name "Ada" :person/born 1815}'
        )
    if not _KEYWORD.fullmatch(token):
        raise Malformed(f"{short(token)} is not a keyword; one is written :name or :namespace/name")
    return Keyword(token[1:])


# Most keywords of most texts are the names of attributes, and are met again and again.
_known_keyword = lru_cache(4096)(_keyword)
_SHORT_NAME: Final = 100

_CONSTANTS: Mapping[str, Value] = {"nil": None, "true": True, "false": False}
_SYMBOLIC: Mapping[str, float] = {"##Inf": inf, "##-Inf": -inf, "##NaN": nan}


def symbolic(token: str) -> float:
    """`##Inf`, `##-Inf` or `##NaN`."""
    if token not in _SYMBOLIC:
        raise Malformed(f"{short(token)} is unknown; there are ##Inf, ##-Inf and ##NaN")
    return _SYMBOLIC[token]


# Strings and characters

_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_ESCAPES: Mapping[str, str] = {escape: meant for meant, escape in ESCAPES.items()}


def string(token: str) -> str:
    """The value of a string token with escapes in it, quotes included."""
    return _ESCAPE.sub(_unescape, token)[1:-1]


def _unescape(match: re.Match[str]) -> str:
    escape = match[0]
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    if len(escape) == 12:  # a surrogate pair, as JSON writers make them
        return (bytes.fromhex(escape[2:6]) + bytes.fromhex(escape[8:])).decode("utf-16-be")
    if len(escape) == 6:
        return _code_point(escape, match.start())
    raise Malformed(
        f'the string has the unknown escape {escape}; there are \\" \\\\ \\n \\t \\r \\b \\f and \\uXXXX'
        " (four hexadecimal digits), and a backslash itself is written \\\\",
        match.start(),
    )


def _code_point(escape: str, offset: int = 0) -> str:
    code = int(escape[2:], 16)
    if 0xD800 <= code <= 0xDFFF:
        raise Malformed(f"{escape} is half of a surrogate pair, not a character", offset)
    return chr(code)


_CHARACTERS: Mapping[str, str] = {name: meant for meant, name in CHARACTERS.items()}


def character(token: str) -> Char:
    r"""The value of `\a`, `\newline` or `\u00e9`."""
    name = token[1:]
    if len(name) == 1:
        return Char(name)
    if name in _CHARACTERS:
        return Char(_CHARACTERS[name])
    if re.fullmatch(r"u[0-9a-fA-F]{4}", name):
        return Char(_code_point(token))
    if not name:
        raise Malformed("a backslash must be followed by a character, as in \\a or \\newline")
    raise Malformed(
        f"{short(token)} is not a character{nearest(name, _CHARACTERS, prefix=chr(92))}; one is written \\a, "
        "\\u00e9, or \\newline \\return \\space \\tab \\formfeed \\backspace"
    )


# Tagged literals

_INSTANT = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))?)?)?)?"
)


def _inst(text: str) -> datetime:
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise Malformed(f'#inst "{short(text)}" is not an instant; write it as #inst "2024-05-01T12:30:00.000Z"')
    year, month, day, hour, minute, second, fraction, sign, ahead_hours, ahead_minutes = match.groups()
    ahead = timedelta(hours=int(ahead_hours or 0), minutes=int(ahead_minutes or 0))
    try:
        return instant(
            datetime(
                int(year),
                int(month or 1),
                int(day or 1),
                int(hour or 0),
                int(minute or 0),
                int(second or 0),
                int((fraction or "0").ljust(6, "0")[:6]),
                timezone(-ahead if sign == "-" else ahead),
            )
        )
    except (ValueError, OverflowError) as error:
        raise Malformed(f'#inst "{text}" is not an instant: {error}') from None


_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def _uuid(text: str) -> UUID:
    if not _UUID.fullmatch(text):
        hint = 'write it as #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'
        raise Malformed(f'#uuid "{short(text)}" is not a UUID; {hint}')
    return UUID(text)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        hint = "its length is a multiple of four, of A-Z a-z 0-9 + / ="
        raise Malformed(f'#bytes "{short(text)}" is not base64; {hint}') from None


def _duration(text: str) -> Duration:
    try:
        return Duration.read(text)
    except ValueError as error:
        raise Malformed(f'#duration "{short(text)}" is not a duration: {error}') from None


def uri(text: str) -> Uri:
    """A URI. Raises Malformed where it has characters that a URI has not."""
    if not text or re.search(r'[\s<>"{}|\\^`\x00-\x20\x7f]', text):
        raise Malformed(f'#uri "{short(text)}" is not a URI; characters such as a space are written %20')
    return Uri(text)


DB_ID: Final = Symbol("db/id")
"""Begins the list that stands for a tag without a number."""


def _db_id(value: Value) -> Value:
    """Datomic's tempids: a negative number, or (db/id :db.part/user) for an entity that nothing else names."""
    if type(value) is tuple and 1 <= len(value) <= 2 and isinstance(value[0], Keyword):
        if len(value) == 1 or value[0].name == "db.part/tx":
            return EdnList((DB_ID, value[0]))
        if type(value[1]) is int and value[1] < 0:
            return value[1]
    raise Malformed("#db/id takes a partition and a negative number or none, as in #db/id [:db.part/user -1]")


_TAGS: Mapping[str, Callable[[str], Value]] = {
    "inst": _inst,
    "uuid": _uuid,
    "bytes": _bytes,
    "uri": uri,
    "duration": _duration,
}


_OTHER_TAGS: Mapping[str, str] = {
    **dict.fromkeys(("date", "datetime", "time", "timestamp", "instant", "local-date", "zoned-date-time"), "inst"),
    **dict.fromkeys(("guid", "id"), "uuid"),
    **dict.fromkeys(("url", "iri"), "uri"),
    **dict.fromkeys(("base64", "binary", "bin"), "bytes"),
    **dict.fromkeys(("period", "interval"), "duration"),
}
"""Tags that other programs write, and what they are here."""


def tagged(token: str, value: Value) -> Value:
    """The value of `#tag value`, or of `#:namespace{…}`, the token being `#tag`."""
    name = token[1:]
    if name[0] == ":":
        return _namespaced(name[1:], value)
    if name == "db/id":
        return _db_id(value)
    if type(value) is not str:
        raise Malformed(f'#{name} takes a string, as in #{name} "…", not a {type_name(value)}')
    return _TAGS[name](value)


def check_tag(token: str) -> None:
    """Refuses an unknown tag before its value is read."""
    name = token[1:]
    if name.startswith(":"):
        if not _SYMBOL.fullmatch(name[1:]) or "/" in name:
            raise Malformed(f"{short(token)} is not a map namespace; one is written #:person{{:name …}}")
    elif name not in _TAGS and name != "db/id":
        if name == "db/fn":
            raise Malformed(
                'nothing runs code; #db/fn is here a stored query, :db/fn "[:find … :in $ ?x :where …]"'
            )
        if name in ("xtdb/id", "crux/id", "object"):
            raise Malformed(f"#{name} is no value that a text can hold; write the id itself, a keyword or a string")
        meant = _OTHER_TAGS.get(name.lower().rpartition("/")[2])
        hint = nearest(name, _TAGS, prefix="#") if meant is None else proposed(f"#{meant}")
        raise Malformed(f"unknown tag {short(token)}{hint}; there are {' '.join(f'#{tag}' for tag in _TAGS)}")


def _namespaced(namespace: str, value: Value) -> EdnMap:
    if type_name(value) != "map":
        raise Malformed(f"#:{namespace} takes a map, as in #:{namespace}{{:name …}}, not a {type_name(value)}")
    entries = [(_qualified(namespace, key), item) for key, item in value.items()]
    qualified = EdnMap(entries)
    if len(qualified) < len(entries):
        raise Malformed(f"two keys of the map are the same once they have the namespace {namespace}")
    return qualified


def _qualified(namespace: str, key: Value) -> Value:
    if not isinstance(key, (Keyword, Symbol)):
        return key
    own, slash, local = key.name.partition("/")
    if not slash:
        return type(key)(f"{namespace}/{own}")
    return type(key)(local) if own == "_" else key
