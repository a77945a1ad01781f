"""Excisions that a process has to apply before it reads an entry of which they have taken something."""

from __future__ import annotations

from adalog.store.log.payload import Logged
from adalog.store.log.reader import LogReader
from adalog.store.values.changes import Excision


class StaleStateError(Exception):
    """A state from which the log does not go on: a retention took retractions that it has not read, of what it
    has. It is made anew from the first transaction."""


def pending(log: LogReader, logged: Logged, excised: int, known: int, t: int) -> list[Excision]:
    """Those that are to be applied before entry t is, the oldest first. excised: the last one that was applied.
    known: the last transaction that the log had when the state began to be read from it, 0 where that is not known:
    nothing that an excision up to there took was ever read. Raises StaleStateError.

    What they took is not in the entry any more. A process that knows it from before would take for it what follows
    of it: a value that is asserted again, say, would be asserted twice.
    """
    found: list[Excision] = []
    at = logged.excised.redacted
    while at > excised:
        entry = next(log.entries(at, at + 1, 1), None)
        excision = None if entry is None else log.decoded(entry).excision
        if excision is None:
            # A backup was restored as of before it, and nothing is known from before then.
            break
        if at > known and t <= excision.known_until:
            raise StaleStateError
        found.append(excision)
        at = excision.previous
    return found[::-1]
