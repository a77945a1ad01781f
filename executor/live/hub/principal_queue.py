"""Items that wait, each principal's in order, and one of each principal in turn."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PrincipalQueue(Generic[T]):
    """Not thread-safe."""

    def __init__(self) -> None:
        # By principal, the next one first.
        self._waiting: OrderedDict[str, deque[T]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, principal: str, item: T, *, first: bool = False) -> None:
        """`first`: before all others of the same principal."""
        own = self._waiting.setdefault(principal, deque())
        if first:
            own.appendleft(item)
        else:
            own.append(item)

    def next(self, may: Callable[[str], bool] = lambda principal: True) -> T | None:
        """Takes the first item of the next principal that may have one, and moves that principal to the end. None
        if there is no such item."""
        principal = next(filter(may, self._waiting), None)
        if principal is None:
            return None
        own = self._waiting[principal]
        item = own.popleft()
        if own:
            self._waiting.move_to_end(principal)
        else:
            del self._waiting[principal]
        return item
