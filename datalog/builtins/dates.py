"""Instants, in UTC unless a zone is given, and durations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from adalog.datalog.builtins.builtin import Builtin, passing_nil, refuse, refuse_type, shown_call, text_of
from adalog.datalog.durations import Duration
from adalog.datalog.values import Keyword, Value, type_name

_WANTED = 'an instant, such as #inst "2024-05-01"'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(moment: datetime) -> int:
    """Those since 1970."""
    return (moment - _EPOCH) // _MILLISECOND


def _part(name: str, part: Callable[[datetime], int]) -> Builtin:
    def call(value: Value) -> int:
        return part(_moment(name, (value,), 0))

    return Builtin(name, 1, 1, call)


def _moment(name: str, args: tuple[Value, ...], index: int) -> datetime:
    value = args[index]
    if not isinstance(value, datetime):
        refuse_type(name, args, value, _WANTED)
    return value


def _ordered(name: str, holds: Callable[[datetime, datetime], bool]) -> Builtin:
    """`before?` or `after?`; false of nil."""

    def call(*args: Value) -> bool:
        if None in args:
            return False
        return holds(_moment(name, args, 0), _moment(name, args, 1))

    return Builtin(name, 2, 2, call)


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_UNITS: dict[str, Callable[[datetime], datetime]] = {
    "year": lambda moment: _day(moment).replace(month=1, day=1),
    "quarter": lambda moment: _day(moment).replace(month=(moment.month - 1) // 3 * 3 + 1, day=1),
    "month": lambda moment: _day(moment).replace(day=1),
    # It begins on Monday; the first one begins before the first year.
    "week": lambda moment: _day(moment) - min(timedelta(moment.weekday()), _day(moment) - _FIRST),
    "day": _day,
    "hour": lambda moment: moment.replace(minute=0, second=0, microsecond=0),
    "minute": lambda moment: moment.replace(second=0, microsecond=0),
    "second": lambda moment: moment.replace(microsecond=0),
}


def _truncate(*args: Value) -> Value:
    """The beginning of the unit that an instant lies in."""
    moment, unit = _moment("truncate", args, 0), args[1]
    name = unit.name if isinstance(unit, Keyword) else unit
    if type(name) is not str or name not in _UNITS:
        wanted = ", ".join(f":{each}" for each in _UNITS)
        refuse_type("truncate", args, unit, f"a unit in second place: {wanted}")
    return _UNITS[name](moment)


# Durations


def moved(name: str, args: tuple[Value, ...]) -> Value:
    """`+` or `-` of instants and durations, from left to right; the milliseconds between two instants."""
    for arg in args:
        if not isinstance(arg, datetime | Duration):
            refuse_type(name, args, arg, "instants and durations together, or numbers")
    try:
        return _moved(name, args)
    except OverflowError:
        refuse(f"{shown_call(name, args)} is outside the years 1 to 9999")
    except ValueError as error:
        refuse(f"{shown_call(name, args)} is no duration: {error}")


def _moved(name: str, args: tuple[Value, ...]) -> Value:
    sign = 1 if name == "+" else -1
    found, *others = args
    if not others and sign < 0:
        if isinstance(found, datetime):
            refuse_type(name, args, found, "a duration, where it has one argument")
        return -found
    for other in others:
        if isinstance(found, Duration):
            if isinstance(other, Duration):
                found = found + other * sign
            elif sign > 0:
                found = found.after(other)
            else:
                refuse_type(name, args, other, "durations from a duration")
        elif isinstance(other, Duration):
            found = (other * sign).after(found)
        elif sign < 0 and len(args) == 2:
            return milliseconds(found) - milliseconds(other)
        else:
            refuse_type(name, args, other, "an instant and durations, and - two instants")
    return found


def multiplied(args: tuple[Value, ...]) -> Duration:
    """`*` of a duration and integers."""
    found, times = None, 1
    for arg in args:
        if isinstance(arg, Duration) and found is None:
            found = arg
        elif type_name(arg) in ("long", "bigint"):
            times *= int(arg)
        else:
            refuse_type("*", args, arg, "numbers, or one duration and integers")
    assert found is not None, "one is among them"
    try:
        return found * times
    except ValueError as error:
        refuse(f"{shown_call('*', args)} is no duration: {error}")


def _date_add(*args: Value) -> datetime:
    """An instant moved by a duration: by months and days as the clocks of a zone have them, then by time."""
    moment, duration = _moment("date-add", args, 0), args[1]
    if not isinstance(duration, Duration):
        refuse_type("date-add", args, duration, 'a duration in second place, such as #duration "P1M"')
    zone = UTC if len(args) == 2 else _zone(args)
    try:
        if duration.months or duration.days:
            local = duration.date_after(moment.astimezone(zone).replace(tzinfo=None, fold=0))
            # Python takes a local time in a gap as before it, so that it moves forward, and of two the earlier.
            moment = local.replace(tzinfo=zone).astimezone(UTC)
        return moment + timedelta(milliseconds=duration.milliseconds)
    except OverflowError:
        refuse(f"{shown_call('date-add', args)} is outside the years 1 to 9999")


def _zone(args: tuple[Value, ...]) -> ZoneInfo:
    name = text_of("date-add", args, 2)
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        refuse(f'{shown_call("date-add", args)}: no time zone has this name; one is "Europe/Berlin"')


DATES = (
    *passing_nil(
        _part("year", lambda moment: moment.year),
        _part("month", lambda moment: moment.month),
        _part("day", lambda moment: moment.day),
        _part("hour", lambda moment: moment.hour),
        _part("minute", lambda moment: moment.minute),
        _part("second", lambda moment: moment.second),
        _part("millisecond", lambda moment: moment.microsecond // 1000),
        _part("day-of-week", lambda moment: moment.isoweekday()),
        _part("inst-ms", milliseconds),
        Builtin("truncate", 2, 2, _truncate),
        Builtin("date-add", 2, 3, _date_add),
    ),
    _ordered("before?", lambda left, right: left < right),
    _ordered("after?", lambda left, right: left > right),
)
