"""Doubt whether the log holds what was written last: nothing is written until it was read again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from adalog.store.state.head import Head
from adalog.store.values.datom import TxReport

# How long the disk is left alone after it failed, in seconds.
_REST: Final = 1.0
# The first pause before the log is read again.
_PAUSE: Final = 0.05
_LOGGER: Final = logging.getLogger("adalog.store")


class InDoubtAppend:
    """On the writer's thread. take: has everybody see entries that turn out to be durable."""

    def __init__(self, head: Head, log: Log, take: Callable[[Sequence[LogEntry]], list[TxReport]]) -> None:
        self._head = head
        self._log = log
        self._take = take
        # Why nothing can be written, None where it can, and when to look at the log again.
        self.why: str | None = None
        self.again = 0.0

    @property
    def seconds(self) -> float | None:
        """How long until it is looked at again; None without a doubt."""
        return None if self.why is None else max(self.again - time.monotonic(), 0.0)

    def begin(self, why: str) -> None:
        """From now on nothing may be written."""
        self.why, self.again = why, 0.0
        _LOGGER.error(
            "the log failed while transaction %d was written (%s): whether it was is not known, and nothing is "
            "written until the log was read again",
            self._head.t + 1,
            why,
        )

    def certainty(self, number: int, is_stopped: Callable[[], bool]) -> bool | None:
        """Whether the append in doubt of that number was applied; None where that cannot be found out soon."""
        until, pause = time.monotonic() + self._log.settling, _PAUSE
        while time.monotonic() < until and not is_stopped():
            applied = self.settle(number)
            if applied is not None:
                return applied
            time.sleep(pause)
            pause *= 2
        return None

    def settle(self, number: int | None = None) -> bool | None:
        """Takes over what the log holds, or tries again later: None. Else whether the append of that number, or any
        at all, is there."""
        head = self._head
        try:
            entries = self._log.settle(head.t)
            try:
                applied = bool(entries) and (number is None or self._log.has_append(entries[0].t, number))
            except AdalogError:
                self._log.go_back(head.t)
                raise
            reports = self._take(entries)
        except Exception as error:  # noqa: BLE001 - nothing may be written until it goes well
            why = error.message if isinstance(error, AdalogError) else str(error)
            if why != self.why:
                _LOGGER.error("the log cannot be read again yet: %s", why)
            self.why, self.again = why, time.monotonic() + _REST
            return None
        self.why = None
        _LOGGER.warning(
            "the log was read again: what was in doubt %s; transactions are accepted again at t = %d",
            f"is applied ({len(reports)} transactions)" if reports and applied else "is not applied",
            head.t,
        )
        return applied
