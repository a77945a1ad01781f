"""Threads that do what they are handed: as many as there is something to do for, and started beside the lock."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Threads(Generic[T]):
    """`lock` is the owner's, and held during `hand`. `do` does one thing; `watch` is called with the lock held,
    between two things and after as many seconds as it says (None: not before the next thing)."""

    def __init__(self, lock: threading.Lock, do: Callable[[T], None], watch: Callable[[], float | None]) -> None:
        self._lock = lock
        self._do = do
        self._watch = watch
        self._ready: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starter: threading.Thread | None = None
        # How many threads are to be started; 0: no more.
        self._wanted: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._idle = 0
        self._closed = False

    def hand(self, item: T | None) -> None:
        """Gives a thread something to do; None: to watch."""
        self._ready.put(item)
        if self._idle:
            self._idle -= 1
        elif self._starter is None:
            self._starter = threading.Thread(target=self._start_threads, name="query-starter", daemon=True)
            self._wanted.put(1)
            self._starter.start()
        else:
            self._wanted.put(1)

    def end(self) -> None:
        """Has threads end once they have nothing to do. With the lock held."""
        self._closed = True
        for _ in range(self._idle):
            self._ready.put(None)

    def join(self) -> None:
        if self._starter is not None:
            self._wanted.put(0)
            self._starter.join()
        for thread in self._threads:
            thread.join()

    def _start_threads(self) -> None:
        """Starting a thread waits until it runs. Only this thread waits for that, without the lock."""
        while self._wanted.get():
            with self._lock:
                if self._idle:
                    # One has become free meanwhile, and will find the work.
                    self._idle -= 1
                    continue
            thread = threading.Thread(target=self._serve, name="query", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        timeout: float | None = None
        while True:
            try:
                item = self._ready.get(timeout=timeout)
            except queue.Empty:
                with self._lock:
                    timeout = self._watch()
                continue
            if item is not None:
                self._do(item)
                del item
            with self._lock:
                if self._closed:
                    return
                timeout = self._watch()
                self._idle += 1
