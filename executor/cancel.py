"""The flag and the deadline that a running query looks at between chunks."""

from __future__ import annotations

import time

from datalog.errors import AdalogError, Code


class Cancel:
    """`deadline` in seconds of `time.monotonic()`, or None."""

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline
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
