"""The parts of an instant, in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from adalog.datalog.builtins.builtin import Builtin, refuse_type
from adalog.datalog.values import Value


def _part(name: str, part: Callable[[datetime], int]) -> Builtin:
    def call(value: Value) -> int:
        if not isinstance(value, datetime):
            refuse_type(name, (value,), value, 'an instant, such as #inst "2024-05-01"')
        return part(value)

    return Builtin(name, 1, 1, call)


DATES = (
    _part("year", lambda moment: moment.year),
    _part("month", lambda moment: moment.month),
    _part("day", lambda moment: moment.day),
    _part("hour", lambda moment: moment.hour),
    _part("minute", lambda moment: moment.minute),
    _part("second", lambda moment: moment.second),
    _part("millisecond", lambda moment: moment.microsecond // 1000),
    _part("day-of-week", lambda moment: moment.isoweekday()),
)
