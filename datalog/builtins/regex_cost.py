"""How long a text a pattern may be tried on, from what a backtracking engine may have to do."""

from __future__ import annotations

from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_TEXT = 1_000_000
_STEPS = 10**9
_MANY = 16

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def longest_text(source: str) -> int:
    """0 where matching could take exponential time."""
    repeats = _repeats(parser.parse(source), False)
    if repeats is None:
        return 0
    return min(MAX_TEXT, int(_STEPS ** (1 / (repeats + 1))))


def _repeats(items: Any, within: bool) -> int | None:
    """The number of long repetitions, None where one is within another."""
    total = 0
    for code, argument in items:
        repeating = code in _REPEATS and argument[1] > _MANY
        if repeating and within:
            return None
        total += repeating
        for part in _parts(argument):
            inner = _repeats(part, within or repeating)
            if inner is None:
                return None
            total += inner
    return total


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, (tuple, list)):
        return [part for item in argument for part in _parts(item)]
    return []
