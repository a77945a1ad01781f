"""A thread that has the writer look at the log when others may have appended to it."""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.store.log.notices import AppendNotices

_LOGGER: Final = logging.getLogger("adalog.store")
# How long it waits before it asks again for hints that it could not have, in seconds.
_PAUSE: Final = (0.05, 5.0)


class LogFollower:
    """listen: gives the hints. look: is called on the thread, and is quick. seconds: between looks without a
    hint."""

    def __init__(
        self, listen: Callable[[], AppendNotices | None], look: Callable[[], object], seconds: float
    ) -> None:
        self._listen = listen
        self._look = look
        self._seconds = seconds
        self._hint: AppendNotices | None = None
        self._pause = 0.0
        self._closed = False
        self._wake_end, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._run, name="adalog-following", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread. Once is enough."""
        if self._closed:
            return
        self._closed = True
        os.write(self._wake, b"\n")
        self._thread.join()
        os.close(self._wake)
        os.close(self._wake_end)

    def _run(self) -> None:
        while not self._closed:
            if self._hint is None:
                self._begin()
            self._wait()
            if not self._closed:
                self._look()
        if self._hint is not None:
            self._hint.close()

    def _begin(self) -> None:
        least, most = _PAUSE
        try:
            self._hint = self._listen()
        except (OSError, AdalogError) as error:
            if not self._pause:
                _LOGGER.warning("others' transactions are looked for every %g s: %s", self._seconds, error)
            self._pause = min(max(2 * self._pause, least), most)
            return
        if self._pause:
            _LOGGER.warning("others' transactions are heard of at once again")
        self._pause = 0.0
        # What came before anybody listened.
        self._look()

    def _wait(self) -> None:
        """Until there is something to look at: a hint, or the time."""
        hint, until = self._hint, time.monotonic() + self._seconds
        poll = select.poll()
        poll.register(self._wake_end, select.POLLIN)
        if hint is None:
            poll.poll(1000 * min(self._pause, self._seconds))
            return
        poll.register(hint.fileno(), select.POLLIN)
        try:
            while not self._closed and (left := until - time.monotonic()) > 0:
                if poll.poll(1000 * left) and hint.heard():
                    return
        except (OSError, AdalogError) as error:
            _LOGGER.warning("others' transactions are not heard of at once any more: %s", error)
            hint.close()
            self._hint = None
