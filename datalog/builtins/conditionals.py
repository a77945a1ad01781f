"""Calls that evaluate only those of their arguments that they need; only nil and false are false.

The engine evaluates them column by column (`executor/expressions/conditionals.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Conditional:
    """`min_args`, `max_args`: as of a built-in. `usage`: an example for messages."""

    name: str
    min_args: int
    max_args: int | None
    usage: str


CONDITIONALS: Final[Mapping[str, Conditional]] = {
    each.name: each
    for each in (
        Conditional("if", 2, 3, "(if (> ?n 0) ?n 0)"),
        Conditional("cond", 2, None, '(cond (< ?n 10) "low" (< ?n 20) "middle" :else "high")'),
        Conditional("case", 2, None, "(case ?status :open 1 (:done :closed) 2 0)"),
        Conditional("coalesce", 1, None, "(coalesce ?nickname ?name)"),
        Conditional("and", 0, None, "(and (> ?n 0) (< ?n 10))"),
        Conditional("or", 0, None, "(or (< ?n 0) (> ?n 10))"),
    )
}
"""`and` and `or` are built-ins as well, for arguments that are at hand."""
