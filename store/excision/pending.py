"""Excisions that a process has to apply before it reads an entry of which they have taken something."""

from __future__ import annotations

from adalog.store.log.payload import Logged
from adalog.store.log.reader import LogReader
from adalog.store.values.changes import Excision


class StaleStateError(Exception):
    """Retention took retractions out of the log that a state has not read, of datoms that it has. The state has to
    be rebuilt from the first transaction."""


def pending(log: LogReader, logged: Logged, excised: int, known: int, t: int) -> list[Excision]:
    """The excisions to apply before entry t, oldest first. excised: the last one that was applied. known: the
    newest transaction of the log when the state was begun from the first entry, 0 where that is not known; the
    state never read what excisions up to there took. Raises StaleStateError.

    The entry lacks what they took. A state that still has it would apply the entry wrongly: a value that is
    asserted again, for example, would be there twice.
    """
    found: list[Excision] = []
    for excision in log.excisions_back(logged.excised.redacted, excised):
        if excision.t > known and t <= excision.known_until:
            raise StaleStateError
        found.append(excision)
    return found[::-1]
