"""How far opening a database has come: written by the thread that opens it, read by any other, which may end it."""

from __future__ import annotations

import time


class OpeningStopped(Exception):
    """The database is not wanted any more."""


class Progress:
    """`datoms` and `transactions` of the log that were replayed, and how many `transactions` there are to replay;
    0 before that is known."""

    def __init__(self) -> None:
        self.datoms = 0
        self.transactions = 0
        self.of_transactions = 0
        self._bytes = 0
        self._of_bytes = 0
        self._began = 0.0
        self._stopped = False
        # Why the database cannot be opened at the moment, as anybody may hear it; None where nothing is known.
        self.waits_for: str | None = None

    def stop(self) -> None:
        """Has `check` raise from now on."""
        self._stopped = True

    def check(self) -> None:
        """Raises OpeningStopped once it was told to stop."""
        if self._stopped:
            raise OpeningStopped

    def begin(self, transactions: int, nbytes: int) -> None:
        """The log is replayed: so many transactions, of so many bytes."""
        self.waits_for = None
        self.datoms = self.transactions = self._bytes = 0
        self.of_transactions, self._of_bytes, self._began = transactions, nbytes, time.monotonic()

    def replayed(self, datoms: int, nbytes: int) -> None:
        """One transaction more."""
        self.transactions += 1
        self.datoms += datoms
        self._bytes += nbytes

    @property
    def seconds_left(self) -> float | None:
        """About how long the replay will take; None where nothing of it was done."""
        if not self._bytes:
            return None
        return (time.monotonic() - self._began) * (self._of_bytes - self._bytes) / self._bytes

    @property
    def of_datoms(self) -> int | None:
        """About how many datoms there are to replay, by the bytes that the first of them take."""
        return round(self.datoms * self._of_bytes / self._bytes) if self._bytes else None

    def __str__(self) -> str:
        if self.waits_for is not None:
            return f"waiting for the log: {self.waits_for}"
        if not self.of_transactions:
            return "opening the checkpoint"
        of_datoms, left = self.of_datoms, self.seconds_left
        if of_datoms is None or left is None:
            return f"replaying the log: {self.of_transactions:,} transactions"
        about = "" if self.transactions == self.of_transactions else "about "
        return (
            f"replaying the log: {self.datoms:,} of {about}{of_datoms:,} datoms, about {max(1, round(left))} s left"
        )
