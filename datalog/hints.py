"""The part of an error message that says what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], *, prefix: str = "", cutoff: float = 0.6) -> str:
    """` (did you mean count?)` for the known name most like this one, or nothing. `cutoff`: how like it must be."""
    if len(name) > 100:
        return ""
    close = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    if not close:
        return ""
    meant = prefix + close[0]
    return f" (did you mean {meant})" if meant.endswith("?") else f" (did you mean {meant}?)"
