"""What arithmetic means on Python's int, float, Decimal and Fraction."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from adalog.datalog.values import BigInt

_EXACT = Context(prec=40_000, Emax=10**6, Emin=-(10**6))
_MOST = 10**4000
_ROUNDED = Context(prec=34, Emax=10**6, Emin=-(10**6))


class Refused(Exception):
    """What the engine has to refuse."""


class Unknown(Exception):
    """What the model does not say."""


def arithmetic(name: str, a: Any, b: Any) -> Any:
    if name in ("/", "quot", "rem", "mod") and b == 0:
        raise Refused
    kinds = {type(a), type(b)}
    if float in kinds:
        return _of_doubles(name, to_double(a), to_double(b))
    if Decimal in kinds:
        return _of_decimals(name, Decimal(a), Decimal(b))
    whole = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}.get(name)
    if whole is not None:
        found = int(whole(int(b)))
    elif name == "/":
        if int(a) % int(b):
            return _of_decimals("/", Decimal(a), Decimal(b)) if BigInt in kinds else int(a) / int(b)
        found = int(a) // int(b)
    elif name == "mod":
        found = int(a) % int(b)
    else:
        quotient = abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)
        found = quotient if name == "quot" else int(a) - int(b) * quotient
    return of_whole(found, BigInt if BigInt in kinds else int)


def of_whole(value: int, kind: type) -> Any:
    if (kind is int and not -(2**63) <= value < 2**63) or abs(value) >= _MOST:
        raise Refused
    return kind(value)


def within_digits(value: Decimal) -> Decimal:
    """Without zeros at the end of its fraction; refused with more than 4,000 digits."""
    short = value.normalize(_EXACT)
    if len(short.as_tuple().digits) > 4000 or abs(short.adjusted()) > 8000:
        raise Refused
    if short != short.to_integral_value():
        return short
    return value if value.as_tuple().exponent >= 0 else short.quantize(Decimal(1), context=_EXACT)


def to_double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _of_doubles(name: str, a: float, b: float) -> float:
    match name:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    if b == 0:
        raise Refused
    if name == "/":
        return a / b
    if not math.isfinite(a) or b != b:
        raise Refused
    if name == "quot":
        quotient = a / b
        return float(math.trunc(quotient)) if math.isfinite(quotient) else quotient
    return math.fmod(a, b) if name == "rem" else a % b


def _of_decimals(name: str, a: Decimal, b: Decimal) -> Decimal:
    match name:
        case "+":
            return within_digits(_EXACT.add(a, b))
        case "-":
            return within_digits(_EXACT.subtract(a, b))
        case "*":
            return within_digits(_EXACT.multiply(a, b))
        case "/":
            return _quotient(a, b)
    quotient, rest = _EXACT.divmod(a, b)
    if abs(quotient) >= _MOST:
        raise Refused
    if name == "quot":
        return within_digits(quotient)
    return within_digits(_EXACT.add(rest, b) if name == "mod" and rest and (rest < 0) != (b < 0) else rest)


def _quotient(a: Decimal, b: Decimal) -> Decimal:
    """Exact where it ends, else with 34 digits."""
    rest = (Fraction(a) / Fraction(b)).denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    exact = _EXACT.divide(a, b)
    return within_digits(exact if rest == 1 and len(exact.as_tuple().digits) <= 4000 else _ROUNDED.divide(a, b))
