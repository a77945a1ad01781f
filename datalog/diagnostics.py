"""What is allowed and probably not meant: a code, a sentence that says what would be right, and where in the text.

The warnings of the interface. Unlike an `AdalogError` a diagnostic stops nothing. Nothing here knows how one is
found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from adalog.datalog.errors import Position, shown

MOST = 20
"""The diagnostics that one answer gets; further ones would not be read, and are counted in one more."""


class Suspicion(StrEnum):
    """The codes of warnings."""

    UNKNOWN_ATTRIBUTE = "UNKNOWN_ATTRIBUTE"
    UNKNOWN_IDENT = "UNKNOWN_IDENT"
    IMPOSSIBLE_VALUE = "IMPOSSIBLE_VALUE"
    IMPOSSIBLE_JOIN = "IMPOSSIBLE_JOIN"
    AMBIGUOUS_ARGUMENT = "AMBIGUOUS_ARGUMENT"
    CARTESIAN_PRODUCT = "CARTESIAN_PRODUCT"
    DROPPED_DUPLICATES = "DROPPED_DUPLICATES"
    PLAIN_SYMBOL = "PLAIN_SYMBOL"
    NEW_ATTRIBUTE = "NEW_ATTRIBUTE"
    NO_ROWS = "NO_ROWS"
    NOTHING_RETRACTED = "NOTHING_RETRACTED"
    NOTHING_EXCISED = "NOTHING_EXCISED"
    BASIS_FUTURE = "BASIS_FUTURE"
    BASIS_EMPTY = "BASIS_EMPTY"
    PAST_FORGOTTEN = "PAST_FORGOTTEN"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One warning. `position` is None where no text is at fault, as for an argument that came as JSON. `left_out`:
    the number of warnings that this one stands for; 0 for a warning of its own."""

    code: Suspicion
    message: str
    position: Position | None = None
    left_out: int = 0


def bounded(found: Iterable[Diagnostic], others: Counter[Suspicion] | None = None) -> tuple[Diagnostic, ...]:
    """The first `MOST`, and one that counts the rest: those after them, those that were left out before, and
    `others`, by their codes. Parts of an answer that are bounded already may be bounded together."""
    shown: list[Diagnostic] = []
    left_out = Counter(others)
    for each in found:
        if each.left_out or len(shown) == MOST:
            left_out[each.code] += each.left_out or 1
        else:
            shown.append(each)
    number = left_out.total()
    if number:
        message = f"{number:,} more warnings are left out" if number > 1 else "1 more warning is left out"
        shown.append(Diagnostic(left_out.most_common(1)[0][0], message, left_out=number))
    return tuple(shown)


# Characters of a warning: names in it may be as long as the request.
_LENGTH = 1_000


def shown_warnings(diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[str, str, int | None, int | None]]:
    """The warnings of one answer, whatever found them: code, message, line and column. A place in another text than
    the request's own stands in the message."""
    for each in bounded(diagnostics):
        at, message = each.position, shown(each.message, _LENGTH)
        if at is not None and at.origin:
            message = f"in {at.origin}, line {at.line}, column {at.column}: {message}"
            at = None
        yield each.code.value, message, None if at is None else at.line, None if at is None else at.column
