"""What built-ins of texts, patterns and formats mean, in a few lines each."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any
from uuid import UUID

from adalog.datalog.edn import write
from adalog.datalog.values import Keyword, type_name
from tests.property.expression_meaning import NUMBERS, Meaning, holds, known
from tests.property.expression_numbers import Refused, Unknown

_MOST = 1 << 20


def text(value: Any) -> str:
    """The value as `str` has it."""
    match type_name(value):
        case "nil":
            return ""
        case "string" | "char" | "uri":
            return str.__str__(value)
        case "bigint":
            return str(int(value))
        case "bigdec":
            # Equal values have several spellings, of which any may be known already.
            if value != value.normalize() or value.as_tuple().exponent > 0 or len(str(value)) > 45:
                raise Unknown
            return str(value)
        case "double":
            return "0.0" if value == 0 else write(value)
        case "instant":
            return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z".rjust(24, "0")
        case "uuid" | "duration":
            return str(value)
        case "bytes":
            return base64.b64encode(value).decode()
    if any(each in repr(value) for each in ("Decimal", "Set")):
        raise Unknown
    return write(value)


def _bounded(whole: str) -> str:
    return whole if len(whole) <= _MOST else known(None)


def _subs(whole: str, start: int, end: int | None = None) -> str:
    end = len(whole) if end is None else end
    return whole[start:end] if 0 <= start <= end <= len(whole) else known(None)


def _index_of(whole: str, part: str, start: int = 0) -> int | None:
    return next((at for at in range(max(0, start), len(whole) + 1) if whole[at:].startswith(part)), None)


def _last_index_of(whole: str, part: str, start: int | None = None) -> int | None:
    last = len(whole) if start is None else min(start, len(whole))
    return next((at for at in range(last, -1, -1) if whole[at:].startswith(part)), None)


def _padded(left: bool, whole: str, width: int, fill: str = " ") -> str:
    if width > _MOST:
        raise Refused
    missing = max(0, width - len(whole)) if fill else 0
    filled = (fill * missing)[:missing]
    return (filled + whole if left else whole + filled)[: max(0, width)]


def _named(value: Any) -> str:
    if isinstance(value, str) and type(value) is str:
        return value
    return value.local if isinstance(value, Keyword) else known(None)


def _keyword(*args: Any) -> Keyword:
    if len(args) == 1 and isinstance(args[0], Keyword):
        return args[0]
    if any(type(each) is not str for each in args if each is not None or len(args) == 1) or args[-1] is None:
        raise Refused
    parts = args[0].split("/", 1) if len(args) == 1 else [each for each in args if each is not None]
    for part in parts:
        if not part or part[0] in "':" or re.search(r"[\s,;\"`~@^()\[\]{}\\/]", part):
            raise Refused
    return Keyword("/".join(parts))


def _join(*args: Any) -> str:
    if args[-1] is None:
        return ""
    if type_name(args[-1]) not in ("tuple", "list", "set"):
        raise Refused
    return (text(args[0]) if len(args) > 1 else "").join(map(text, args[-1]))


def _split_lines(whole: str) -> tuple[str, ...]:
    return _split(whole, "\r?\n")


# Patterns


def _found(match: re.Match[str] | None) -> Any:
    return None if match is None else (match[0], *match.groups()) if match.re.groups else match[0]


def _of_pattern(find: Callable[[str, str, int], Any]) -> Callable[[str, str], Any]:
    return lambda pattern, whole: find(pattern, whole, re.ASCII)


def _split(whole: str, pattern: str, limit: int = 0) -> tuple[str, ...]:
    """As in Java: an empty match at the beginning does not count, and empty parts at the end are dropped."""
    parts, at = [], 0
    for match in re.finditer(pattern, whole, re.ASCII):
        if match.end() > 0 and not 0 < limit <= len(parts) + 1:
            parts.append(whole[at : match.start()])
            at = match.end()
    parts.append(whole[at:])
    while limit == 0 and at > 0 and parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _replaced(most: int, whole: str, pattern: str, replacement: str) -> str:
    def piece(match: re.Match[str]) -> str:
        given = re.sub(r"\\(.)", lambda escaped: f"\0{escaped[1]}", replacement)
        return re.sub(r"\0(.)|\$(\d)", lambda part: part[1] or match[int(part[2])] or "", given)

    return re.sub(pattern, piece, whole, count=most, flags=re.ASCII)


def _like(value: Any, pattern: Any) -> bool | None:
    """None of nil."""
    if value is None:
        return None
    if type(value) is not str or type(pattern) is not str:
        raise Refused
    meant = {"%": ".*", "_": "."}
    parts = re.findall(r"(?s)\\(.?)|([^\\])", pattern)
    return re.fullmatch("".join(meant.get(b) or re.escape(a or b) for a, b in parts), value, re.DOTALL) is not None


# Formats


_SPECIFIER = re.compile(r"%(?:(\d)\$)?([-+ 0,(#]*)(\d*)(?:\.(\d+))?([a-zA-Z%])")


def _format(pattern: str, *args: Any) -> str:
    """As in Java."""
    taken = iter(args)

    def piece(found: re.Match[str]) -> str:
        place, flags, width, digits, kind = found.groups()
        if kind in "%n":
            return {"%": "%", "n": "\n"}[kind]
        try:
            value = args[int(place) - 1] if place else next(taken)
        except (IndexError, StopIteration):
            raise Refused from None
        written = _written(value, flags, int(width or 0), None if digits is None else int(digits), kind.lower())
        written = written.ljust(int(width or 0)) if "-" in flags else written.rjust(int(width or 0))
        return written.upper() if kind.isupper() else written

    return _SPECIFIER.sub(piece, pattern)


def _written(value: Any, flags: str, width: int, digits: int | None, kind: str) -> str:
    types = {"d": {"long", "bigint"}, "f": NUMBERS - {"long", "bigint"}}
    types |= {"x": types["d"], "o": types["d"], "e": types["f"], "s": None, "b": None}
    if kind not in types or (types[kind] and type_name(value) not in types[kind]):
        raise Refused
    if kind in "sb":
        plain = str(holds(value)).lower() if kind == "b" else "null" if value is None else text(value)
        return plain[:digits]
    if value != value:
        return "NaN"
    if kind in "xo" and type(value) is int:
        value %= 2**64
    negative = value < 0
    if isinstance(value, int):
        body = format(abs(int(value)), f",{kind}" if "," in flags else kind)
    elif value in (float("inf"), float("-inf")):
        body, flags = "Infinity", flags.replace("0", "")
    else:
        body = _real_text(abs(Decimal(repr(value)) if isinstance(value, float) else value), flags, digits, kind)
    sign, end = ("(", ")") if negative and "(" in flags else ("-" if negative else "+" if "+" in flags else "", "")
    return sign + body.rjust(width - len(sign + end) if "0" in flags else 0, "0") + end


def _real_text(value: Decimal, flags: str, digits: int | None, kind: str) -> str:
    digits = 6 if digits is None else digits
    if kind == "f":
        rounded = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, Context(prec=9000))
        return format(rounded, ",f" if "," in flags else "f")
    if not value:
        return f"{0:.{digits}f}e+00"
    shift = Context(prec=digits + 1, rounding=ROUND_HALF_UP).plus(value).adjusted()
    mantissa = value.scaleb(-shift, Context(prec=9000)).quantize(
        Decimal(1).scaleb(-digits), ROUND_HALF_UP, Context(prec=9000)
    )
    return f"{mantissa}e{'-' if shift < 0 else '+'}{abs(shift):02}"


def _parsed(shape: str, read: Callable[[str], Any]) -> Meaning:
    return Meaning("number", "text", lambda s: read(s) if re.fullmatch(shape, s) else None)


TEXTS = {
    "str": Meaning("text", "any*", lambda *values: _bounded("".join(map(text, values)))),
    "subs": Meaning("text", "text long long?", _subs),
    "name": Meaning("text", "keyword", _named, takes_any=True),
    "namespace": Meaning(
        "text", "keyword", lambda x: x.namespace if isinstance(x, Keyword) else known(None), takes_any=True
    ),
    "keyword": Meaning("keyword", "text text?", _keyword, takes_any=True),
    "starts-with?": Meaning("boolean", "text text", lambda s, part: s[: len(part)] == part),
    "ends-with?": Meaning("boolean", "text text", lambda s, part: part == s[len(s) - len(part) :]),
    "includes?": Meaning("boolean", "text text", lambda s, part: _index_of(s, part) is not None),
    "upper-case": Meaning("text", "text", str.upper),
    "lower-case": Meaning("text", "text", str.lower),
    "capitalize": Meaning("text", "text", str.capitalize),
    "reverse": Meaning("text", "text", lambda s: "".join(reversed(s))),
    "trim": Meaning("text", "text", str.strip),
    "triml": Meaning("text", "text", str.lstrip),
    "trimr": Meaning("text", "text", str.rstrip),
    "trim-newline": Meaning("text", "text", lambda s: s.rstrip("\r\n")),
    "blank?": Meaning(
        "boolean",
        "text",
        lambda s: s is None or (s.strip() == "" if type(s) is str else known(None)),
        takes_any=True,
    ),
    "replace": Meaning("text", "text text text", lambda s, a, b: _bounded(re.sub(re.escape(a), lambda _: b, s))),
    "replace-first": Meaning(
        "text", "text text text", lambda s, a, b: _bounded(re.sub(re.escape(a), lambda _: b, s, count=1))
    ),
    "index-of": Meaning("number", "text text long?", _index_of),
    "last-index-of": Meaning("number", "text text long?", _last_index_of),
    "join": Meaning("text", "text collection", _join, takes_any=True),
    "lpad": Meaning("text", "text width text?", partial(_padded, True)),
    "rpad": Meaning("text", "text width text?", partial(_padded, False)),
    "split-lines": Meaning("collection", "text", _split_lines),
    "split": Meaning("collection", "text pattern long?", _split),
    "format": Meaning("text", "format any any*", _format),
    "re-find": Meaning("any", "pattern text", _of_pattern(lambda p, s, flags: _found(re.search(p, s, flags)))),
    "re-matches": Meaning(
        "any", "pattern text", _of_pattern(lambda p, s, flags: _found(re.fullmatch(p, s, flags)))
    ),
    "re-seq": Meaning(
        "collection",
        "pattern text",
        _of_pattern(lambda p, s, flags: tuple(map(_found, re.finditer(p, s, flags))) or None),
    ),
    "re-pattern": Meaning("text", "pattern", lambda pattern: pattern),
    "re-replace": Meaning("text", "text pattern replacement", partial(_replaced, 0)),
    "re-replace-first": Meaning("text", "text pattern replacement", partial(_replaced, 1)),
    "like": Meaning("boolean", "text text", lambda s, p: _like(s, p) is True, takes_any=True),
    "not-like": Meaning("boolean", "text text", lambda s, p: _like(s, p) is False, takes_any=True),
    "parse-long": _parsed(r"[-+]?[0-9]{1,30}", lambda s: int(s) if -(2**63) <= int(s) < 2**63 else None),
    "parse-double": Meaning(
        "number",
        "text",
        lambda s: float(s) if re.fullmatch(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*", s) else None,
    ),
    "parse-boolean": Meaning("boolean", "text", lambda s: {"true": True, "false": False}.get(s)),
    "parse-uuid": Meaning(
        "uuid", "text", lambda s: UUID(s) if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", s) else None
    ),
}
