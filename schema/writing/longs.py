"""Longs as JSON that JavaScript can read. Knows nothing of GraphQL."""

from __future__ import annotations

from typing import Any, Final

SAFE: Final = 2**53


def write_long(value: Any) -> int | str:
    """A JSON number while |value| < 2^53, else a string."""
    number = int(value)
    return number if -SAFE < number < SAFE else str(number)
