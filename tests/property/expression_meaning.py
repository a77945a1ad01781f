"""What a built-in's meaning is, and what equality and order are, on Python's values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adalog.datalog.values import EdnSet, type_name
from tests.property.expression_numbers import Refused

NUMBERS = frozenset({"long", "bigint", "double", "float", "bigdec"})


@dataclass(frozen=True)
class Meaning:
    """`takes` has a kind for each argument, `?` after those that may be left out and `*` after one that repeats. A
    value of another type is refused unless `takes_any`. `gives`: the kind of its value. `skips_nil`: it gives nil
    for nil."""

    gives: str
    takes: str
    call: Callable[..., Any]
    skips_nil: bool = False
    takes_any: bool = False

    def value(self, args: list[Any]) -> Any:
        if self.skips_nil and None in args:
            return None
        kinds = self.takes.split()
        for place, arg in enumerate(args):
            types = _TYPES.get(kinds[min(place, len(kinds) - 1)].rstrip("?*"))
            if not self.takes_any and types is not None and type_name(arg) not in types:
                raise Refused
        try:
            return self.call(*args)
        except re.error as error:
            raise Refused from error


_TYPES = {
    "number": NUMBERS,
    "whole": {"long", "bigint"},
    **{name: {"long"} for name in ("long", "digits", "width")},
    **{name: {"string"} for name in ("text", "pattern", "replacement", "format", "zone")},
    "moment": {"instant"},
    "duration": {"duration"},
    "collection": {"tuple", "list", "set"},
}


def same(a: Any, b: Any) -> bool:
    """Typed equality."""
    if type_name(a) != type_name(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, EdnSet):
        return len(a) == len(b) and all(is_member(each, b) for each in a)
    return bool(a == b or (a != a and b != b))


def equal(a: Any, b: Any) -> bool:
    """Of numbers by value."""
    return order(a, b) == 0 if {type_name(a), type_name(b)} <= NUMBERS else same(a, b)


def is_member(value: Any, values: Any) -> bool:
    return any(same(value, each) for each in values)


def order(a: Any, b: Any) -> int | None:
    """-1, 0, 1, or None for values without a common order."""
    kinds = {type_name(a), type_name(b)}
    if not (kinds <= NUMBERS or len(kinds) == 1) or kinds & {"nil", "map", "set"} or a != a or b != b:
        return None
    if kinds <= {"tuple", "list"}:
        if len(a) != len(b):
            return -1 if len(a) < len(b) else 1
        return next((each for each in map(order, a, b) if each != 0), 0)
    if kinds == {"keyword"}:
        a, b = ((each.namespace or "", each.local) for each in (a, b))
    elif kinds == {"uuid"}:
        a, b = a.int, b.int
    return int(a > b) - int(a < b)


def holds(value: Any) -> bool:
    return value is not None and value is not False


def known(value: Any) -> Any:
    """The value; nil is refused."""
    if value is None:
        raise Refused
    return value
