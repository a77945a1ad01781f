"""Events of a feed, the messages that subscribers get of them, and the error that ends a stream."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied
from adalog.executor.follow.view import Change
from adalog.executor.permissions.reports import VisibleReports
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.datom import TxReport

_LOGGER: Final = logging.getLogger("adalog.live")
# Errors that say nothing about the event: the caller decides what follows.
_PASSING: Final = (Code.CANCELLED, Code.RATE_LIMITED)


class EventKind(StrEnum):
    """SNAPSHOT, DELTA, PROGRESS and RESET are the contract's; TRANSACTION is an event of the log itself."""

    SNAPSHOT = "SNAPSHOT"
    DELTA = "DELTA"
    PROGRESS = "PROGRESS"
    RESET = "RESET"
    TRANSACTION = "TRANSACTION"


class StreamPosition(NamedTuple):
    """How far a stream has come: the state after transaction `t` is known, or of its snapshot the first `rows`.
    `excised`: the last excision of which nothing is left in what was told, 0 for none."""

    t: int
    rows: int | None = None
    excised: int = 0

    @staticmethod
    def at(moment: Snapshot, rows: int | None = None) -> StreamPosition:
        """That of a stream which was told of a moment."""
        return StreamPosition(moment.t, rows, moment.origin.excised)

    def is_outdated(self, excised: int) -> bool:
        """Whether the last excision may have taken something that the stream was told."""
        return self.excised < excised and self.t < excised


@dataclass(slots=True, eq=False)
class Event:
    """One event of one answer. `position`: that of a stream once it has this event.

    SNAPSHOT: rows `start` to `stop` of `answer`; `last` with the last of them. DELTA: `change`. RESET: `reason`.
    TRANSACTION: `report`. `written`: by the key of a form the message, made once, or why there is none. `forms`:
    those that it is being written in; `reports`: what their viewers see of the report, found for all of them.
    `kept_bytes`: what is counted for it while it is among the recent events.
    """

    kind: EventKind
    position: StreamPosition
    answer: Result | None = None
    start: int = 0
    stop: int = 0
    last: bool = False
    change: Change | None = None
    reason: str | None = None
    report: TxReport | None = None
    written: dict[Hashable, Message | AdalogError] = field(default_factory=dict)
    forms: Sequence[MessageForm] = ()
    reports: VisibleReports | None = None
    kept_bytes: int = 0

    @property
    def t(self) -> int:
        return self.position.t

    def message(self, form: MessageForm, cancel: Cancel) -> Message:
        """The event in a form. Raises LIMIT_EXCEEDED where it is too large."""
        found = self.outcome(form, cancel)
        if isinstance(found, AdalogError):
            raise found
        return found

    def outcome(self, form: MessageForm, cancel: Cancel) -> Message | AdalogError:
        """The event in a form, or the error of writing it so, made once for all subscribers that share the form.
        Raises CANCELLED and RATE_LIMITED, after which it is to be written again."""
        found = self.written.get(form.key)
        if found is None:
            try:
                found = form.message(self, cancel)
            except Exception as error:
                found = failure(error)
                if found.code in _PASSING:
                    raise
                emptied(found)
            self.written[form.key] = found
        return found


class Message(NamedTuple):
    """An event as its subscribers get it. `payload` is what the form makes of it, for the gateway the bytes of
    `{"data": …}`, None for an event of which nothing is visible; `nbytes` its size; `token`: its text is what a
    client hands back to go on after it; `gaps`: where in the payload there is room for what only a stream's first
    event says."""

    kind: EventKind
    position: StreamPosition
    payload: Any
    nbytes: int
    token: object
    gaps: tuple[int, ...] = ()

    @property
    def t(self) -> int:
        return self.position.t

    @property
    def resume(self) -> str:
        return str(self.token)


class MessageForm(Protocol):
    """How events are written for some subscribers. `key`: equal for forms that write the same."""

    @property
    def key(self) -> Hashable: ...

    def message(self, event: Event, cancel: Cancel) -> Message:
        """The event, written. On any thread."""


def size_of(change: Change) -> int:
    return (len(change.added) + len(change.removed)) * max(1, len(change.added.columns))


def failure(error: BaseException | None) -> AdalogError:
    """The error of some work as subscribers see it. An unforeseen one is INTERNAL, and goes to the log."""
    if isinstance(error, AdalogError):
        return error
    if error is None or isinstance(error, CancelledError):
        return AdalogError(Code.CANCELLED, "the work was cancelled")
    _LOGGER.error("a live query failed", exc_info=error)
    return AdalogError(Code.INTERNAL, "the live query failed; the server's log says why")
