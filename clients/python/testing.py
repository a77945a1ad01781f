"""For tests of programs that use adalog: a database in memory, a clock that stands still, and pytest fixtures.

    pytest_plugins = ["adalog.testing"]

    def test_titles(adalog_db, adalog_clock):
        adalog_db.transact([{"issue/title": "x"}])

Entity ids and transaction numbers count up in each new database, so that equal transactions give equal reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from adalog.client.database import Connection
from adalog.client.errors import refusing
from adalog.client.local import LocalBackend

START: Final = datetime(2024, 1, 1, tzinfo=UTC)


class FrozenClock:
    """The time of transactions, which passes only when it is told to.

    >>> clock = FrozenClock()
    >>> clock.advance(timedelta(hours=1)).isoformat()
    '2024-01-01T01:00:00+00:00'
    """

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def advance(self, by: timedelta) -> datetime:
        """Lets time pass; the new present. Transactions never go back in time, even if it does."""
        self.now += by
        return self.now

    def milliseconds(self) -> int:
        """Since 1970."""
        return (self.now - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


def memory(clock: FrozenClock | None = None) -> Connection:
    """A new database in memory whose transactions are made at the clock's time.

    >>> with memory() as db:
    ...     db.transact([{"n/x": 1}]).tx_instant.isoformat()
    '2024-01-01T00:00:00+00:00'
    """
    with refusing():
        return Connection(LocalBackend(":memory:", (clock or FrozenClock()).milliseconds))


@pytest.fixture
def adalog_clock() -> FrozenClock:
    """The clock of `adalog_db`: 2024-01-01, until it is told otherwise."""
    return FrozenClock()


@pytest.fixture
def adalog_db(adalog_clock: FrozenClock) -> Iterator[Connection]:
    """An empty database in memory, closed after the test."""
    with memory(adalog_clock) as db:
        yield db
