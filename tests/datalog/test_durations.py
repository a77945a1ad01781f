"""Durations: their text, their order, and what they make of instants."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from dateutil import tz
from dateutil.relativedelta import relativedelta
from hypothesis import example, given
from hypothesis import strategies as st

from adalog.datalog import edn
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.durations import Duration
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import compare, instant
from adalog.store.files.packing import instant as instant_of_milliseconds

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")
parts = st.integers(-(2**40), 2**40) | st.integers(-40, 40)
durations = st.builds(Duration, parts, parts, parts)
modest = st.builds(Duration, st.integers(-60, 60), st.integers(-800, 800), st.integers(-(10**9), 10**9))
instants = st.datetimes(timezones=st.just(UTC)).map(instant)


def called(name: str, *args: Any) -> Any:
    return BUILTINS[name].call(*args)


@given(durations)
def test_a_duration_is_read_from_its_text(duration: Duration) -> None:
    assert Duration.read(str(duration)) == duration
    assert edn.read(edn.write(duration)) == duration


@pytest.mark.parametrize(
    ("text", "meant", "canonical"),
    [
        ("P1M2DT3H", (1, 2, 10_800_000), "P1M2DT3H"),
        ("P1Y14M", (26, 0, 0), "P2Y2M"),
        ("P2W", (0, 14, 0), "P14D"),
        ("-P1M2D", (-1, -2, 0), "-P1M2D"),
        ("P-1M2D", (-1, 2, 0), "P-1M2D"),
        ("-P1M-2D", (-1, 2, 0), "P-1M2D"),
        ("PT36H0.5S", (0, 0, 129_600_500), "PT36H0.5S"),
        ("PT-0,001S", (0, 0, -1), "-PT0.001S"),
        ("PT1.500000S", (0, 0, 1500), "PT1.5S"),
        ("P0D", (0, 0, 0), "PT0S"),
    ],
)
def test_texts(text: str, meant: tuple[int, int, int], canonical: str) -> None:
    assert Duration.read(text) == Duration(*meant)
    assert str(Duration(*meant)) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1DT", "1D", "P1.5D", "P1D ", "p1d", "PT1.0005S", "P1M1Y", "P99999999999999999999D"],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(AdalogError, match="is not a duration"):
        edn.read(f'#duration "{text}"')


@given(durations, durations)
def test_they_are_ordered_by_months_days_and_milliseconds(left: Duration, right: Duration) -> None:
    ours, theirs = ((each.months, each.days, each.milliseconds) for each in (left, right))
    assert compare(left, right) == (ours > theirs) - (ours < theirs)


@given(instants, modest)
@example(datetime(2024, 1, 31, tzinfo=UTC), Duration(1))
@example(datetime(2024, 2, 29, tzinfo=UTC), Duration(12))
@example(datetime(2024, 3, 31, tzinfo=UTC), Duration(-1, -1))
@example(datetime(1, 1, 1, tzinfo=UTC), Duration(0, 0, -1))
@example(datetime(9999, 12, 31, tzinfo=UTC), Duration(0, 1))
@example(datetime(9999, 12, 31, tzinfo=UTC), Duration(1, -31))
def test_an_instant_moves_as_with_dateutil(moment: datetime, duration: Duration) -> None:
    def found(name: str, *args: Any) -> Any:
        try:
            return called(name, *args)
        except AdalogError as error:
            return error.message.partition(" is ")[2]

    def expected(sign: int) -> datetime | str:
        try:
            dated = moment + relativedelta(months=sign * duration.months)
            return dated + sign * timedelta(duration.days) + sign * timedelta(milliseconds=duration.milliseconds)
        except (ValueError, OverflowError):
            return "outside the years 1 to 9999"

    calls = [("+", moment, duration), ("+", duration, moment), ("date-add", moment, duration)]
    for sign, (name, *args) in [*((1, call) for call in calls), (-1, ("-", moment, duration))]:
        assert found(name, *args) == expected(sign)


@given(st.integers(157_766_400_000, 2_051_222_400_000).map(instant_of_milliseconds), modest)
@example(datetime(2024, 3, 30, 1, 30, tzinfo=UTC), Duration(0, 1))
@example(datetime(2024, 10, 26, 0, 30, tzinfo=UTC), Duration(0, 1))
@example(datetime(2024, 10, 27, 1, 30, tzinfo=UTC), Duration(0, 0, 1))
@pytest.mark.parametrize("zone", ZONES)
def test_in_a_zone_clocks_are_moved(zone: str, moment: datetime, duration: Duration) -> None:
    place = tz.gettz(zone)
    local = moment.astimezone(place).replace(tzinfo=None, fold=0)
    local += relativedelta(months=duration.months)
    wanted = tz.resolve_imaginary((local + timedelta(duration.days)).replace(tzinfo=place)).astimezone(UTC)
    if not duration.months and not duration.days:
        wanted = moment
    assert called("date-add", moment, duration, zone) == wanted + timedelta(milliseconds=duration.milliseconds)


def test_gaps_and_overlaps() -> None:
    day = Duration.read("P1D")
    berlin = ZoneInfo("Europe/Berlin")

    def moved(*local: int) -> str:
        found = called("date-add", datetime(*local, tzinfo=berlin).astimezone(UTC), day, "Europe/Berlin")  # type: ignore[misc, arg-type]
        return str(found.astimezone(berlin))

    assert moved(2024, 3, 30, 2, 30) == "2024-03-31 03:30:00+02:00"
    assert moved(2024, 10, 26, 2, 30) == "2024-10-27 02:30:00+02:00"
    with pytest.raises(AdalogError, match="no time zone has this name"):
        called("date-add", datetime(2024, 1, 1, tzinfo=UTC), day, "Europe/Atlantis")


@given(durations, durations, st.integers(-50, 50))
def test_arithmetic(left: Duration, right: Duration, times: int) -> None:
    ours, theirs = ((each.months, each.days, each.milliseconds) for each in (left, right))
    assert called("+", left, right) == Duration(*(a + b for a, b in zip(ours, theirs, strict=True)))
    assert called("-", left, right) == Duration(*(a - b for a, b in zip(ours, theirs, strict=True)))
    assert called("-", left) == Duration(*(-a for a in ours))
    assert called("*", left, times) == called("*", times, left) == Duration(*(a * times for a in ours))
    assert called("str", left) == str(left)
    assert called("duration?", left)


@pytest.mark.parametrize(
    "call",
    [
        '(+ #inst "2024" #inst "2025")',
        '(- #inst "2024")',
        '(- #duration "P1D" #inst "2024")',
        '(+ #duration "P1D" 1)',
        '(* #duration "P1D" 1.5)',
        '(* #duration "P1D" #duration "P1D")',
        '(* #duration "P9223372036854775807D" 2)',
        '(+ #duration "P9223372036854775807D" #duration "P1D")',
        '(date-add #inst "2024" 5)',
    ],
)
def test_what_is_refused(call: str) -> None:
    name, *args = edn.read(call)
    with pytest.raises(AdalogError):
        called(name.name, *args)


def test_the_end_of_the_month() -> None:
    for month in range(1, 13):
        found = called("+", datetime(2023, 12, 31, tzinfo=UTC), Duration(month))
        assert (found.month, found.day) == (month, monthrange(2024, month)[1])
