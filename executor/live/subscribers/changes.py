"""The stream of a live query for Python: `for change in database.live(query, …)`."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final

from adalog.executor.answer.result import Result, ResultColumn
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.live.subscribers.event import Event, EventKind, Message
from adalog.executor.live.subscribers.resume import ResumeTokens, StreamName
from adalog.executor.live.subscribers.subscription import BlockingSubscription

_ROW_BYTES: Final = 64
_CELL_BYTES: Final = 64

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class LiveChange:
    """One event, as the contract's `LiveEvent` has it. SNAPSHOT: `rows`, `columns`, `last`. DELTA: `added` and
    `retracted`, to be applied together. RESET: `reason`; a SNAPSHOT follows. `resume`: to go on after it."""

    kind: EventKind
    basis_t: int
    resume: str
    columns: tuple[ResultColumn, ...] | None = None
    rows: Rows | None = None
    added: Rows | None = None
    retracted: Rows | None = None
    last: bool | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ValuesForm:
    """Events as values of the language. `name`: of the stream, for its tokens."""

    name: StreamName
    tokens: ResumeTokens

    @property
    def key(self) -> Hashable:
        return ("values", self.name)

    def message(self, event: Event, cancel: Cancel) -> Message:
        change, answer = event.change, event.answer
        resume = str(self.tokens.write(self.name, event.position))
        shown = LiveChange(
            event.kind,
            event.t,
            resume,
            None if answer is None else tuple(answer.columns),
            None if answer is None else _rows(answer, event.start, event.stop, cancel),
            None if change is None else _rows(change.added, 0, len(change.added), cancel),
            None if change is None else _rows(change.removed, 0, len(change.removed), cancel),
            event.last if event.kind is EventKind.SNAPSHOT else None,
            event.reason,
        )
        lists = (shown.rows, shown.added, shown.retracted)
        cells = sum(len(rows) * (_ROW_BYTES + _CELL_BYTES * len(rows[0])) for rows in lists if rows)
        return Message(event.kind, event.position, shown, cells + len(resume), resume)


def _rows(result: Result, start: int, stop: int, cancel: Cancel) -> Rows:
    cancel.check()
    cancel.budget.take((stop - start) * (_ROW_BYTES + _CELL_BYTES * len(result.columns)))
    return result.rows(start, stop)


class Changes:
    """The changes of one query, in order; `close` it, or leave its `with` block, when no more are wanted. Waiting
    for the next one blocks the thread. Raises what the query is ended with."""

    def __init__(self, subscription: BlockingSubscription) -> None:
        self._subscription = subscription

    def __iter__(self) -> Changes:
        return self

    def __next__(self) -> LiveChange:
        shown: LiveChange = next(self._subscription).payload
        return shown

    def close(self) -> None:
        self._subscription.close()

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    __del__ = close
