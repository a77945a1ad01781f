"""Rounding, powers, roots, logarithms and angles, under the names of `clojure.math`.

Its functions give doubles, and what a real number has not (the root of -1) is NaN, as in Java. Rounding keeps
bigints and bigdecs exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, DecimalException
from fractions import Fraction

from adalog.datalog.builtins.arithmetic import EXACT, Number, check_numbers, of_number, of_type, to_double, trimmed
from adalog.datalog.builtins.builtin import Builtin, long_of, passing_nil, refuse, refuse_type, shown_call
from adalog.datalog.values import BigInt, Value

_MOST_DIGITS = 1000
_HALF = Decimal("0.5")


def _of_doubles(name: str, count: int, call: Callable[..., float]) -> Builtin:
    """A function of so many numbers, taken as doubles."""

    def checked(*args: Value) -> float:
        check_numbers(name, args)
        # No zero has a sign.
        return call(*(to_double(each) + 0.0 for each in args)) + 0.0

    return Builtin(name, count, count, checked)


def _defined(call: Callable[..., float]) -> Callable[..., float]:
    """The same, with NaN outside of its domain and an infinity beyond the largest double."""

    def defined(*args: float) -> float:
        try:
            return call(*args)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return defined


def _log(of: Callable[[float], float], pole: float = 0.0) -> Callable[[float], float]:
    return lambda value: -math.inf if value == pole else _defined(of)(value)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        return math.inf
    # C's gives 1.
    if exponent != exponent or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.nan
    except OverflowError:
        return -math.inf if base < 0 and math.fmod(exponent, 2.0) else math.inf


def _cbrt(value: float) -> float:
    """The double whose cube is nearest: C's result for 27 is 3.0000000000000004."""
    root, best = math.nan, math.cbrt(value)
    while root != best and math.isfinite(best):
        root = best
        near = root, math.nextafter(root, -math.inf), math.nextafter(root, math.inf)
        best = min(near, key=lambda each: abs(Fraction(each) ** 3 - Fraction(value)))
    return best


def _sinh(value: float) -> float:
    return math.copysign(_defined(math.sinh)(abs(value)), value)


def _signum(value: float) -> float:
    return value if value == 0 or value != value else math.copysign(1.0, value)


# Rounding


def _whole(name: str, rounding: str) -> Builtin:
    """`floor`, `ceil` or `rint`: a whole number of the same type."""

    def call(value: Number) -> Number:
        if isinstance(value, Decimal):
            return trimmed(value.to_integral_value(rounding, EXACT))
        if isinstance(value, float):
            return float(Decimal(value).to_integral_value(rounding)) + 0.0 if math.isfinite(value) else float(value)
        return value

    return of_number(name, call)


def _round(*args: Value) -> Value:
    """To a whole number, or to digits after the point; ties go up."""
    check_numbers("round", args[:1])
    value = args[0]
    if len(args) > 1:
        return _round_to(args, long_of("round", args, 1))
    if isinstance(value, float):
        if not math.isfinite(value):
            refuse(f"{shown_call('round', args)}: there is no such long")
        return of_type(int, math.floor(Decimal(value) + _HALF), "round", args)
    return _up_to(value, 0) if isinstance(value, Decimal) else value


def _round_to(args: tuple[Value, ...], digits: int) -> Value:
    value = args[0]
    if not -_MOST_DIGITS <= digits <= _MOST_DIGITS:
        refuse_type("round", args, digits, f"digits from -{_MOST_DIGITS} to {_MOST_DIGITS}")
    if isinstance(value, float):
        # The double 2.675 is a little less than its text, whose rounding to 2.68 is expected.
        return float(_up_to(Decimal(repr(float(value))), digits)) if math.isfinite(value) else float(value)
    if isinstance(value, Decimal):
        return _up_to(value, digits)
    kind = BigInt if isinstance(value, BigInt) else int
    return value if digits >= 0 else of_type(kind, int(_up_to(Decimal(int(value)), digits)), "round", args)


def _up_to(value: Decimal, digits: int) -> Decimal:
    try:
        scaled = EXACT.add(value.scaleb(digits, EXACT), _HALF).to_integral_value(ROUND_FLOOR, EXACT)
        return trimmed(scaled.scaleb(-digits, EXACT))
    except DecimalException:
        refuse(f"{shown_call('round', (value, digits))} has too many digits")


def _floored(name: str, call: Callable[[int, int], int]) -> Builtin:
    """`floor-div` or `floor-mod` of longs."""

    def checked(*args: Value) -> Value:
        left, right = long_of(name, args, 0), long_of(name, args, 1)
        if right == 0:
            refuse(f"{shown_call(name, args)} divides by zero")
        return of_type(int, call(left, right), name, args)

    return Builtin(name, 2, 2, checked)


MATHEMATICS = passing_nil(
    _whole("floor", ROUND_FLOOR),
    _whole("ceil", ROUND_CEILING),
    _whole("rint", ROUND_HALF_EVEN),
    Builtin("round", 1, 2, _round),
    _floored("floor-div", lambda left, right: left // right),
    _floored("floor-mod", lambda left, right: left % right),
    _of_doubles("sqrt", 1, _defined(math.sqrt)),
    _of_doubles("cbrt", 1, _cbrt),
    _of_doubles("pow", 2, _power),
    _of_doubles("exp", 1, _defined(math.exp)),
    _of_doubles("expm1", 1, _defined(math.expm1)),
    _of_doubles("log", 1, _log(math.log)),
    _of_doubles("log10", 1, _log(math.log10)),
    _of_doubles("log1p", 1, _log(math.log1p, -1.0)),
    _of_doubles("hypot", 2, math.hypot),
    _of_doubles("signum", 1, _signum),
    _of_doubles("sin", 1, _defined(math.sin)),
    _of_doubles("cos", 1, _defined(math.cos)),
    _of_doubles("tan", 1, _defined(math.tan)),
    _of_doubles("asin", 1, _defined(math.asin)),
    _of_doubles("acos", 1, _defined(math.acos)),
    _of_doubles("atan", 1, math.atan),
    _of_doubles("atan2", 2, math.atan2),
    _of_doubles("sinh", 1, _sinh),
    _of_doubles("cosh", 1, _defined(math.cosh)),
    _of_doubles("tanh", 1, math.tanh),
    _of_doubles("to-radians", 1, math.radians),
    _of_doubles("to-degrees", 1, math.degrees),
)
"""Those of the namespace clojure.math; `+ - * /` and `abs` are arithmetic."""
