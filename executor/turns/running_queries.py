"""The queries that wait for their turn or run: what they ask, for whom, and how an admin ends one."""

from __future__ import annotations

import secrets
import time
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

from adalog.datalog.errors import Code
from adalog.executor.bounds.cancel import CancelledByAdminError
from adalog.executor.bounds.client import Client
from adalog.executor.turns.lanes import Lane
from adalog.executor.turns.ticket import Ticket, TicketState

# Of a text that is shown.
_MOST_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True)
class RunningQuery:
    """`id`: for `cancel`. `text`: of the query, or of a pull's pattern. `principal`, `request_id`: of the request
    that began it. `started`: in seconds since 1970. `waited`: the seconds without a slot so far."""

    id: str
    text: str
    principal: str
    request_id: str
    started: float
    elapsed: float
    waited: float
    lane: Lane
    is_running: bool


class RunningQueries:
    """The queries of one process. Thread-safe."""

    def __init__(self) -> None:
        # Another process has other ids, so that an id never names another query after a restart.
        self._process = secrets.token_hex(4)
        self._numbers = count(1)
        self._tickets: dict[str, tuple[Ticket[Any], Client, float]] = {}

    def add(self, ticket: Ticket[Any], client: Client) -> None:
        """Lists a query until its outcome is there."""
        name = f"{self._process}-{next(self._numbers)}"
        self._tickets[name] = ticket, client, time.time()
        ticket.future.add_done_callback(partial(self._ended, name))

    def all(self) -> list[RunningQuery]:
        """The queries, the oldest first."""
        now = time.time()
        return [
            _shown(name, ticket, client, started, now)
            for name, (ticket, client, started) in list(self._tickets.items())
        ]

    def cancel(self, name: str) -> bool:
        """Ends a query with CANCELLED for all that wait for it; whether there is one of this id."""
        ticket, _, _ = self._tickets.get(name, (None, None, None))
        if ticket is None:
            return False
        ticket.cancel.cancel(CancelledByAdminError(Code.CANCELLED, "an admin cancelled the query"))
        return True

    def _ended(self, name: str, _: Future[Any]) -> None:
        self._tickets.pop(name, None)


def _shown(name: str, ticket: Ticket[Any], client: Client, started: float, now: float) -> RunningQuery:
    is_running = ticket.state in (TicketState.RUNNING, TicketState.AWAY)
    # While it waits, the time since it began to is not counted yet.
    waited = ticket.waited + (0.0 if is_running else time.monotonic() - ticket.since)
    return RunningQuery(
        name,
        _shortened(ticket.cancel.text),
        client.principal,
        client.id,
        started,
        now - started,
        waited,
        ticket.lane,
        is_running,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"
