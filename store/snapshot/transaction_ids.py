"""Transactions as people name them: by number, or by the entity id that the fourth place of a pattern shows."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from adalog.datalog.errors import invalid_argument
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE

if TYPE_CHECKING:
    from adalog.store.snapshot.snapshot import Snapshot


def check_moment(place: str, number: int) -> None:
    """Refuses a number that no transaction has. `place`: where the number stands."""
    if number < 0:
        raise invalid_argument(
            f"{place} is {number}; transactions are numbered from 1, and 0 is the moment before the first"
        )


def number_of(transaction: int) -> int:
    """The number of a transaction that may be given by its entity id."""
    return transaction - TX_BASE if transaction >= TX_BASE else transaction


def numbered(transaction: int | None) -> int | None:
    """The same, None for none."""
    return None if transaction is None else number_of(transaction)


def is_future(newest: Snapshot, instant: datetime) -> bool:
    """Whether an instant is later than the clock and than the newest transaction; the clock may be behind that one,
    where it jumped back."""
    return instant.timestamp() > time.time() and newest.is_older_than(instant)


def first_after(newest: Snapshot, instant: datetime) -> datetime | None:
    """When the first transaction was made, for an instant before it; None for others and where there is none."""
    if newest.t == 0 or newest.as_of_instant(instant) > 0:
        return None
    [code] = newest.trie(bootstrap.TX_INSTANT, inverse=False).row(TX_BASE + 1)
    first: datetime = newest.codes.decode(int(code))
    return first
