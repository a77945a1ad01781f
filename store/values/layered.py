"""An immutable mapping that is cheap to change: a large part that versions share, and a small one of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

# Changes that a version may have of its own before they are written into a new large part: to copy them for every
# change costs as much as to copy thousands once in so many changes.
_MOST: Final = 128


class Layered(Mapping[K, V]):
    """`below` with the changes `over` it, None for a key that is gone."""

    __slots__ = ("_below", "_over")

    def __init__(self, below: Mapping[K, V], over: Mapping[K, V | None] | None = None) -> None:
        self._below = below
        self._over: Mapping[K, V | None] = {} if over is None else over

    def changed(self, changes: Mapping[K, V | None]) -> Layered[K, V]:
        """The same with the changes, None for a key to go."""
        over = {**self._over, **changes}
        if len(over) <= _MOST:
            return Layered(self._below, over)
        merged = dict(self._below)
        for key, value in over.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = value
        return Layered(merged)

    def __getitem__(self, key: K) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | D, /) -> V | D: ...
    def get(self, key: K, default: object = None, /) -> object:
        over = self._over
        found = over[key] if over and key in over else self._below.get(key)
        return default if found is None else found

    def __contains__(self, key: object) -> bool:
        return (self._over[key] is not None) if key in self._over else key in self._below  # type: ignore[index]

    def __iter__(self) -> Iterator[K]:
        for key in self._below:
            if key not in self._over:
                yield key
        for key, value in self._over.items():
            if value is not None:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)
