"""What a running query looks at between chunks: a cancel flag, a deadline, and the bytes that it may hold."""

from __future__ import annotations

import time

from datalog.errors import AdalogError, Code
from executor.budget import Budget


class Cancel:
    """`deadline` in seconds of `time.monotonic()`, or None. `budget`: the bytes that the query may hold."""

    def __init__(self, deadline: float | None = None, budget: Budget | None = None) -> None:
        self.deadline = deadline
        self.budget = budget or Budget()
        self._cancelled: AdalogError | None = None

    @staticmethod
    def after(timeout_ms: int | None) -> Cancel:
        """A flag whose deadline is so many milliseconds from now."""
        return Cancel(None if timeout_ms is None else time.monotonic() + timeout_ms / 1000)

    def cancel(self, why: AdalogError | None = None) -> None:
        """Makes the next check raise `why`, or CANCELLED. Safe from any thread."""
        self._cancelled = why or AdalogError(Code.CANCELLED, "the query was cancelled")

    def check(self) -> None:
        """Raises what it was cancelled with, or TIMEOUT, when the query should stop."""
        if self._cancelled is not None:
            why = self._cancelled
            raise AdalogError(why.code, why.message, retryable=why.retryable)
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise timed_out()


def timed_out() -> AdalogError:
    """What a query that passes its deadline is answered."""
    return AdalogError(
        Code.TIMEOUT, "the query did not finish within its timeout; narrow it, or allow it more time"
    )
