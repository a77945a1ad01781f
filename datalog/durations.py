"""Durations: months, days and milliseconds, written as ISO 8601 has them."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_MOST: Final = 2**63 - 1
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_WRITTEN: Final = re.compile(
    r"([+-])?P(?=[0-9+-]|T)(?:([+-]?[0-9]{1,20})Y)?(?:([+-]?[0-9]{1,20})M)?(?:([+-]?[0-9]{1,20})W)?"
    r"(?:([+-]?[0-9]{1,20})D)?"
    r"(?:T(?=[0-9+-])(?:([+-]?[0-9]{1,20})H)?(?:([+-]?[0-9]{1,20})M)?"
    r"(?:([+-])?([0-9]{1,20})(?:[.,]([0-9]{1,20}))?S)?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """Equal and ordered by months, days and milliseconds in turn. Each is a 64-bit integer; ValueError for more."""

    months: int = 0
    days: int = 0
    milliseconds: int = 0

    def __post_init__(self) -> None:
        if max(abs(self.months), abs(self.days), abs(self.milliseconds)) > _MOST:
            raise ValueError("its months, days and milliseconds are each at most 2^63 - 1")

    @staticmethod
    def read(text: str, *, rounded: bool = False) -> Duration:
        """ISO 8601, with a sign before all of it or before each number. ValueError for anything else. rounded: what
        is finer than milliseconds is rounded, halves away from zero."""
        match = _WRITTEN.fullmatch(text)
        if match is None:
            raise ValueError("ISO 8601 is expected, such as P1Y2M3DT4H5M6.789S or P2W")
        sign = -1 if match[1] == "-" else 1
        years, months, weeks, days, hours, minutes = (int(match[place] or 0) for place in range(2, 8))
        fraction = (match[10] or "").rstrip("0")
        if len(fraction) > 3 and not rounded:
            raise ValueError("seconds have at most three digits after the point")
        seconds = int(match[9] or 0) * _SECOND + int(fraction[:3].ljust(3, "0")) + (fraction[3:4] >= "5")
        time = hours * _HOUR + minutes * _MINUTE + (-seconds if match[8] == "-" else seconds)
        return Duration(sign * (12 * years + months), sign * (7 * weeks + days), sign * time)

    def __str__(self) -> str:
        """The one form of it: signs stand before the numbers unless all that are not zero have one."""
        parts = (self.months, self.days, self.milliseconds)
        if not any(parts):
            return "PT0S"
        if max(parts) <= 0:
            return "-" + str(-self)
        years, months = _split(self.months, 12)
        hours, rest = _split(self.milliseconds, _HOUR)
        minutes, rest = _split(rest, _MINUTE)
        date = [f"{number}{unit}" for number, unit in ((years, "Y"), (months, "M"), (self.days, "D")) if number]
        time = [f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M")) if number]
        if rest:
            seconds, fraction = divmod(abs(rest), _SECOND)
            point = f".{fraction:03}".rstrip("0") if fraction else ""
            time.append(f"{'-' if rest < 0 else ''}{seconds}{point}S")
        return "".join(["P", *date, *(["T", *time] if time else [])])

    def __neg__(self) -> Duration:
        return Duration(-self.months, -self.days, -self.milliseconds)

    def __add__(self, other: Duration) -> Duration:
        return Duration(self.months + other.months, self.days + other.days, self.milliseconds + other.milliseconds)

    def __mul__(self, times: int) -> Duration:
        return Duration(self.months * times, self.days * times, self.milliseconds * times)

    def date_after(self, moment: datetime) -> datetime:
        """The moment moved by the months, then by the days. A day beyond its month becomes the last one.
        OverflowError outside the years 1 to 9999."""
        years, month = divmod(12 * moment.year + moment.month - 1 + self.months, 12)
        if not 1 <= years <= 9999:
            raise OverflowError(years)
        last = monthrange(years, month + 1)[1]
        return moment.replace(year=years, month=month + 1, day=min(moment.day, last)) + timedelta(self.days)

    def after(self, moment: datetime) -> datetime:
        """The moment moved by the months, then by the days, then by the time. OverflowError as above."""
        return self.date_after(moment) + timedelta(milliseconds=self.milliseconds)


def _split(number: int, unit: int) -> tuple[int, int]:
    """Whole units and the rest, both with the number's sign."""
    whole, rest = divmod(abs(number), unit)
    return (-whole, -rest) if number < 0 else (whole, rest)
