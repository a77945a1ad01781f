"""Which rows an atom reads: of a relation that a recursion grows, or of a database between two moments.

A version is a field of an atom. Names for people are made of it where a plan is shown, and nowhere read back.
"""

from __future__ import annotations

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
