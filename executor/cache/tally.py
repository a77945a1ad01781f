"""What the cache counts, for the metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping


class Tally:
    """Counters by (layer, outcome). Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, layer: str, outcome: str, count: int = 1) -> None:
        with self._lock:
            self._counts[layer, outcome] += count

    def all(self) -> Mapping[tuple[str, str], int]:
        with self._lock:
            return self._counts.copy()
