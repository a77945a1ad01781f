"""Which rows an atom reads: of a relation that a recursion grows, or of a database between two moments.

A version is a field of an atom. Names for people are made of it where a plan is shown, and nowhere read back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Version(StrEnum):
    """ALL: whatever there is, of a database the snapshot that the query runs on.

    OLDER, RECENT: what a relation held before the last round, and what that round added; together they are ALL.
    OLD, NEW: a database at the first and at the second of two moments. CAME, WENT: the rows added and removed
    between them.
    What rules derive has OLD and NEW too where it is kept from moment to moment, and EARLIER: what of NEW was
    derived before the fact that is looked at.
    """

    ALL = "all"
    OLDER = "older"
    RECENT = "recent"
    OLD = "old"
    NEW = "new"
    CAME = "came"
    WENT = "went"
    EARLIER = "earlier"

    @property
    def is_change(self) -> bool:
        """Whether it holds only what is different: few rows, as a rule."""
        return self in (Version.RECENT, Version.CAME, Version.WENT)


@dataclass(frozen=True, slots=True)
class Split:
    """How the change of a product is split up into one term for each factor: the version of the factors before the
    one that changed, of that one, and of those after it."""

    before: Version
    at: Version
    after: Version


ROUND = Split(Version.ALL, Version.RECENT, Version.OLDER)
"""Of a round of a recursion: each combination of rows that has a recent one is found once."""

APPEARS = Split(Version.NEW, Version.CAME, Version.NEW)
"""Of what holds at the second moment by a row that came: each such combination of rows is found."""

VANISHES = Split(Version.OLD, Version.WENT, Version.OLD)
"""Of what held at the first moment by a row that went."""
