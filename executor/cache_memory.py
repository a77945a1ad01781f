"""Answers kept in this process: the least recently used go when their bytes come to more than the bound."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")

# Of an entry itself: its key, its place, the objects around its columns.
ENTRY_BYTES: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Held(Generic[T]):
    value: T
    nbytes: int


class Memory(Generic[T]):
    """`bound`: bytes of all entries together; 0 keeps none. `entry_bound`: bytes of one. Thread-safe."""

    def __init__(self, bound: int, entry_bound: int) -> None:
        self.bound = bound
        self.entry_bound = min(entry_bound, bound)
        self._held: OrderedDict[bytes, _Held[T]] = OrderedDict()
        self._lock = threading.Lock()
        self._nbytes = 0

    def __len__(self) -> int:
        return len(self._held)

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def get(self, key: bytes) -> T | None:
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held.move_to_end(key)
            return held.value

    def put(self, key: bytes, value: T, nbytes: int) -> bool:
        """Whether it is kept: not what is larger than one may be."""
        nbytes += ENTRY_BYTES
        if nbytes > self.entry_bound:
            return False
        with self._lock:
            before = self._held.pop(key, None)
            self._held[key] = _Held(value, nbytes)
            self._nbytes += nbytes - (0 if before is None else before.nbytes)
            while self._nbytes > self.bound:
                _, oldest = self._held.popitem(last=False)
                self._nbytes -= oldest.nbytes
        return True

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._nbytes = 0
