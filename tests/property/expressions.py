"""Random nested expressions over values of all types, and what they mean by Python's int, float, Decimal, datetime.

A row gives values to `?a` … `?f`; any may be nil. The interpreter knows nothing of the engine: it takes the text as
EDN and goes through it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from adalog.datalog.edn import read
from adalog.datalog.values import BigInt, EdnList, Symbol, type_name

VALUES = {
    "?a": ["0", "1", "-1", "7", "-3", "576460752303423487", "-576460752303423488", "9223372036854775807"],
    "?b": ["0", "2", "3", "-5", "9007199254740993", "-9223372036854775808", "1000000007"],
    "?c": ["0.0", "1.5", "-2.25", "1e300", "##NaN", "##Inf", "##-Inf", "9007199254740992.0", "0.1"],
    "?d": [
        "0M",
        "1.10M",
        "-3M",
        "0.0000000000000000000000000000000000000001M",
        "1234567890123456789012345678901234567890M",
    ],
    "?e": ["0N", "5N", "-123456789012345678901234567890N"],
    "?f": [
        '#inst "2024-02-29T23:59:59.999Z"',
        '#inst "1970-01-01"',
        '#inst "0001-01-01"',
        '#inst "9999-12-31T23:59:59.999Z"',
        '#inst "1900-02-28T12:00:00Z"',
    ],
}
NUMBERS = ("?a", "?b", "?c", "?d", "?e")
CONSTANTS = ("1", "2", "-1", "10", "0.5", "1M", "2N", "nil")


class Refused(Exception):
    """What the engine has to refuse."""


# Generating


def number(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(NUMBERS + NUMBERS + CONSTANTS)
    kind = rng.randrange(11)
    if kind < 4:
        name = rng.choice(("+", "-", "*", "+", "-", "min", "max"))
        return f"({name} {' '.join(number(rng, depth - 1) for _ in range(rng.choice((1, 2, 2, 2, 3))))})"
    if kind == 4:
        return f"({rng.choice(('/', 'quot', 'rem', 'mod'))} {number(rng, depth - 1)} {number(rng, depth - 1)})"
    if kind == 5:
        return f"({rng.choice(('inc', 'dec', 'abs'))} {number(rng, depth - 1)})"
    if kind == 6:
        return f"({rng.choice(('year', 'month', 'day', 'hour', 'minute', 'second', 'day-of-week'))} ?f)"
    return chosen(rng, depth, number)


def condition(rng: Random, depth: int) -> str:
    kind = rng.randrange(6)
    if depth == 0 or kind == 0:
        return f"({rng.choice(('nil?', 'some?'))} {rng.choice(NUMBERS)})"
    if kind < 4:
        name = rng.choice(("<", ">", "<=", ">=", "==", "="))
        count = 3 if rng.random() < 0.1 else 2
        return f"({name} {' '.join(number(rng, depth - 1) for _ in range(count))})"
    if kind == 4:
        return f"({rng.choice(('and', 'or'))} {condition(rng, depth - 1)} {condition(rng, depth - 1)})"
    return f"(not {condition(rng, depth - 1)})"


def chosen(rng: Random, depth: int, value: Callable[[Random, int], str]) -> str:
    few = depth - 1
    match rng.randrange(4):
        case 0:
            other = f" {value(rng, few)}" if rng.random() < 0.8 else ""
            return f"(if {condition(rng, few)} {value(rng, few)}{other})"
        case 1:
            pairs = (f"{condition(rng, few)} {value(rng, few)}" for _ in range(rng.randint(1, 2)))
            last = f" :else {value(rng, few)}" if rng.random() < 0.6 else ""
            return f"(cond {' '.join(pairs)}{last})"
        case 2:
            tests = (rng.choice(("1", "0.0", "(0 7)", "(2 3 nil)", "-3")) for _ in range(rng.randint(1, 2)))
            pairs = (f"{test} {value(rng, few)}" for test in tests)
            last = f" {value(rng, few)}" if rng.random() < 0.6 else ""
            return f"(case {value(rng, few)} {' '.join(pairs)}{last})"
        case _:
            values = (value(rng, few) for _ in range(rng.randint(1, 3)))
            return f"({rng.choice(('coalesce', 'and', 'or'))} {' '.join(values)})"


def row(rng: Random, nil: float = 0.1) -> dict[str, str]:
    """EDN texts of values for the variables."""
    return {name: "nil" if rng.random() < nil else rng.choice(texts) for name, texts in VALUES.items()}


# Meaning


def value_of(text: str, given: Mapping[str, Any]) -> Any:
    """Raises Refused."""
    return _value(read(text), given)


def holds(value: Any) -> bool:
    return value is not None and value is not False


def _value(form: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(form, Symbol):
        return given[form.name]
    if not isinstance(form, EdnList):
        return form
    name, *args = form[0].name, *form[1:]
    match name:
        case "if":
            return _cond([args[0], args[1], True, args[2] if len(args) > 2 else None], given)
        case "cond":
            return _cond(args, given)
        case "case":
            subject, rest = _value(args[0], given), args[1:]
            for test, value in zip(rest[::2], rest[1::2], strict=False):
                if any(same(subject, each) for each in (test if isinstance(test, EdnList) else (test,))):
                    return _value(value, given)
            return _value(rest[-1], given) if len(rest) % 2 else None
        case "coalesce" | "and" | "or":
            value = None
            for each in args:
                value = _value(each, given)
                if value is not None if name == "coalesce" else holds(value) == (name == "or"):
                    break
            return value
    values = [_value(each, given) for each in args]
    match name:
        case "nil?":
            return values[0] is None
        case "some?":
            return values[0] is not None
        case "not":
            return not holds(values[0])
        case "=":
            return all(same(values[0], each) for each in values[1:])
        case "==":
            return all(ordered(values[0], each, lambda a, b: a == b) for each in values[1:]) or (
                all(each is None for each in values)
            )
        case "<" | ">" | "<=" | ">=":
            compare = {"<": float.__lt__, ">": float.__gt__, "<=": float.__le__, ">=": float.__ge__}[name]
            return all(ordered(a, b, lambda a, b: _compared(a, b, compare)) for a, b in pairwise(values))
    if None in values:
        return None
    if isinstance(values[0], datetime):
        return values[0].isoweekday() if name == "day-of-week" else getattr(values[0], name)
    if name in ("min", "max"):
        return _extreme(name, values)
    if name in ("inc", "dec"):
        return arithmetic("+" if name == "inc" else "-", values[0], 1)
    if name == "abs":
        return values[0] if values[0] >= 0 or values[0] != values[0] else arithmetic("-", 0, values[0])
    if len(values) == 1:
        first = {"-": 0, "/": 1}.get(name)
        return values[0] if first is None else arithmetic(name, first, values[0])
    found = values[0]
    for each in values[1:]:
        found = arithmetic(name, found, each)
    return found


def _cond(pairs: list[Any], given: Mapping[str, Any]) -> Any:
    for test, value in zip(pairs[::2], pairs[1::2], strict=True):
        if holds(_value(test, given)):
            return _value(value, given)
    return None


def same(a: Any, b: Any) -> bool:
    return type_name(a) == type_name(b) and (a == b or (a != a and b != b))


def ordered(a: Any, b: Any, holds_of: Callable[[Any, Any], bool]) -> bool:
    return a is not None and b is not None and a == a and b == b and holds_of(a, b)


def _compared(a: Any, b: Any, compare: Callable[[float, float], bool]) -> bool:
    return compare(float((a > b) - (a < b)), 0.0)


def _extreme(name: str, values: list[Any]) -> Any:
    best = values[0]
    for each in values[1:]:
        if best != best:
            return best
        if each != each or (each < best if name == "min" else each > best):
            best = each
    return best


_EXACT = Context(prec=9000, Emax=10**6, Emin=-(10**6))
_ROUNDED = Context(prec=34, Emax=10**6, Emin=-(10**6))


def arithmetic(name: str, a: Any, b: Any) -> Any:
    if name in ("/", "quot", "rem", "mod") and b == 0:
        raise Refused
    kinds = {type(a), type(b)}
    if float in kinds:
        return _of_doubles(name, _double(a), _double(b))
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
    if BigInt in kinds:
        return BigInt(found)
    if not -(2**63) <= found < 2**63:
        raise Refused
    return found


def _double(value: Any) -> float:
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
            return _EXACT.add(a, b)
        case "-":
            return _EXACT.subtract(a, b)
        case "*":
            return _EXACT.multiply(a, b)
        case "quot":
            return _EXACT.divide_int(a, b)
        case "rem":
            return _EXACT.remainder(a, b)
        case "mod":
            rest = _EXACT.remainder(a, b)
            return _EXACT.add(rest, b) if rest and (rest < 0) != (b < 0) else rest
    ratio = Fraction(a) / Fraction(b)
    rest = ratio.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return (_EXACT if rest == 1 else _ROUNDED).divide(a, b)
