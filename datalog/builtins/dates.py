"""Instants, in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from adalog.datalog.builtins.builtin import Builtin, passing_nil, refuse_type
from adalog.datalog.values import Keyword, Value

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
    ),
    _ordered("before?", lambda left, right: left < right),
    _ordered("after?", lambda left, right: left > right),
)
