"""Files of an open database that were trusted and not read: they are read beside its work, or before a fold takes
them over, since a disk may spoil what nobody wrote to.

Opening trusts files that are as they were when their content was right (`store.files.verified`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Final

from adalog.store.files.segment import READ_BYTES, DamagedSegment, Segment, check_content
from adalog.store.files.verified import VerifiedFiles

_LOGGER: Final = logging.getLogger("adalog.store")
# A command that opens a folder has ended by then.
_DELAY_SECONDS: Final = 20.0
_BYTES_PER_SECOND: Final = 100e6


class UnreadFiles:
    """verified: the record, where this process writes it. damage: the first file that was found damaged."""

    def __init__(self, segments: Iterable[Segment] = (), verified: VerifiedFiles | None = None) -> None:
        self._left = dict.fromkeys(segments)
        self._verified = verified
        self.damage: DamagedSegment | None = None

    def left(self) -> list[Segment]:
        return list(self._left)

    def check(self, segments: Iterable[Segment], pause: Callable[[], None] = lambda: None) -> None:
        """Reads those of some files that are left, each once; `pause` is called after each piece. Raises the damage
        of any file, found now or before."""
        for segment in segments:
            if segment in self._left:
                self._read(segment, pause)
        if self.damage is not None:
            raise self.damage

    def _read(self, segment: Segment, pause: Callable[[], None]) -> None:
        try:
            check_content(segment, pause)
        except FileNotFoundError:
            # A fold has replaced it.
            pass
        except DamagedSegment as error:
            _LOGGER.error("%s. Nothing is answered until the database is opened again", error.message)
            self.damage = self.damage or error
            if self._verified is not None:
                self._verified.was_read(segment, is_right=False)
        else:
            if self._verified is not None:
                self._verified.was_read(segment, is_right=True)
        self._left.pop(segment, None)


class Rechecks:
    """A thread that reads unread files slowly, and ends."""

    def __init__(self, unread: UnreadFiles, delay: float = _DELAY_SECONDS) -> None:
        """delay: seconds before the first file."""
        self._unread = unread
        self._delay = delay
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="adalog-rechecks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._wait(self._delay)
            self._unread.check(self._unread.left(), lambda: self._wait(READ_BYTES / _BYTES_PER_SECOND))
        except (_Closed, DamagedSegment):
            # Damage is logged, and kept.
            pass

    def _wait(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise _Closed


class _Closed(Exception):
    """The database was closed meanwhile."""
