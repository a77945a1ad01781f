"""The part of an error message that says what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

# Of names that something is proposed for: comparing two takes the square of their length.
LONGEST: Final = 100
# Letters that a misspelling changes, by the length of the shorter name: short names that differ are other names.
_EDITS: Final = ((3, 0), (6, 1), (10, 2), (LONGEST + 1, 3))


def nearest(name: str, known: Iterable[str], *, prefix: str = "") -> str:
    """` (did you mean count?)` for the known name of which this one is probably a misspelling, or nothing."""
    plain = _plain(name)
    names = list(known)
    meant = next((each for each in names if plain and _plain(each) == plain), None)
    if meant is None and len(name) <= LONGEST:
        close = get_close_matches(name, names, n=3)
        meant = next((each for each in close if is_misspelt(name, each)), None)
    return "" if meant is None else proposed(prefix + meant)


def most_alike(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The same for the name that has the most in common, be it longer by far. `cutoff`: the least `ratio`."""
    close = get_close_matches(name, list(known), n=1, cutoff=cutoff) if len(name) <= LONGEST else []
    return proposed(close[0]) if close else ""


def proposed(name: str) -> str:
    """` (did you mean count?)`"""
    return f" (did you mean {name})" if name.endswith("?") else f" (did you mean {name}?)"


def _plain(name: str) -> str:
    """A name without what languages differ in: `startsWith`, `starts_with` and `starts-with?` are the same."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def is_misspelt(name: str, known: str) -> bool:
    """Whether so few letters differ that one name is probably the other."""
    shorter = min(len(name), len(known))
    most = next(edits for length, edits in _EDITS if shorter < length)
    return abs(len(name) - len(known)) <= most and edits(name, known) <= most


def edits(one: str, other: str) -> int:
    """The letters to add, remove, change or swap with the next: the optimal string alignment distance."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, theirs in enumerate(other, 1):
            least = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != theirs))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == theirs:
                least = min(least, before[column - 2] + 1)
            now.append(least)
        before, last = last, now
    return last[-1]
