"""Texts of numbers, and numbers of texts: `format` with the patterns of Java's, and `parse-long` and its kin."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final
from uuid import UUID

from adalog.datalog.builtins.arithmetic import MAX_DIGITS, MAX_EXPONENT
from adalog.datalog.builtins.builtin import Builtin, refuse, refuse_type, shown_call, text_of
from adalog.datalog.builtins.text import check_length, text
from adalog.datalog.values import LONG_MAX, LONG_MIN, NUMERIC, Value, type_name

_SPECIFIER: Final = re.compile(r"%(?:(\d+)\$)?([-+ 0,(#]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_MOST: Final = 1000
_EVERY_DIGIT: Final = Context(prec=2 * MAX_DIGITS + _MOST, Emax=2 * MAX_EXPONENT, Emin=-2 * MAX_EXPONENT)
_DOUBLE: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:Infinity|NaN)", re.ASCII)


def _format(*args: Value) -> str:
    pattern = text_of("format", args, 0)
    parts: list[str] = []
    at = taken = size = 0
    for found in _SPECIFIER.finditer(pattern):
        plain = pattern[at : found.start()]
        if "%" in plain:
            _refuse(args, pattern[at + plain.index("%") :][:8])
        at = found.end()
        conversion = found[5]
        if conversion == "%":
            piece = "%"
        elif conversion == "n":
            piece = "\n"
        else:
            place = int(found[1]) if found[1] else (taken := taken + 1)
            if not 1 <= place < len(args):
                refuse(f"{shown_call('format', args)}: {found[0]} takes argument {place}, which is not there")
            piece = _formatted(args, found, args[place])
        parts += plain, piece
        size += len(plain) + len(piece)
        check_length("format", args, size)
    rest = pattern[at:]
    if "%" in rest:
        _refuse(args, rest[rest.index("%") :][:8])
    check_length("format", args, size + len(rest))
    return "".join([*parts, rest])


def _refuse(args: tuple[Value, ...], part: str) -> None:
    refuse(f"{shown_call('format', args)}: {part} is no conversion; there are %s %d %f %e %x %o %b %c %n and %%")


def _formatted(args: tuple[Value, ...], found: re.Match[str], value: Value) -> str:
    flags, width, digits = found[2], int(found[3] or 0), None if found[4] is None else int(found[4])
    if max(width, digits or 0) > _MOST:
        refuse(f"{shown_call('format', args)}: {found[0]} is wider than {_MOST} characters")
    conversion = found[5]
    match conversion.lower():
        case "s" | "b" | "c":
            shown_value = _plain(args, conversion.lower(), value)
            piece = shown_value if digits is None else shown_value[:digits]
        case "d" | "x" | "o":
            if type_name(value) not in ("long", "bigint"):
                refuse_type("format", args, value, f"a long or bigint for {found[0]}")
            piece = _integer(value, conversion.lower(), flags, width)
        case "f" | "e":
            if type_name(value) not in NUMERIC - {"long", "bigint"}:
                refuse_type(
                    "format", args, value, f"a double or bigdec for {found[0]} (double makes one of a long)"
                )
            piece = _fraction(value, conversion.lower(), 6 if digits is None else digits, flags, width)
        case _:
            _refuse(args, found[0])
    piece = piece.upper() if conversion.isupper() else piece
    return piece.ljust(width) if "-" in flags else piece.rjust(width)


def _plain(args: tuple[Value, ...], conversion: str, value: Value) -> str:
    if conversion == "b":
        return "true" if value is not None and value is not False else "false"
    if conversion == "c" and type_name(value) != "char":
        refuse_type("format", args, value, "a character for %c")
    return "null" if value is None else text(value)


def _integer(value: int, conversion: str, flags: str, width: int) -> str:
    if conversion == "d":
        return _number(format(abs(value), ",d" if "," in flags else "d"), value < 0, flags, width)
    # A long below zero is written as its 64 bits.
    shown_value = value % 2**64 if type(value) is int else value
    prefix = {"x": "0x", "o": "0"}[conversion] if "#" in flags else ""
    return _number(format(abs(shown_value), conversion), shown_value < 0, flags, width, prefix)


def _fraction(value: Value, conversion: str, digits: int, flags: str, width: int) -> str:
    exact = Decimal(repr(float(value))) if isinstance(value, float) else value
    if not exact.is_finite():
        return "NaN" if exact.is_nan() else _number("Infinity", exact < 0, flags.replace("0", ""), width)
    if conversion == "f":
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EVERY_DIGIT)
        written = format(abs(rounded), f"{',' if ',' in flags else ''}f")
    else:
        rounded = Context(prec=digits + 1, rounding=ROUND_HALF_UP).plus(exact)
        # Decimal's zeros have exponents.
        mantissa, _, exponent = format(abs(rounded) if rounded else Decimal(0), f".{digits}e").partition("e")
        written = f"{mantissa}e{int(exponent) if rounded else 0:+03d}"
    return _number(written, exact < 0, flags, width)


def _number(written: str, negative: bool, flags: str, width: int, prefix: str = "") -> str:
    before, after = "+" if "+" in flags else " " if " " in flags else "", ""
    if negative:
        before, after = ("(", ")") if "(" in flags else ("-", "")
    before += prefix
    zeros = width - len(before) - len(after) if "0" in flags else 0
    return before + written.rjust(zeros, "0") + after


def _parsed(name: str, read: Callable[[str], Value]) -> Builtin:
    """What a text says; nil if it says no such thing."""
    return Builtin(name, 1, 1, lambda *args: read(text_of(name, args, 0)))


def _long(written: str) -> int | None:
    if not re.fullmatch(r"[-+]?[0-9]{1,30}", written):
        return None
    value = int(written)
    return value if LONG_MIN <= value <= LONG_MAX else None


def _double(written: str) -> float | None:
    trimmed = written.strip()
    return float(trimmed) if len(trimmed) <= MAX_DIGITS and _DOUBLE.fullmatch(trimmed) else None


def _uuid(written: str) -> UUID | None:
    shape = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    return UUID(written) if re.fullmatch(shape, written) else None


FORMATS = (
    Builtin("format", 1, None, _format),
    _parsed("parse-long", _long),
    _parsed("parse-double", _double),
    _parsed("parse-boolean", {"true": True, "false": False}.get),
    _parsed("parse-uuid", _uuid),
)
