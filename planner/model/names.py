"""Names of their own for variables, made of their written names."""

from __future__ import annotations

from typing import Final

_MARK: Final = "·"
"""What no name in a query's text has: before the number of a variable that was given a name of its own."""


def unique_name(name: str, number: int | str) -> str:
    """A name for a variable that stands for what is written so."""
    return f"{name}{_MARK}{number}"


def shown_name(unique: str) -> str:
    return unique.partition(_MARK)[0]
