"""Freed memory goes back to the system soon after it was needed.

The C library's allocator keeps what large queries free for the next ones, in an arena for each thread, and never
returns most of it without being asked. It would return each large column at once, and the system would give the
next one pages that it has to fill with zeros first: it is told to keep them, too, until they are returned here, all
together. Arrow's own allocator would keep more, so Arrow is given the C library's. What failed
queries leave in cycles is collected. Where there is another allocator than glibc's, nothing is done.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from adalog.store.files.gc_pause import collect, spare_old

_STATM: Final = Path("/proc/self/statm")
_SECONDS: Final = 1.0
# Between two times where the one before returned little.
_LONGEST_SECONDS: Final = 32.0
# Not worth a look at the heap.
_LITTLE: Final = 16 << 20
# Of `mallopt`, in bytes: blocks below the first one, the most that glibc takes, are in arenas; an arena keeps as
# much as the second one at its end.
_MMAP_THRESHOLD: Final = (-3, 32 << 20)
_TRIM_THRESHOLD: Final = (-1, 128 << 20)
# Seconds between two times that all objects are looked through, which takes a fifth of a second where thousands
# follow live queries: where the process does next to nothing, and where it never does.
_WHOLE_SECONDS: Final = 60.0
_LONGEST_WHOLE_SECONDS: Final = 1_800.0
# It is time, too, when there are by a half, and so many blocks of Python's allocator, more than were left the last
# time: documents and plans that were kept for a while are in cycles, some 60 blocks each.
_MANY_BLOCKS: Final = 1_000_000
# The part of the time for which a process computes that does next to nothing.
_NEXT_TO_NOTHING: Final = 0.05


def resident() -> int | None:
    """The bytes of this process that are in memory; None where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def heap_trimmer() -> Callable[[], None] | None:
    """A function that returns the free pages of the heap to the system; None where there is none."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is None:
        return None

    whole = FullCollection()

    def collect_and_trim() -> None:
        is_whole = whole.is_due()
        if collect(whole=is_whole) and is_whole:
            whole.ended()
        trim(0)

    return collect_and_trim


def keep_freed_columns() -> None:
    """Has the C library keep what is freed until it is trimmed."""
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is not None:
        for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            options(*option)


class FullCollection:
    """When all objects are to be looked through for garbage, also those that have been there for long. `now`: the
    seconds of a clock; `computed`: those that the process has computed for; `blocks`: those that Python's allocator
    has handed out."""

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        computed: Callable[[], float] = time.process_time,
        blocks: Callable[[], int] = sys.getallocatedblocks,
    ) -> None:
        self._now = now
        self._computed = computed
        self._blocks = blocks
        self._last = self._looked = now()
        self._computed_then = computed()
        self._left = blocks()

    def is_due(self) -> bool:
        """Whether it is time, and then not for a while."""
        now, computed = self._now(), self._computed()
        part = (computed - self._computed_then) / max(now - self._looked, 1e-9)
        self._looked, self._computed_then = now, computed
        wanted = _WHOLE_SECONDS if part < _NEXT_TO_NOTHING else _LONGEST_WHOLE_SECONDS
        has_grown = self._blocks() - self._left > max(self._left // 2, _MANY_BLOCKS)
        if now - self._last < wanted and not has_grown:
            return False
        self._last = now
        return True

    def ended(self) -> None:
        """All objects were looked through."""
        self._left = self._blocks()


class MemoryTrimming:
    """Watches the memory of this process on a thread of its own; `stop` ends it. `measure`: the bytes in memory
    now; `trim`: returns what is free of them."""

    def __init__(
        self, measure: Callable[[], int | None] = resident, trim: Callable[[], None] | None = None
    ) -> None:
        self._measure = measure
        self._trim = trim or heap_trimmer()
        self._least: int | None = None
        self._pause = _SECONDS
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="adalog-trimming", daemon=True)

    def start(self) -> None:
        """What the process holds now, modules above all, is looked through by no collection any more."""
        if self._trim is not None and self._measure() is not None:
            import pyarrow as pa

            keep_freed_columns()
            pa.set_memory_pool(pa.system_memory_pool())
            gc.freeze()
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> float:
        """Trims the heap if the process holds more than the least it ever did with a trimmed heap; returns the
        seconds until it is worth another look."""
        before = self._measure()
        assert self._trim is not None
        if before is None or (self._least is not None and before <= self._least + _LITTLE):
            self._pause = _SECONDS
            return self._pause
        self._trim()
        after = self._measure() or before
        # What stays is in use; it may be free the next time.
        self._pause = _SECONDS if before - after > _LITTLE else min(2 * self._pause, _LONGEST_SECONDS)
        self._least = after if self._least is None else min(self._least, after)
        return self._pause

    def _run(self) -> None:
        left = _SECONDS
        while not self._stopped.wait(_SECONDS):
            left -= _SECONDS
            if left <= 0.0:
                left = self.look()
            spare_old()
