"""What is allowed and probably not meant: a code, a sentence that says what would be right, and where in the text.

The warnings of the interface. Unlike an `AdalogError` a diagnostic stops nothing. Nothing here knows how one is
found.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from adalog.datalog.errors import Position

MOST = 20
"""The diagnostics that one request gets; further ones would not be read, and are counted in one more."""


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
    BASIS_FUTURE = "BASIS_FUTURE"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One warning. `position` is None where no text is at fault, as for an argument that came as JSON."""

    code: Suspicion
    message: str
    position: Position | None = None
