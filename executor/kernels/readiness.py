"""When a kernel may be called without a wait: once it was loaded, by another thread and from disk alone.

A process that asks for little needs no Numba, and one for which nothing was compiled yet has another way meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from adalog.executor.kernels.compiling import all_are_kept, compile_missing

# Calls before the kernel is loaded, and before it is looked for again where it was not on disk.
_FIRST: Final = 64
_AGAIN: Final = 4096


class Readiness:
    """Of one kernel. `load` calls it. Thread-safe."""

    def __init__(self, load: Callable[[], None]) -> None:
        self.is_ready = False
        self._load = load
        self._left = _FIRST
        self._lock = threading.Lock()

    def load(self) -> None:
        """Loads the kernel now, compiled if need be."""
        self._load()
        self.is_ready = True

    def ask(self) -> None:
        """Notes a call that took the other way. After some of them a thread loads the kernel."""
        self._left -= 1
        if self._left == 0:
            threading.Thread(target=self._look, name="adalog-kernel", daemon=True).start()

    def _look(self) -> None:
        with self._lock:
            if self.is_ready:
                return
            if all_are_kept():
                self.load()
                return
            compile_missing()
            self._left = _AGAIN
