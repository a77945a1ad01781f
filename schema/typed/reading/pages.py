"""The arguments of a connection as a part of an ordered list of rows, and its cursors.

A cursor is the place of its row: from the front, 1 is the first; from the back, -1 is the last. A page that is
counted from the back is read in the reversed order, so that no page needs the number of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adalog.datalog.errors import invalid_argument
from adalog.schema.request.limits import exceeded

DEFAULT_FIRST: Final = 100
"""Rows of a list or a page where the document does not say how many."""


@dataclass(frozen=True, slots=True)
class PageSlice:
    """`size` rows from `offset` on, of the rows in their order or in the reversed one. more: one row more is read,
    which says whether there are others in that direction. before, after: whether there are rows on either side, as
    far as it is known without reading."""

    offset: int
    size: int
    reversed: bool = False
    more: bool = True
    before: bool = False
    after: bool = False

    @property
    def limit(self) -> int:
        return self.size + self.more

    def rows(self, found: Sequence[Any]) -> list[Any]:
        """The page's rows, in their order."""
        kept = list(found[: self.size])
        return kept[::-1] if self.reversed else kept

    def place(self, number: int, count: int) -> int:
        """The cursor's place of a row of the page that came to `count` rows."""
        return -(self.offset + count - number) if self.reversed else self.offset + number + 1

    def has_next(self, found: Sequence[Any]) -> bool:
        return len(found) > self.size if self.more and not self.reversed else self.after

    def has_previous(self, found: Sequence[Any]) -> bool:
        return len(found) > self.size if self.more and self.reversed else self.before


def size_of(given: int | None, name: str, most: int, default: int = DEFAULT_FIRST) -> int:
    """How many rows an argument asks for. Raises ARG_INVALID and LIMIT_EXCEEDED."""
    if given is None:
        return default
    if given < 0:
        raise invalid_argument(f"{name} is {given}; give 0 or more")
    if given > most:
        raise exceeded(f"rows asked for with {name}: {given}", most, "rows")
    return given


def page_slice(
    arguments: Mapping[str, Any], place: Callable[[str, str], int], most: int, within: str = ""
) -> PageSlice:
    """The page that `first`, `after`, `last` and `before` ask for. `place` reads the place in a cursor, by its
    argument. within: the list's path before the names of arguments."""
    first, last = arguments.get("first"), arguments.get("last")
    after, before = arguments.get("after"), arguments.get("before")
    if (first is not None or after is not None) and (last is not None or before is not None):
        raise invalid_argument(
            "a page is read forward, with `first` and `after`, or backward, with `last` and `before`"
        )
    if last is not None or before is not None:
        size = size_of(last, f"{within}last", most)
        number = None if before is None else place(before, f"{within}before")
        if number is None:
            return PageSlice(0, size, reversed=True)
        if number < 0:
            return PageSlice(-number, size, reversed=True, after=True)
        start = max(0, number - 1 - size)
        return PageSlice(start, number - 1 - start, more=False, before=start > 0, after=True)
    size = size_of(first, f"{within}first", most)
    number = 0 if after is None else place(after, f"{within}after")
    if number >= 0:
        return PageSlice(number, size, before=number > 0)
    left = -number - 1
    size = min(size, left)
    return PageSlice(left - size, size, reversed=True, more=False, before=True, after=size < left)


def ordering_variable(term: str) -> str:
    """The variable of a term of `:order-by`."""
    return term.removeprefix("[").partition(" ")[0].rstrip("]")


def reversed_terms(terms: Sequence[str], required: Collection[str]) -> list[str]:
    """Terms of `:order-by` in the reversed order: nil, which is last in either direction, comes first. required:
    the variables that are never nil."""
    found = []
    for term in terms:
        name = term.removeprefix("[").removesuffix(" :desc]")
        if name not in required:
            found.append(f"[(nil? {name}) :desc]")
        found.append(name if name != term else f"[{name} :desc]")
    return found
