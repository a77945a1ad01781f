"""Where a stream begins: now, after an event that was seen, or at a transaction of long ago."""

from __future__ import annotations

from dataclasses import dataclass

from datalog.errors import AdalogError, Code
from executor.live.event import Position
from executor.live.resume import Tokens
from store.database import Database, check_moment


@dataclass(frozen=True, slots=True)
class Begin:
    """After a position, None for a snapshot of now. `each`: every transaction since is to be told by itself.
    `reset`: why the stream starts over instead of going on."""

    position: Position | None = None
    each: bool = False
    reset: str | None = None


def began(database: Database, tokens: Tokens, name: str, resume: str | None, from_t: int | None) -> Begin:
    """Where the stream of that name begins. Raises ARG_INVALID and BASIS_FUTURE."""
    if resume is not None and from_t is not None:
        raise AdalogError(Code.ARG_INVALID, "both resume and fromT are given; give at most one of them")
    if resume is not None:
        found = tokens.read(resume, name)
        return Begin(found.position, reset=found.reason)
    if from_t is not None:
        check_moment("fromT", from_t)
        now = database.snapshot().t
        if from_t > now:
            raise AdalogError(
                Code.BASIS_FUTURE, f"fromT = {from_t} is not reached yet: the newest transaction is {now}"
            )
        return Begin(Position(from_t, 0), each=True)
    return Begin()
