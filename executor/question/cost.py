"""What reading arguments costs, by the number of values in them, before any of it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from adalog.datalog.values import EdnSet
from adalog.executor.question.arguments import GivenArgument

VALUE_COST: Final = 200.0
# Values are counted up to this number.
_COUNTED: Final = 10_000


def few(args: Sequence[Any], most: int) -> bool:
    """Whether arguments hold at most so many values, as `values_in` counts them."""
    return values_in(args, most) <= most


def arguments_cost(args: Sequence[Any]) -> float:
    """About what reading these arguments costs, in the planner's unit; with very many, a part of it."""
    return VALUE_COST * values_in(args, _COUNTED)


def values_in(args: Sequence[Any], most: int) -> int:
    """The number of values in arguments, those within values and every fifty characters counted; some number above
    `most` where there are more than that."""
    if len(args) > most:
        return len(args)
    # Most arguments are single values.
    count, left = 0, []
    for value in args:
        if type(value) is GivenArgument:
            count += 1
            value = value.value
        kind = type(value)
        if kind is str:
            count += 1 + len(value) // 50
        elif value is None or kind is int or kind is float or kind is bool:
            count += 1
        else:
            left.append(value)
    while left and count <= most:
        value = left.pop()
        count += 1
        kind = type(value)
        if kind is str or kind is bytes:
            count += len(value) // 50
        elif value is None or kind is int or kind is float or kind is bool:
            continue
        elif kind is GivenArgument:
            left.append(value.value)
        elif isinstance(value, str | bytes):
            count += len(value) // 50
        elif isinstance(value, Mapping):
            count += 2 * len(value)
            if count <= most:
                left += (each for entry in value.items() for each in entry)
        elif isinstance(value, tuple | list | EdnSet):
            count += len(value)
            if count <= most:
                left += value
    return count
