"""The part of an error message that says what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

# Of names that something is proposed for: comparing two takes the square of their length.
LONGEST: Final = 100


def nearest(name: str, known: Iterable[str], *, prefix: str = "", cutoff: float = 0.6) -> str:
    """` (did you mean count?)` for the known name most like this one, or nothing. `cutoff`: how like it must be."""
    if len(name) > LONGEST:
        return ""
    close = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    if not close:
        return ""
    meant = prefix + close[0]
    return f" (did you mean {meant})" if meant.endswith("?") else f" (did you mean {meant}?)"
