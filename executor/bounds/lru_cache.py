"""An LRU cache bounded by bytes, for answers, plans, parsed texts and documents."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Of an entry itself: its key, its place, the objects around its columns.
ENTRY_BYTES: Final = 1_000
# Of what is made of one token of a text: a node of a tree with its place, and what plans say of it.
_TOKEN_BYTES: Final = 600


@dataclass(frozen=True, slots=True)
class _Held(Generic[V]):
    value: V
    nbytes: int


class LruCache(Generic[K, V]):
    """`bound`: bytes of all entries together; 0 keeps none. `entry_bound`: bytes of one. Thread-safe."""

    def __init__(self, bound: int, entry_bound: int | None = None) -> None:
        self.bound = bound
        self.entry_bound = bound // 4 if entry_bound is None else min(entry_bound, bound)
        self._held: OrderedDict[K, _Held[V]] = OrderedDict()
        self._lock = threading.Lock()
        self._nbytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: K) -> bool:
        return key in self._held

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def get(self, key: K) -> V | None:
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held.move_to_end(key)
            return held.value

    def put(self, key: K, value: V, nbytes: int) -> bool:
        """Returns False, and keeps nothing, if the entry is larger than the limit for one entry."""
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

    def remove(self, key: K) -> None:
        with self._lock:
            held = self._held.pop(key, None)
            self._nbytes -= 0 if held is None else held.nbytes

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._nbytes = 0


def weight_of_text(text: str) -> int:
    """About how many bytes what is made of an EDN text takes, the text itself included. Trees and plans were
    measured at 90 to 130 bytes for each character of dense queries, 300 to 600 for each token, and at the two
    characters for each of a long string. A string full of spaces is taken for more than it is."""
    return 4 * len(text) + _TOKEN_BYTES * (text.count(" ") + text.count("[") + text.count("(") + text.count("\n"))
