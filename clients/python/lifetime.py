"""From `connect` to `close`, and in which process."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

from adalog.client.result import LiveChanges
from adalog.datalog.errors import AdalogError, unavailable


def closed() -> AdalogError:
    return unavailable("the connection is closed; call adalog.connect again", retryable=False)


class Lifetime:
    """Whether a connection may be used, and its live queries, which end with it. Thread-safe."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._changes: WeakSet[LiveChanges] = WeakSet()
        self._is_closed = False

    def check(self) -> None:
        """Raises BACKEND_UNAVAILABLE after the end, and in a child process, to which a fork gives no threads."""
        if os.getpid() != self._process:
            raise unavailable(
                f"this connection was opened by process {self._process}, and a fork left its threads behind; "
                "call adalog.connect in the new process",
                retryable=False,
            )
        if self._is_closed:
            raise closed()

    def is_over(self) -> bool:
        return self._is_closed or os.getpid() != self._process

    def with_changes(self, changes: LiveChanges) -> LiveChanges:
        """The changes, which are closed with the connection."""
        with self._lock:
            self._changes.add(changes)
            late = self._is_closed
        if late:
            changes.close()
        return changes

    def end(self) -> bool:
        """Ends the live queries. Returns False in a child process, and at the second call."""
        if self.is_over():
            return False
        with self._lock:
            self._is_closed = True
            changes = tuple(self._changes)
        for each in changes:
            each.close()
        return True
