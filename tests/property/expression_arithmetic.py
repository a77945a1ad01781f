"""What built-ins of numbers, moments and durations mean, in a few lines each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial, reduce
from typing import Any
from zoneinfo import ZoneInfo

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Keyword, type_name
from tests.property.expression_meaning import NUMBERS, Meaning, known, order
from tests.property.expression_numbers import Refused, arithmetic, of_whole, to_double, within_digits

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def _extreme(sign: int, *values: Any) -> Any:
    kinds = set(map(type_name, values))
    if len(values) > 1 and kinds <= NUMBERS and any(each != each for each in values):
        return math.nan
    return reduce(lambda best, each: each if known(order(each, best)) == sign else best, values)


# Numbers, moments and durations


def _folded(name: str, *args: Any) -> Any:
    if len(args) < 2 and name in "-/":
        if name == "-" and args and isinstance(args[0], Duration):
            return _duration(-1, args[0], 0, args[0])
        args = ({"-": 0, "/": 1}[name], *args)
    if not args:
        return {"+": 0, "*": 1}[name]
    kinds = set(map(type_name, args))
    if kinds & {"instant", "duration"} and not (
        kinds <= {"instant", "duration"} if name in "+-" else kinds <= {"duration", "long", "bigint"}
    ):
        raise Refused
    if not kinds <= NUMBERS | {"instant", "duration"}:
        raise Refused
    if name == "*" and "duration" in kinds:
        # One of them, times whole numbers.
        durations = [each for each in args if isinstance(each, Duration)]
        times = math.prod(int(each) for each in args if not isinstance(each, Duration))
        return _duration(times, durations[0]) if len(durations) == 1 else known(None)
    if name == "-" and len(args) > 2 and any(isinstance(each, datetime) for each in args[1:]):
        raise Refused
    return reduce(partial(_step, name), args)


def _step(name: str, a: Any, b: Any) -> Any:
    times = (type_name(a), type_name(b))
    sign = -1 if name == "-" else 1
    match times:
        case ("duration", "duration"):
            return _duration(1, a, sign, b)
        case ("instant", "duration"):
            return _shifted(a, _duration(sign, b), UTC)
        case ("duration", "instant") if sign > 0:
            return _shifted(b, a, UTC)
        case ("instant", "instant") if sign < 0:
            return (a - b) // _MS
    if not set(times) <= NUMBERS:
        raise Refused
    return arithmetic(name, a, b)


def _duration(times: int, a: Duration, other: int = 0, b: Duration | None = None) -> Duration:
    b = b or a
    parts = [times * getattr(a, name) + other * getattr(b, name) for name in ("months", "days", "milliseconds")]
    return Duration(*parts) if max(map(abs, parts)) < 2**63 else known(None)


def _shifted(moment: datetime, by: Duration, zone: Any) -> datetime:
    """By months and days on the clocks of the zone, then by time."""
    try:
        if by.months or by.days:
            clock = moment.astimezone(zone).replace(tzinfo=None)
            years, month = divmod(clock.year * 12 + clock.month - 1 + by.months, 12)
            day = min(clock.day, [31, 28 + _is_leap(years), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month])
            clock = clock.replace(years, month + 1, day) + timedelta(by.days)
            moment = _instant(clock, zone)
        return moment + by.milliseconds * _MS
    except (OverflowError, ValueError):
        raise Refused from None


def _instant(clock: datetime, zone: Any) -> datetime:
    """What the clocks of the zone show: in a gap it moves forward, in an overlap it is the earlier."""
    if zone is UTC:
        return clock.replace(tzinfo=UTC)
    near = [clock.replace(tzinfo=UTC) - hours * timedelta(hours=1) for hours in (26, -26)]
    offsets = [each.astimezone(zone).utcoffset() for each in near]
    found = [clock.replace(tzinfo=UTC) - each for each in offsets]
    fitting = [each for each in found if each.astimezone(zone).replace(tzinfo=None) == clock]
    return min(fitting, default=found[0])


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _date_add(moment: datetime, by: Duration, zone: str = "UTC") -> datetime:
    if zone == "Nowhere/Town" or ("/" not in zone and zone != "UTC"):
        raise Refused
    return _shifted(moment, by, UTC if zone == "UTC" else ZoneInfo(zone))


def _truncate(moment: datetime, unit: Any) -> datetime:
    name = unit.name if isinstance(unit, Keyword) else unit
    parts = ["year", "month", "day", "hour", "minute", "second"]
    kept = {"quarter": 2, "week": 3}.get(name) or (parts.index(name) + 1 if name in parts else known(None))
    clock = datetime(*(*moment.timetuple()[:kept], 1, 1)[: max(3, kept)], tzinfo=UTC)
    if name == "quarter":
        clock = clock.replace(month=clock.month - (clock.month - 1) % 3)
    # The first day of the first year is a Monday.
    return clock - timedelta(clock.weekday()) if name == "week" else clock


def _rounded(by: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    whole = {"floor": math.floor, "ceil": math.ceil, "rint": round}[by](value)
    return float(whole) if isinstance(value, float) else Decimal(whole) if isinstance(value, Decimal) else value


def _round(value: Any, digits: int | None = None) -> Any:
    """To the nearest; ties go up."""
    if digits is None and isinstance(value, float):
        return of_whole(math.floor(Fraction(value) + Fraction(1, 2)), int) if math.isfinite(value) else known(None)
    if abs(digits or 0) > 1000:
        raise Refused
    if isinstance(value, float) and not math.isfinite(value):
        return value
    scale = Fraction(10) ** (digits or 0)
    exact = Fraction(repr(float(value)) if isinstance(value, float) else value)
    found = Fraction(math.floor(exact * scale + Fraction(1, 2))) / scale
    if isinstance(value, float):
        return float(found)
    if isinstance(value, Decimal):
        return within_digits(Context(prec=9000).divide(Decimal(found.numerator), Decimal(found.denominator)))
    return of_whole(int(found), type(value))


def _converted(kind: type, value: Any) -> Any:
    if value != value or value in (math.inf, -math.inf):
        raise Refused
    if kind is Decimal:
        return Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    return of_whole(int(value), kind)


def _real(call: Callable[..., float], *args: Any) -> float:
    """As in Java: NaN where there is no real number, infinities at poles and beyond the largest double."""
    values = [to_double(each) + 0.0 for each in args]
    try:
        return call(*values) + 0.0
    except ValueError:
        pole = {math.log: 0, math.log10: 0, math.log1p: -1}.get(call)
        return -math.inf if pole == values[0] and pole is not None else math.nan
    except OverflowError:
        return -math.inf if call is math.sinh and values[0] < 0 else math.inf


def _cbrt(value: float) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    wide = Context(prec=60)
    return math.copysign(wide.power(wide.abs(Decimal(value)), wide.divide(1, 3)), value)


def _power(base: float, exponent: float) -> float:
    if exponent != exponent or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    if base == 0 and exponent < 0:
        return math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _reals(names: str, takes: str, calls: Mapping[str, Callable[..., float]]) -> dict[str, Meaning]:
    return {
        name: Meaning("number", takes, partial(_real, calls.get(name) or getattr(math, name)), True)
        for name in names.split()
    }


def _before(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return False
    return a < b if isinstance(a, datetime) and isinstance(b, datetime) else known(None)


NUMERIC = {
    **{name: Meaning("number", "number number*", partial(_folded, name), True, True) for name in ("+", "-", "*")},
    "/": Meaning("number", "number number*", partial(_folded, "/"), True),
    **{
        name: Meaning("number", "number number", partial(arithmetic, name), True) for name in ("quot", "rem", "mod")
    },
    "inc": Meaning("number", "number", lambda x: arithmetic("+", x, 1), True),
    "dec": Meaning("number", "number", lambda x: arithmetic("-", x, 1), True),
    "abs": Meaning("number", "number", lambda x: arithmetic("-", 0, x) if x < 0 else x, True),
    "min": Meaning("number", "number number*", partial(_extreme, -1), True, True),
    "max": Meaning("number", "number number*", partial(_extreme, 1), True, True),
    "long": Meaning("number", "number", partial(_converted, int), True),
    "double": Meaning("number", "number", to_double, True),
    "bigint": Meaning("number", "number", partial(_converted, BigInt), True),
    "bigdec": Meaning("number", "number", partial(_converted, Decimal), True),
    **{name: Meaning("number", "number", partial(_rounded, name), True) for name in ("floor", "ceil", "rint")},
    "round": Meaning("number", "number digits?", _round, True),
    "floor-div": Meaning("number", "long long", lambda a, b: of_whole(a // (b or known(None)), int), True),
    "floor-mod": Meaning("number", "long long", lambda a, b: a % (b or known(None)), True),
    **_reals(
        "sqrt cbrt exp expm1 log log10 log1p sin cos tan asin acos atan sinh cosh tanh signum to-radians "
        "to-degrees",
        "number",
        {
            "signum": lambda x: x and math.copysign(1, x) if x == x else x,
            "cbrt": _cbrt,
            "to-radians": math.radians,
            "to-degrees": math.degrees,
        },
    ),
    **_reals("pow hypot atan2", "number number", {"pow": _power}),
    "zero?": Meaning("boolean", "number", lambda x: x == 0, True),
    "pos?": Meaning("boolean", "number", lambda x: x > 0, True),
    "neg?": Meaning("boolean", "number", lambda x: x < 0, True),
    "even?": Meaning("boolean", "whole", lambda x: x % 2 == 0, True),
    "odd?": Meaning("boolean", "whole", lambda x: x % 2 == 1, True),
}
DATES = {
    **{
        name: Meaning("number", "moment", lambda x, name=name: getattr(x, name), True)
        for name in ("year", "month", "day", "hour", "minute", "second")
    },
    "millisecond": Meaning("number", "moment", lambda x: x.microsecond // 1000, True),
    "day-of-week": Meaning("number", "moment", datetime.isoweekday, True),
    "inst-ms": Meaning("number", "moment", lambda x: (x - _EPOCH) // _MS, True),
    "truncate": Meaning("moment", "moment unit", _truncate, True),
    "date-add": Meaning("moment", "moment duration zone?", _date_add, True),
    "before?": Meaning("boolean", "moment moment", lambda a, b: _before(a, b), takes_any=True),
    "after?": Meaning("boolean", "moment moment", lambda a, b: _before(b, a), takes_any=True),
}
