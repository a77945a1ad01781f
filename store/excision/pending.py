"""Excisions that a process has to apply before it reads an entry of which they have taken something."""

from __future__ import annotations

from adalog.store.log.payload import Logged
from adalog.store.log.reader import LogReader
from adalog.store.values.changes import Excision


def pending(log: LogReader, logged: Logged, excised: int) -> list[Excision]:
    """Those that are to be applied before an entry is, the oldest first. excised: the last one that was applied.

    What they took is not in the entry any more. A process that knows it from before would take for it what follows
    of it: a value that is asserted again, say, would be asserted twice.
    """
    found: list[Excision] = []
    t = logged.excised.redacted
    while t > excised:
        entry = next(log.entries(t, t + 1, 1), None)
        excision = None if entry is None else log.decoded(entry).excision
        if excision is None:
            # A backup was restored as of before it, and nothing is known from before then.
            break
        found.append(excision)
        t = excision.previous
    return found[::-1]
