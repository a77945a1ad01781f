"""Arithmetic as in Clojure: longs that overflow are refused, bigints and bigdecs carry over, doubles win.

Clojure's ratios do not exist here: a quotient of longs is exact where it can be and a double elsewhere, one of
bigints or bigdecs a bigdec.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal, DecimalException, DivisionByZero, Inexact, InvalidOperation
from decimal import Overflow as DecimalOverflow
from decimal import Underflow as DecimalUnderflow
from functools import reduce
from typing import Any

from adalog.datalog.builtins.builtin import Builtin, passing_nil, refuse, refuse_type, shown, shown_call
from adalog.datalog.builtins.dates import moved, multiplied
from adalog.datalog.durations import Duration
from adalog.datalog.values import LONG_MAX, LONG_MIN, NUMERIC, BigInt, Float, Value, compare, type_name

MAX_DIGITS = 4000
_MAX_BITS = int(MAX_DIGITS / math.log10(2))

MAX_EXPONENT = 2 * MAX_DIGITS
"""The powers of ten, up and down, between which bigdecs lie: what their digits take is bounded by that."""

_TRAPS: list[type[Any]] = [InvalidOperation, DivisionByZero, DecimalOverflow]
EXACT = Context(prec=MAX_DIGITS, Emax=MAX_EXPONENT, Emin=-MAX_EXPONENT, traps=[*_TRAPS, Inexact])
ROUNDED = Context(
    prec=34, rounding=ROUND_HALF_EVEN, Emax=MAX_EXPONENT, Emin=-MAX_EXPONENT, traps=[*_TRAPS, DecimalUnderflow]
)
"""IEEE 754 decimal128, for quotients without an end."""

_SHORT = Context(prec=34, Emax=MAX_EXPONENT, Emin=-MAX_EXPONENT, traps=[*_TRAPS, Inexact])
"""The same for most quotients that have an end, a few times quicker than EXACT."""

_LONGEST = Context(prec=10 * MAX_DIGITS, Emax=10 * MAX_EXPONENT, Emin=-10 * MAX_EXPONENT, traps=[*_TRAPS, Inexact])
"""For what changes no number, of sums as well that are longer than a bigdec may be."""

_ONE = Decimal(1)

Number = int | float | Decimal


def to_double(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_numbers(name: str, args: Sequence[Value]) -> None:
    for arg in args:
        if type_name(arg) not in NUMERIC:
            refuse_type(name, args, arg, "numbers")
        if type(arg) is Decimal:
            check_exponent(name, arg)


def check_exponent(name: str, value: Decimal) -> None:
    """Refuses a bigdec so large or so near to nothing that its digits written out would be without number."""
    if value.is_finite() and abs(value.adjusted()) > MAX_EXPONENT:
        refuse(f"{name} takes bigdecs from 1e-{MAX_EXPONENT}M to 1e{MAX_EXPONENT}M, and not {shown(value)}")


def common_type(args: Sequence[Number]) -> type[Any]:
    """int, BigInt, Decimal or float: the type that an operation on these gives."""
    kinds = {type(arg) for arg in args}
    for kind in (float, Float, Decimal, BigInt):
        if kind in kinds:
            return float if kind is Float else kind
    return int


def of_type(kind: type[Any], value: Number, name: str, args: Sequence[Value]) -> Number:
    """An exact integer or a number as a value of the type, or a refusal where it does not fit."""
    if kind is int:
        if not LONG_MIN <= value <= LONG_MAX:
            hint = "bigints have no such bound: write 1N, or make one with bigint"
            refuse(f"{shown_call(name, args)} is beyond the 64 bits of a long; {hint}")
        return int(value)
    if kind is BigInt:
        if int(value).bit_length() > _MAX_BITS:
            refuse(f"{shown_call(name, args)} has more than {MAX_DIGITS:,} digits; a double would round it")
        return BigInt(value)
    return value


def _operation(
    name: str, on_numbers: Callable[[Any, Any], Any], on_decimals: Callable[[Decimal, Decimal], Decimal]
) -> Callable[[Number, Number], Number]:
    """A step of `+`, `-` or `*` with the types of Clojure."""

    def step(left: Number, right: Number) -> Number:
        kind = common_type((left, right))
        if kind is float:
            return float(on_numbers(to_double(left), to_double(right)))
        if kind is Decimal:
            return in_decimals(name, (left, right), on_decimals)
        return of_type(kind, on_numbers(int(left), int(right)), name, (left, right))

    return step


def in_decimals(
    name: str, args: tuple[Number, Number], operation: Callable[[Decimal, Decimal], Decimal]
) -> Decimal:
    try:
        return trimmed(operation(_decimal(args[0]), _decimal(args[1])))
    except DecimalException:
        refuse(f"{shown_call(name, args)} has more than {MAX_DIGITS:,} digits; a double would round it")


def trimmed(value: Decimal) -> Decimal:
    """The same number without zeros at the end of its fraction: what is computed is written so."""
    short = value.normalize(_LONGEST)
    if short != short.to_integral_value():
        return short
    # Without zeros at all it would be written 1E+2.
    return value if _exponent(value) >= 0 else short.quantize(_ONE, context=_LONGEST)


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "bigdecs are finite"
    return exponent


def quotient_of_decimals(dividend: Decimal, divisor: Decimal) -> Decimal:
    """Exact where it has an end, else with 34 digits. Raises DecimalException beyond what a bigdec holds."""
    try:
        return trimmed(_SHORT.divide(dividend, divisor))
    except Inexact:
        pass
    top, bottom = (abs(int(each.scaleb(-_exponent(each), _LONGEST))) for each in (dividend, divisor))
    if top % _odd_part(bottom) == 0:
        try:
            return trimmed(EXACT.divide(dividend, divisor))
        except Inexact:
            pass  # it ends, after more digits than a bigdec has
    return trimmed(ROUNDED.divide(dividend, divisor))


def _odd_part(number: int) -> int:
    """A number above zero without its factors 2 and 5: what has to divide a dividend for the quotient to end."""
    number >>= (number & -number).bit_length() - 1
    while number % 5 == 0:
        number //= 5
    return number


def _decimal(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(int(value))


add = _operation("+", lambda a, b: a + b, EXACT.add)
subtract = _operation("-", lambda a, b: a - b, EXACT.subtract)
multiply = _operation("*", lambda a, b: a * b, EXACT.multiply)


_TIMES = frozenset({datetime, Duration})


def _plus(*args: Value) -> Value:
    if not _TIMES.isdisjoint(map(type, args)):
        return moved("+", args)
    check_numbers("+", args)
    return reduce(add, args) if args else 0


def _times(*args: Value) -> Value:
    if Duration in map(type, args):
        return multiplied(args)
    check_numbers("*", args)
    return reduce(multiply, args) if args else 1


def _minus(*args: Value) -> Value:
    if not _TIMES.isdisjoint(map(type, args)):
        return moved("-", args)
    check_numbers("-", args)
    return reduce(subtract, args) if len(args) > 1 else subtract(0, args[0])


def divide(left: Number, right: Number) -> Number:
    """Exact where it can be. What has no end is a double of longs, and has 34 digits of bigints and bigdecs."""
    if right == 0:
        refuse(f"{shown_call('/', (left, right))} divides by zero")
    kind = common_type((left, right))
    if kind is float:
        divisor = to_double(right)
        if divisor == 0:
            refuse(f"{shown_call('/', (left, right))} divides by what is zero as a double")
        return to_double(left) / divisor
    if kind is Decimal:
        return in_decimals("/", (left, right), quotient_of_decimals)
    quotient, rest = divmod(int(left), int(right))
    if rest == 0:
        return of_type(kind, quotient, "/", (left, right))
    if kind is BigInt:
        return in_decimals("/", (left, right), quotient_of_decimals)
    try:
        return int(left) / int(right)
    except OverflowError:
        return math.inf if (left > 0) == (right > 0) else -math.inf


def _divided(*args: Value) -> Value:
    check_numbers("/", args)
    return reduce(divide, args) if len(args) > 1 else divide(1, args[0])


def _division(
    name: str,
    on_integers: Callable[[int, int], int],
    on_doubles: Callable[[float, float], float],
    on_decimals: Callable[[Decimal, Decimal], Decimal],
) -> Builtin:
    """`quot`, `rem` or `mod`."""

    def call(left: Value, right: Value) -> Value:
        args = (left, right)
        check_numbers(name, args)
        if right == 0:
            refuse(f"{shown_call(name, args)} divides by zero")
        kind = common_type(args)
        if kind is float:
            dividend, divisor = to_double(left), to_double(right)
            if not math.isfinite(dividend) or math.isnan(divisor):
                refuse(f"{shown_call(name, args)} has no answer; {name} takes finite numbers")
            if divisor == 0:
                refuse(f"{shown_call(name, args)} divides by what is zero as a double")
            return on_doubles(dividend, divisor)
        if kind is Decimal:
            return in_decimals(name, args, on_decimals)
        return of_type(kind, on_integers(int(left), int(right)), name, args)

    return Builtin(name, 2, 2, call)


def _quot(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _quot_of_doubles(left: float, right: float) -> float:
    quotient = left / right
    return float(math.trunc(quotient)) if math.isfinite(quotient) else quotient


def _mod_of_decimals(left: Decimal, right: Decimal) -> Decimal:
    rest = EXACT.remainder(left, right)
    return EXACT.add(rest, right) if rest and (rest < 0) != (right < 0) else rest


def of_number(name: str, call: Callable[[Any], Value]) -> Builtin:
    """A function of one number."""

    def checked(value: Value) -> Value:
        check_numbers(name, (value,))
        return call(value)

    return Builtin(name, 1, 1, checked)


def _extreme(name: str, sign: int) -> Builtin:
    """`min` or `max` of numbers by value, or of other values with a common order. NaN wins, as in Clojure."""

    def call(first: Value, *others: Value) -> Value:
        best = first
        for other in others:
            order = compare(other, best)
            if order is None and not NUMERIC.issuperset((type_name(best), type_name(other))):
                refuse_type(name, (first, *others), other, "numbers, or values with a common order")
            if order == sign or other != other:
                best = other
        return best

    return Builtin(name, 1, None, call)


def _exact(name: str, convert: Callable[[Number], Number]) -> Builtin:
    """A conversion of finite numbers."""

    def call(value: Number) -> Number:
        if value != value or value in (math.inf, -math.inf):
            refuse(f"{shown_call(name, (value,))}: there is no such {name}")
        return convert(value)

    return of_number(name, call)


ARITHMETIC = passing_nil(
    Builtin("+", 0, None, _plus),
    Builtin("-", 1, None, _minus),
    Builtin("*", 0, None, _times),
    Builtin("/", 1, None, _divided),
    _division("quot", _quot, _quot_of_doubles, EXACT.divide_int),
    _division("rem", lambda a, b: a - b * _quot(a, b), math.fmod, EXACT.remainder),
    _division("mod", lambda a, b: a % b, lambda a, b: a % b, _mod_of_decimals),
    of_number("inc", lambda value: add(value, 1)),
    of_number("dec", lambda value: subtract(value, 1)),
    of_number("abs", lambda value: value if value >= 0 or value != value else subtract(0, value)),
    _extreme("min", -1),
    _extreme("max", 1),
    _exact("long", lambda value: of_type(int, int(value), "long", (value,))),
    of_number("double", to_double),
    _exact("bigint", lambda value: of_type(BigInt, int(value), "bigint", (value,))),
    _exact("bigdec", lambda value: Decimal(repr(float(value))) if isinstance(value, float) else _decimal(value)),
)
