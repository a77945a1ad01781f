"""How a column writes numbers and times: decimal commas, patterns of dates, local times.

Patterns have the letters that Java and Spark have for them. A text that does not match as a whole is no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adalog.datalog.hints import nearest, proposed
from adalog.datalog.values import instant
from adalog.pipeline.importing.files.rows import Int64s

NUMBERS: Final = frozenset({"long", "bigint", "double", "float", "bigdec"})
"""The types that `decimal` and `grouping` go with."""

_DAY: Final = 24 * 3600 * 1000
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LETTERS: Final = "y M d E H h a m s S X Z"
_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([\[\]'])|([^A-Za-z\[\]']+)")
_OF_STRFTIME: Final = {"Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss"}
# A field's texts by its letters; a single letter of the last ones is one digit, or two.
_OFFSETS: Final = {
    "X": r"(?:Z|[+-][0-9]{2}(?:[0-9]{2})?)",
    "XX": r"(?:Z|[+-][0-9]{4})",
    "XXX": r"(?:Z|[+-][0-9]{2}:[0-9]{2})",
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), r"[+-][0-9]{4}"),
}
_TWO_DIGITS: Final = frozenset("MdHhms")
_WITHOUT: Final = {"d": "M", "M": "y", "m": "Hh", "s": "m", "S": "s", "h": "a", "a": "h"}
"""By a letter, those of which a pattern needs one with it."""
_SAME_CHARACTER: Final = {" ": " \u00a0\u202f", "'": "'\u2019"}


@dataclass(frozen=True)
class Notation:
    """pattern: of instants, as dd/MM/yyyy. zone: of local times; None: UTC. decimal, grouping: of numbers in
    texts; no grouping: ""."""

    pattern: str | None = None
    zone: str | None = None
    decimal: str = "."
    grouping: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be read."""
        if self.decimal not in (".", ","):
            raise ValueError(f"`decimal` is a point or a comma, and not {self.decimal!r}")
        if self.grouping and (len(self.grouping) > 1 or self.grouping.isalnum() or self.grouping in "+-\r\n"):
            raise ValueError(f"`grouping` is one character, such as a point or a blank, and not {self.grouping!r}")
        if self.grouping == self.decimal:
            other = "," if self.decimal == "." else "."
            raise ValueError(f"`grouping` and `decimal` are both {self.decimal!r}; is `decimal` {other!r}?")
        if self.zone is not None and self.zone not in available_timezones():
            hint = nearest(self.zone, available_timezones()) or "; as Europe/Berlin, or UTC"
            raise ValueError(f"`zone` is the name of a time zone, and not {self.zone}{hint}")
        if self._fields is not None and self.zone is not None:
            for field in self._fields[1]:
                if field[0] in "XZ":
                    raise ValueError(f"`format` has an offset, {field}, and `zone` would mean nothing")

    @property
    def is_of_instants(self) -> bool:
        return self.pattern is not None or self.zone is not None

    @property
    def is_of_numbers(self) -> bool:
        return bool(self.grouping) or self.decimal != "."

    def described(self, value_type: str) -> str:
        """What a text of a type has to be, for messages."""
        if value_type in NUMBERS and self.is_of_numbers:
            grouped = f" and groups of digits with {self.grouping!r} between" if self.grouping else ""
            return f"{value_type} with the decimal {self.decimal!r}{grouped}"
        return value_type if self.pattern is None else f"{value_type} of the form {self.pattern}"

    @cached_property
    def tz(self) -> tzinfo:
        """A local time in a gap moves forward, and one in an overlap is the earlier."""
        return UTC if self.zone is None else ZoneInfo(self.zone)

    def in_utc(self, local: Int64s) -> Int64s:
        """Local times as instants, both in milliseconds since 1970. By days, in most of which the clock goes on."""
        days, index = np.unique(local // _DAY, return_inverse=True)
        first = np.array([self._offset(day * _DAY) for day in days.tolist()], np.int64)
        last = np.array([self._offset(day * _DAY + _DAY - 1) for day in days.tolist()], np.int64)
        instants = local - first[index]
        for at in np.flatnonzero((first != last)[index]).tolist():
            instants[at] = local[at] - self._offset(int(local[at]))
        return instants

    def _offset(self, local: int) -> int:
        # A sum of local times ignores the zone.
        offset = (datetime(1970, 1, 1, tzinfo=self.tz) + timedelta(milliseconds=local)).utcoffset()
        assert offset is not None
        return offset // timedelta(milliseconds=1)

    def plain_numbers(self, texts: pa.Array) -> pa.Array:
        """Numbers with a point, and no grouping; null for what is no number in this notation."""
        texts = pc.utf8_trim_whitespace(texts)
        point, digits = re.escape(self.decimal), "[0-9]+"
        group = "".join(re.escape(each) for each in _SAME_CHARACTER.get(self.grouping, self.grouping))
        if group:
            group = f"[{group}]"
            western = f"[0-9]{{1,3}}(?:{group}[0-9]{{3}})+"
            indian = f"[0-9]{{1,2}}(?:{group}[0-9]{{2}})+{group}[0-9]{{3}}"
            digits = f"(?:{western}|{indian}|{digits})"
        number = f"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        matching = pc.match_substring_regex(texts, f"^(?:[+-]?{number}|[+-]?(?i:inf|infinity|nan))$")
        texts = pc.if_else(matching, texts, pa.scalar(None, texts.type))
        if group:
            texts = pc.replace_substring_regex(texts, group, "")
        return pc.replace_substring(texts, self.decimal, ".")

    def instant(self, text: str, *, rounded: bool) -> datetime | None:
        """What a text says by the pattern; None if it is no such text. rounded: to milliseconds; otherwise what is
        finer is none."""
        assert self._fields is not None
        pattern, names = self._fields
        found = pattern.fullmatch(text.strip())
        if found is None:
            return None
        given = {letters: value for letters, value in zip(names, found.groups(), strict=True) if value is not None}
        try:
            moment = instant(_moment(given, self.tz))
            nanoseconds = int(
                next((value for letters, value in given.items() if letters[0] == "S"), "0").ljust(9, "0")
            )
            milliseconds, finer = divmod(nanoseconds, 1_000_000)
            if finer and not rounded:
                return None
            return moment + timedelta(milliseconds=milliseconds + (finer >= 500_000))
        except (ValueError, OverflowError):
            return None

    @cached_property
    def _fields(self) -> tuple[re.Pattern[str], list[str]] | None:
        """The expression of a pattern, and the letters of its groups."""
        if self.pattern is None:
            return None
        parts = list(_fields(self.pattern))
        _check(self.pattern, parts)
        names: list[str] = []
        written = []
        for kind, content in parts:
            if kind != "field":
                written.append({"[": "(?:", "]": ")?"}.get(content, "") if kind == "mark" else re.escape(content))
                continue
            names.append(content)
            written.append(f"({_expression(content)})")
        return re.compile("".join(written), re.IGNORECASE), names


PLAIN: Final = Notation()


def _fields(pattern: str) -> Iterator[tuple[str, str]]:
    """The parts of a pattern: ("field", letters), ("text", text) and ("mark", a bracket). Raises ValueError."""
    depth = 0
    for part in _PIECE.finditer(pattern):
        quoted, letter, mark, text = part.groups()
        if letter:
            yield "field", part[0]
        elif mark == "'":
            raise ValueError("`format` has a quote that does not end; '' is a quote itself")
        elif mark:
            depth += 1 if mark == "[" else -1
            if depth < 0:
                raise ValueError("`format` has brackets that do not match; [ and ] enclose what may be missing")
            yield "mark", mark
        else:
            yield "text", "'" if part[0] == "''" else quoted.replace("''", "'") if quoted is not None else text
    if depth:
        raise ValueError("`format` has a [ without ]")


def _check(pattern: str, parts: Sequence[tuple[str, str]]) -> None:
    """Raises ValueError for a pattern with other letters, or from which no instant follows."""
    if "%" in pattern:
        meant = re.sub("%([A-Za-z])", lambda found: _OF_STRFTIME.get(found[1], found[0]), pattern)
        raise ValueError(
            f"`format` has letters as dd/MM/yyyy, and no %{proposed(meant) if '%' not in meant else ''}"
        )
    within: list[int] = []
    brackets: dict[str, list[int]] = {}
    before = ""
    for at, (kind, field) in enumerate(parts):
        if kind == "mark":
            within = [*within, at] if field == "[" else within[:-1]
        elif kind == "text" and not within:
            before = ""
        if kind != "field":
            continue
        if _is_open(before) and _is_number(field):
            why = f"cannot tell their digits apart; write {before * 2}"
            raise ValueError(f"`format` has {before} right before {field}, and {why}")
        before = field
        if field[0] in brackets:
            raise ValueError(f"`format` has {field[0]} twice")
        brackets[field[0]] = within
        if _expression(field):
            continue
        meant = pattern.replace("Y", "y").replace("u", "y").replace("D", "d")
        hint = proposed(meant) if field[0] in "YDu" else ""
        raise ValueError(f"`format` has {field}, which it does not know{hint}; the letters are {_LETTERS}")
    if brackets.get("y") != []:
        raise ValueError("`format` has no year, yyyy, that is always there")
    for letter, within in brackets.items():
        needed = _WITHOUT.get(letter, "")
        # It is there wherever the letter is.
        there = (brackets[each] for each in needed if each in brackets)
        if needed and not any(within[: len(each)] == each for each in there):
            hint = "; mm are minutes, and MM months" if letter == "d" and "m" in brackets else ""
            raise ValueError(f"`format` has {letter} without {' or '.join(needed)}{hint}")
    if {"H", "h"} <= brackets.keys() or {"X", "Z"} <= brackets.keys():
        raise ValueError("`format` has two of H and h, or of X and Z")


def _expression(field: str) -> str:
    """What a field's text looks like; "" for letters that are unknown."""
    letter, count = field[0], len(field)
    if letter == "y":
        return {1: "[0-9]{4}", 2: "[0-9]{2}", 4: "[0-9]{4}"}.get(count, "")
    if letter == "S":
        return f"[0-9]{{{count}}}" if count <= 9 else ""
    if letter == "a":
        return "[AP]M" if count == 1 else ""
    if letter in ("M", "E") and count in (3, 4):
        names = _MONTHS if letter == "M" else _DAYS
        return "|".join(each if count == 4 else each[:3] for each in names)
    if letter == "E":
        return ""
    if letter in _TWO_DIGITS:
        return {1: "[0-9]{1,2}", 2: "[0-9]{2}"}.get(count, "")
    return _OFFSETS.get(field, "")


def _is_open(field: str) -> bool:
    """Whether a field may have one digit or two."""
    return len(field) == 1 and field in _TWO_DIGITS


def _is_number(field: str) -> bool:
    return field[0] in _TWO_DIGITS | {"y", "S"} and not (field[0] == "M" and len(field) > 2)


def _moment(given: Mapping[str, str], local: tzinfo) -> datetime:
    """The second that fields say. Raises ValueError."""
    by_letter = {letters[0]: value for letters, value in given.items()}

    def number(letter: str, default: int) -> int:
        return int(by_letter.get(letter, default))

    year, month = by_letter["y"], by_letter.get("M", "1")
    if not month.isdecimal():
        month = str(1 + [each[:3] for each in _MONTHS].index(month[:3].lower()))
    # Two digits are of this century.
    day = date(int(year) + 2000 * (len(year) == 2), int(month), number("d", 1))
    weekday = by_letter.get("E")
    if weekday is not None and _DAYS[day.weekday()][:3] != weekday[:3].lower():
        raise ValueError("another day of the week")
    hour = number("H", 0)
    if "h" in by_letter:
        hour = number("h", 12)
        if not 1 <= hour <= 12:
            raise ValueError("no hour of half a day")
        hour = hour % 12 + 12 * (by_letter["a"].upper() == "PM")
    offset = by_letter.get("X", by_letter.get("Z"))
    zone = local if offset is None else _offset(offset)
    return datetime(day.year, day.month, day.day, hour, number("m", 0), number("s", 0), tzinfo=zone)


def _offset(text: str) -> tzinfo:
    if text.upper() == "Z":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[2:])
    if minutes > 59:
        raise ValueError("no minutes of an hour")
    length = timedelta(hours=int(digits[:2]), minutes=minutes)
    return timezone(-length if text[0] == "-" else length)
